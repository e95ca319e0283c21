//! What a worker is told to do, as the arguments of its process. The same type writes and reads them.

use std::path::PathBuf;

use chat_core::Durability;

use super::backend::Backend;

/// A part to play on a store.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) part: Part,
    pub(crate) backend: Backend,
    pub(crate) durability: Durability,
    pub(crate) place: PathBuf,
    pub(crate) seed: u64,
    /// Which of several workers this one stands in for.
    pub(crate) slot: usize,
    /// How often it is to do what it does, where its part has an end.
    pub(crate) count: usize,
    /// After so many seconds it ends, whatever it is doing.
    pub(crate) seconds: u64,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Turns on many sessions, until it is killed, by its own hand now and then.
    Turns,
    /// As `Turns`, and it says that an entry is written before it asks for that: must be caught.
    TurnsSaidTooEarly,
    /// As `Turns`, and it writes what it did not announce: must be caught.
    TurnsNotAnnounced,
    /// As `Turns`, and it announces other texts than it writes: must be caught.
    TurnsSaidWrong,
    /// As `Turns`, and it never kills itself.
    TurnsUnhurt,
    /// So many turns on one session, in a race with another worker.
    Race,
    /// Holds a session until it is killed.
    Hold,
    /// Appends within limits on the size of files.
    ShortWrites,
    /// Appends and creates on a disk that it fills up.
    FullDisk,
    /// Appends to one session under one hold, whatever the answers.
    Appends,
    /// Takes so many turns on one session.
    OwnTurns,
    /// Appends to 32 sessions at once.
    ManyAppends,
}

impl Part {
    const ALL: &[Self] = &[
        Self::Turns,
        Self::TurnsSaidTooEarly,
        Self::TurnsNotAnnounced,
        Self::TurnsSaidWrong,
        Self::TurnsUnhurt,
        Self::Race,
        Self::Hold,
        Self::ShortWrites,
        Self::FullDisk,
        Self::Appends,
        Self::OwnTurns,
        Self::ManyAppends,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::TurnsSaidTooEarly => "turns-said-too-early",
            Self::TurnsNotAnnounced => "turns-not-announced",
            Self::TurnsSaidWrong => "turns-said-wrong",
            Self::TurnsUnhurt => "turns-unhurt",
            Self::Race => "race",
            Self::Hold => "hold",
            Self::ShortWrites => "short-writes",
            Self::FullDisk => "full-disk",
            Self::Appends => "appends",
            Self::OwnTurns => "own-turns",
            Self::ManyAppends => "many-appends",
        }
    }
}

/// The first argument of a worker's process.
pub(crate) const WORKER: &str = "worker";

impl Task {
    pub(crate) fn to_args(&self) -> Vec<std::ffi::OsString> {
        let durability = match self.durability {
            Durability::Full => "full",
            Durability::Os | Durability::Memory => "os",
        };
        vec![
            WORKER.into(),
            self.part.word().into(),
            self.backend.name().into(),
            durability.into(),
            self.place.clone().into(),
            self.seed.to_string().into(),
            self.slot.to_string().into(),
            self.count.to_string().into(),
            self.seconds.to_string().into(),
        ]
    }

    /// Reads what stands behind the first argument.
    pub(crate) fn from_args(args: &[std::ffi::OsString]) -> Option<Self> {
        let [part, backend, durability, place, numbers @ ..] = args else {
            return None;
        };
        let numbers: Vec<u64> = numbers
            .iter()
            .map(|number| number.to_str()?.parse().ok())
            .collect::<Option<_>>()?;
        let [seed, slot, count, seconds] = numbers[..] else {
            return None;
        };
        Some(Self {
            part: *Part::ALL.iter().find(|one| *part == *one.word())?,
            backend: Backend::of_name(backend.to_str()?)?,
            durability: match durability.to_str()? {
                "full" => Durability::Full,
                "os" => Durability::Os,
                _ => return None,
            },
            place: place.into(),
            seed,
            slot: usize::try_from(slot).ok()?,
            count: usize::try_from(count).ok()?,
            seconds,
        })
    }
}
