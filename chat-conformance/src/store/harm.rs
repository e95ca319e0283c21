//! What a crash or a bad disk does to a stored journal, for a suite to play behind a store's back. It says what is harmed; how
//! a store's bytes are reached is its factory's matter.

use chat_core::{FORMAT, Seq};

/// One way in which the stored bytes of a session come to harm. See [`StoreFactory::harm`](crate::StoreFactory::harm).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Harm {
    /// The write of the last entry was cut off: its first bytes are there, and nothing behind them. Only for a store whose writes
    /// can be torn.
    CutLastEntry {
        /// How many of its bytes are left; fewer than the entry's text has.
        keep: usize,
    },
    /// The journal grew and what should stand there never reached the disk: NULs behind the last entry. Only for a store whose
    /// writes can be torn.
    NulTail {
        /// How many.
        bytes: usize,
    },
    /// One bit of an entry's text is another one.
    FlipBit {
        /// The entry.
        seq: Seq,
        /// The byte of its text, counted from its start; one behind its end counts on from its start.
        byte: usize,
        /// The bit, 0 to 7. With 7, a text in ASCII is not UTF-8 any more.
        bit: u8,
    },
    /// An entry lost its end, and the next one stands right behind what is left: as a program writes that goes on behind a torn
    /// tail.
    CutEntry {
        /// The entry; not the last one.
        seq: Seq,
        /// How many of its bytes are left; fewer than the entry's text has.
        keep: usize,
    },
    /// An entry is there twice, the second right behind the first. Only for a store that can hold one place twice.
    RepeatEntry {
        /// The entry.
        seq: Seq,
    },
    /// An entry is gone, and those behind it are still there.
    DropEntry {
        /// The entry.
        seq: Seq,
    },
    /// An entry's bytes are all NUL, and those behind it are still there.
    ZeroEntry {
        /// The entry.
        seq: Seq,
    },
    /// An entry was written by a newer program, in a newer major format that this one does not know.
    NewerFormat {
        /// The entry.
        seq: Seq,
    },
}

impl Harm {
    /// The entry that comes to harm; `None` where it is the journal's end.
    #[must_use]
    pub fn seq(self) -> Option<Seq> {
        match self {
            Self::FlipBit { seq, .. }
            | Self::CutEntry { seq, .. }
            | Self::RepeatEntry { seq }
            | Self::DropEntry { seq }
            | Self::ZeroEntry { seq }
            | Self::NewerFormat { seq } => Some(seq),
            Self::CutLastEntry { .. } | Self::NulTail { .. } => None,
        }
    }

    /// Plays the harm on an entry's text, for a store that keeps each in a place of its own. What is put there for
    /// [`Harm::NewerFormat`] is whole: a store with checksums gives it a right one. False, with nothing changed, where the harm is
    /// not one to a text.
    #[must_use = "harm that was not done proves nothing"]
    pub fn to_text(self, text: &mut Vec<u8>) -> bool {
        match self {
            Self::FlipBit { byte, bit, .. } if !text.is_empty() => {
                let byte = byte % text.len();
                text[byte] ^= 1 << (bit % 8);
            }
            Self::CutEntry { keep, .. } => text.truncate(keep),
            Self::ZeroEntry { .. } => text.fill(0),
            Self::NewerFormat { seq } => {
                let format = FORMAT + 1;
                *text = format!(r#"{{"v":{format},"seq":{seq},"of":"a newer program"}}"#).into();
            }
            Self::FlipBit { .. }
            | Self::CutLastEntry { .. }
            | Self::NulTail { .. }
            | Self::RepeatEntry { .. }
            | Self::DropEntry { .. } => return false,
        }
        true
    }

    /// Plays the harm on a journal that is one line an entry, for any store that keeps its journals so: what is put there for
    /// [`Harm::NewerFormat`] is a plain line of JSON. False, with nothing changed, where there is no such entry.
    ///
    /// ```
    /// use chat_conformance::Harm;
    /// use chat_core::Seq;
    ///
    /// let mut journal = b"{first}\n{second}\n".to_vec();
    /// assert!(Harm::CutLastEntry { keep: 3 }.to_lines(&mut journal));
    /// assert_eq!(journal, b"{first}\n{se");
    /// assert!(!Harm::DropEntry { seq: Seq(7) }.to_lines(&mut journal));
    /// ```
    #[must_use = "harm that was not done proves nothing"]
    pub fn to_lines(self, journal: &mut Vec<u8>) -> bool {
        let ends = journal.iter().enumerate().filter(|(_, b)| **b == b'\n');
        let mut start = 0;
        let mut lines = ends.map(|(end, _)| std::mem::replace(&mut start, end + 1)..end);
        let line = match self.seq() {
            Some(seq) => usize::try_from(seq.0).ok().and_then(|n| lines.nth(n)),
            None => lines.last(),
        };
        let Some(line) = line else { return false };
        match self {
            Self::CutLastEntry { keep } => journal.truncate(line.start + keep.min(line.len())),
            Self::NulTail { bytes } => journal.resize(journal.len() + bytes, 0),
            Self::CutEntry { keep, .. } => {
                drop(journal.drain(line.start + keep.min(line.len())..=line.end));
            }
            Self::RepeatEntry { .. } => {
                let again = journal[line.start..=line.end].to_vec();
                drop(journal.splice(line.start..line.start, again));
            }
            Self::DropEntry { .. } => drop(journal.drain(line.start..=line.end)),
            Self::FlipBit { .. } | Self::ZeroEntry { .. } | Self::NewerFormat { .. } => {
                let mut text = journal[line.clone()].to_vec();
                if !self.to_text(&mut text) {
                    return false;
                }
                journal.splice(line, text);
            }
        }
        true
    }
}
