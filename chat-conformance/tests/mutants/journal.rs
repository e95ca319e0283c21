//! The reference store's journals: one line an entry, its checksum before it. Says what is whole, torn and damaged, and touches
//! no disk.

use std::ops::Range;

use chat_core::{Damage, DecodeError, Entry, EntryBody, FORMAT, Place, Seq, SessionId, StoreError};

use crate::bug::Bug;

/// What a journal holds.
pub(crate) struct Scanned {
    /// Its whole entries, up to what ends it.
    pub(crate) entries: Vec<Entry>,
    pub(crate) end: End,
}

/// What a journal ends with.
pub(crate) enum End {
    Sound,
    /// Where a torn tail begins, and how long it is.
    Torn(usize, usize),
    Wrong(StoreError),
}

/// A line of a journal.
#[expect(clippy::large_enum_variant, reason = "nearly every line is an entry")]
pub(crate) enum Line {
    Entry(Entry),
    Newer(u32),
    Wrong(&'static str),
}

pub(crate) fn seal(entry: &Entry, bug: Option<Bug>) -> Vec<u8> {
    let mut text = entry.encode().to_string();
    if bug == Some(Bug::WritesTextAnew)
        && let Ok(value) = serde_json::from_str::<serde_json::Value>(&text)
    {
        text = value.to_string();
    }
    format!("{:08x} {text}\n", crc32c::crc32c(text.as_bytes())).into_bytes()
}

fn unseal(line: &[u8], bug: Option<Bug>) -> Line {
    let Ok(text) = std::str::from_utf8(line) else {
        return Line::Wrong("not UTF-8");
    };
    let decode = |text| match Entry::decode(text) {
        Ok(entry) => Line::Entry(entry),
        Err(DecodeError::NewerFormat { found }) => Line::Newer(found),
        Err(DecodeError::Invalid(_)) => Line::Wrong("not an entry"),
    };
    match text.split_once(' ') {
        Some((_, text)) if bug == Some(Bug::TrustsAnyLine) => decode(text),
        Some((crc, text)) if format!("{:08x}", crc32c::crc32c(text.as_bytes())) == crc => {
            decode(text)
        }
        // A newer program may write its lines in another way.
        Some(_) | None => match decode(text) {
            Line::Entry(_) | Line::Wrong(_) => Line::Wrong("checksum differs"),
            newer @ Line::Newer(_) => newer,
        },
    }
}

/// The lines that end in a newline, and where they are; then what is behind them.
pub(crate) fn lines(bytes: &[u8], bug: Option<Bug>) -> (Vec<(Range<usize>, Line)>, usize) {
    let mut start = 0;
    let mut lines = Vec::new();
    for (end, _) in bytes.iter().enumerate().filter(|(_, b)| **b == b'\n') {
        lines.push((start..end, unseal(&bytes[start..end], bug)));
        start = end + 1;
    }
    (lines, start)
}

pub(crate) fn scan(session: &SessionId, bytes: &[u8], bug: Option<Bug>) -> Scanned {
    let (lines, whole) = lines(bytes, bug);
    let mut entries = Vec::new();
    for (span, line) in lines {
        let expected = Seq(entries.len() as u64);
        let what = match line {
            Line::Entry(entry) if entry.seq() == expected && is_in_place(&entry) => {
                entries.push(entry);
                continue;
            }
            Line::Newer(_) if bug == Some(Bug::SkipsANewerFormat) => continue,
            _ if bug == Some(Bug::SkipsDamage) => continue,
            _ if bug == Some(Bug::CutsDamageOff) && !entries.is_empty() => {
                let end = End::Torn(span.start, bytes.len() - span.start);
                return Scanned { entries, end };
            }
            Line::Newer(found) => {
                let end = End::Wrong(newer(session, found));
                return Scanned { entries, end };
            }
            Line::Entry(_) => "an entry is missing",
            Line::Wrong(what) => what,
        };
        let end = End::Wrong(damage(session, expected, span.start, what, bug));
        return Scanned { entries, end };
    }
    let tail = bytes.len() - whole;
    let is_cut = entries.is_empty() && bug != Some(Bug::TakesACutFirstEntryForATornTail);
    let is_nul =
        tail > 0 && bytes[whole..].iter().all(|b| *b == 0) && bug == Some(Bug::TakesNulsForDamage);
    let end = if is_cut || is_nul {
        let place = Seq(entries.len() as u64);
        End::Wrong(damage(session, place, whole, "cut off", bug))
    } else if tail == 0 {
        End::Sound
    } else {
        End::Torn(whole, tail)
    };
    Scanned { entries, end }
}

fn is_in_place(entry: &Entry) -> bool {
    let is_created = matches!(entry.body(), EntryBody::SessionCreated { .. });
    is_created || entry.seq() > Seq::ZERO
}

fn damage(
    session: &SessionId,
    seq: Seq,
    offset: usize,
    what: &str,
    bug: Option<Bug>,
) -> StoreError {
    let mut place = Place {
        seq: Some(seq),
        offset: Some(offset as u64),
        ..Place::default()
    };
    if bug == Some(Bug::NamesNoPlace) {
        place = Place::default();
    }
    let session = session.clone();
    let what = what.into();
    Damage {
        session,
        place,
        what,
    }
    .into()
}

pub(crate) fn newer(session: &SessionId, found: u32) -> StoreError {
    StoreError::NewerFormat {
        what: format!("session {session}").into(),
        found,
        supported: FORMAT,
    }
}
