//! The index as a file's bytes: a line that a person can read, fixed numbers, the rows in order, and a checksum over all of it.
//! Bytes in, bytes out; whatever is not exactly so is no index.

use chat_core::SessionId;

use super::{
    row::{Row, Stamp, Standing},
    rows::Rows,
};
use crate::system::FileId;

/// What an index file begins with. A change of the format changes it: the files are caches, and none is ever converted.
const FIRST: &[u8] = b"chat-store-file list index, format 2; may be deleted\n";

/// So many bytes tell which file it is ([`nonce`]).
pub(crate) const START: usize = FIRST.len() + 8;

/// So many bytes hold what an index says of itself, and more: how many rows it has is at their end ([`longest`]).
pub(crate) const HEAD: usize = FIRST.len() + 128;

/// No row takes more: its numbers, its id, and a title of 80 characters and what shows that it was shortened.
const ROW: u64 = 96 + 128 + 4 * 96;

/// What an index file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// A number of its own, by which one that was saved is told from the next: their stamps may be the same.
    pub(crate) nonce: u64,
    /// Which start of the machine it was saved in.
    pub(crate) boot: Option<u128>,
    /// Which file it was saved to: a copy is told from it.
    pub(crate) own: FileId,
    /// Which folder its sessions are in: one that was moved or linked here is told from that folder's.
    pub(crate) folder: FileId,
    /// The folder's stamp when its names were read, where any name that comes or goes since changes it.
    pub(crate) scanned: Option<Stamp>,
}

pub(crate) fn encode(head: &Head, rows: &Rows) -> Vec<u8> {
    let Head {
        nonce,
        boot,
        own,
        folder,
        scanned,
    } = head;
    let rows = rows.as_slice();
    let mut bytes = Vec::with_capacity(FIRST.len() + 128 + rows.len() * 160);
    bytes.extend_from_slice(FIRST);
    put(&mut bytes, *nonce);
    bytes.push(boot.is_some().into());
    if let Some(boot) = boot {
        bytes.extend_from_slice(&boot.to_le_bytes());
    }
    for id in [own, folder] {
        put(&mut bytes, id.device);
        put(&mut bytes, id.file);
    }
    bytes.push(scanned.is_some().into());
    if let Some(scanned) = scanned {
        put_stamp(&mut bytes, scanned);
    }
    put(&mut bytes, rows.len() as u64);
    for row in rows {
        put_stamp(&mut bytes, &row.stamp);
        put(&mut bytes, row.at.cast_unsigned());
        put(&mut bytes, row.turns);
        bytes.push(match row.standing {
            Standing::Settled => 0,
            Standing::Unsettled => 1,
            Standing::Failed => 2,
        });
        bytes.push(row.marked.into());
        bytes.push(row.created.is_some().into());
        if let Some(created) = row.created {
            put(&mut bytes, created.cast_unsigned());
        }
        put_text(&mut bytes, row.id.as_str());
        bytes.push(row.title.is_some().into());
        if let Some(title) = &row.title {
            put_text(&mut bytes, title);
        }
    }
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put_stamp(bytes: &mut Vec<u8>, stamp: &Stamp) {
    let Stamp {
        id: FileId { device, file },
        len,
        modified,
        changed,
    } = *stamp;
    for number in [
        device,
        file,
        len,
        modified.cast_unsigned(),
        changed.cast_unsigned(),
    ] {
        put(bytes, number);
    }
}

/// Ids are at most 128 bytes long, titles 80 characters.
fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let len = u16::try_from(text.len()).expect("ids and titles are short");
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// The nonce of an index, from its first [`START`] bytes.
pub(crate) fn nonce(start: &[u8]) -> Option<u64> {
    Fields(start.strip_prefix(FIRST)?).number()
}

/// How long an index that begins so can be; `None` for what is none.
pub(crate) fn longest(start: &[u8]) -> Option<u64> {
    let (_, count, _) = head(start)?;
    count.checked_mul(ROW)?.checked_add(HEAD as u64)
}

/// What an index says of itself, how many rows follow, and those.
fn head(bytes: &[u8]) -> Option<(Head, u64, Fields<'_>)> {
    let mut fields = Fields(bytes.strip_prefix(FIRST)?);
    let head = Head {
        nonce: fields.number()?,
        boot: fields.option(|fields| Some(u128::from_le_bytes(*fields.array()?)))?,
        own: fields.file_id()?,
        folder: fields.file_id()?,
        scanned: fields.option(Fields::stamp)?,
    };
    Some((head, fields.number()?, fields))
}

/// `None` for whatever [`encode`] did not make.
pub(crate) fn decode(bytes: &[u8]) -> Option<(Head, Rows)> {
    let (bytes, crc) = bytes.split_last_chunk()?;
    if crc32c::crc32c(bytes) != u32::from_le_bytes(*crc) {
        return None;
    }
    let (head, count, mut fields) = head(bytes)?;
    let count = usize::try_from(count).ok()?;
    // A row takes more than a byte: no number makes us ask for more memory than the file is long.
    let mut rows = Vec::with_capacity(count.min(bytes.len()));
    for _ in 0..count {
        rows.push(fields.row()?);
    }
    if !fields.0.is_empty() || !rows.is_sorted_by(|a, b| a.order(b).is_lt()) {
        return None;
    }
    Some((head, Rows::new(rows)))
}

/// What is left to be read.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(array)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().copied().map(u64::from_le_bytes)
    }

    fn signed(&mut self) -> Option<i64> {
        self.array().copied().map(i64::from_le_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? {
            read(self).map(Some)
        } else {
            Some(None)
        }
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = u16::from_le_bytes(*self.array()?);
        let (text, rest) = self.0.split_at_checked(len.into())?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn file_id(&mut self) -> Option<FileId> {
        Some(FileId {
            device: self.number()?,
            file: self.number()?,
        })
    }

    fn stamp(&mut self) -> Option<Stamp> {
        Some(Stamp {
            id: self.file_id()?,
            len: self.number()?,
            modified: self.signed()?,
            changed: self.signed()?,
        })
    }

    fn row(&mut self) -> Option<Row> {
        let stamp = self.stamp()?;
        let at = self.signed()?;
        let turns = self.number()?;
        let standing = match self.array()? {
            [0] => Standing::Settled,
            [1] => Standing::Unsettled,
            [2] => Standing::Failed,
            _ => return None,
        };
        let marked = self.flag()?;
        let created = self.option(Self::signed)?;
        let id = SessionId::parse(self.text()?).ok()?;
        let title = self.option(Self::text)?.map(Into::into);
        Some(Row {
            id,
            at,
            created,
            turns,
            title,
            stamp,
            standing,
            marked,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::tests::row;

    fn bytes() -> Vec<u8> {
        let rows = vec![
            Row {
                title: Some("a title — ü".into()),
                standing: Standing::Unsettled,
                ..row("a", -5)
            },
            Row {
                created: None,
                marked: true,
                standing: Standing::Failed,
                ..row("user@example.org", 7)
            },
            row("b", i64::MAX),
        ];
        let scanned = rows[0].stamp;
        let head = Head {
            nonce: 5,
            boot: Some(77),
            own: scanned.id,
            folder: FileId { device: 8, file: 9 },
            scanned: Some(scanned),
        };
        encode(&head, &Rows::new(rows))
    }

    #[test]
    fn an_index_comes_back_as_it_was() {
        let bytes = bytes();
        let (head, rows) = decode(&bytes).unwrap();
        assert_eq!(rows.as_slice().len(), 3);
        assert_eq!(encode(&head, &rows), bytes);
        assert_eq!(nonce(&bytes[..START]), Some(5));
        let least = Head {
            boot: None,
            scanned: None,
            ..head
        };
        let none = Rows::default();
        assert_eq!(decode(&encode(&least, &none)), Some((least, none)));
    }

    #[test]
    fn the_longest_index_is_as_long_as_its_head_lets_it_be() {
        let title: Box<str> = "\u{10ffff}".repeat(81).into();
        let rows = |count| {
            let rows = (0..count).map(|n| Row {
                title: Some(title.clone()),
                ..row(&format!("{n:0128}"), n)
            });
            Rows::new(rows.collect())
        };
        let (most, _) = decode(&bytes()).unwrap();
        for count in [0, 1, 500] {
            let bytes = encode(&most, &rows(count));
            let longest = longest(&bytes[..bytes.len().min(HEAD)]).unwrap();
            assert!(bytes.len() as u64 <= longest, "{count} rows");
        }
        assert_eq!(longest(b"something else"), None);
        let none = encode(&most, &rows(0));
        let endless = [&none[..none.len() - 12], &[0xff; 8]].concat();
        assert_eq!(longest(&endless), None);
    }

    #[test]
    fn what_is_cut_off_or_of_another_format_is_no_index() {
        let bytes = bytes();
        for len in 0..bytes.len() {
            assert_eq!(decode(&bytes[..len]), None, "cut at {len}");
        }
        let other = String::from_utf8_lossy(FIRST).replace("format 2", "format 1");
        let mut other = [other.as_bytes(), &bytes[FIRST.len()..bytes.len() - 4]].concat();
        other.extend(crc32c::crc32c(&other).to_le_bytes());
        assert_eq!(decode(&other), None);
    }

    proptest! {
        #[test]
        fn no_flipped_bit_passes(at in any::<proptest::sample::Index>(), bit in 0..8) {
            let mut bytes = bytes();
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
            prop_assert_eq!(decode(&bytes), None);
        }

        /// Also with a right checksum, which a program that writes nonsense has, too.
        #[test]
        fn nonsense_is_no_index_and_no_panic(garbage in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = [FIRST, &garbage[..]].concat();
            bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
            if let Some((head, rows)) = decode(&bytes) {
                prop_assert_eq!(encode(&head, &rows), bytes);
            }
        }
    }
}
