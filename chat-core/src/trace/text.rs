//! Text as it grows under snapshots of it: a persistent list of its pieces, the newest first.

use std::{fmt, iter, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text as it grows: pieces that are joined only when someone asks for them. A push costs one small allocation however much text
/// there is and whoever holds a snapshot of it, and a clone one reference count (law W8). In JSON a string.
///
/// ```
/// use chat_core::PartialText;
///
/// let mut text = PartialText::from("Once");
/// let before = text.clone();
/// text.push(" upon a time".into());
/// assert_eq!((before.to_string(), text.to_string()), ("Once".to_owned(), "Once upon a time".to_owned()));
/// ```
#[derive(Clone, Default)]
pub struct PartialText {
    newest: Option<Arc<Piece>>,
    bytes: usize,
}

struct Piece {
    text: Arc<str>,
    older: Option<Arc<Piece>>,
}

impl PartialText {
    /// Adds a piece; an empty one adds nothing.
    pub fn push(&mut self, piece: Arc<str>) {
        if piece.is_empty() {
            return;
        }
        self.bytes += piece.len();
        self.newest = Some(Arc::new(Piece {
            text: piece,
            older: self.newest.take(),
        }));
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The pieces, in the order they were added. Walks them all first.
    pub fn pieces(&self) -> impl DoubleEndedIterator<Item = &Arc<str>> + ExactSizeIterator {
        let newest_first: Vec<_> =
            iter::successors(self.newest.as_deref(), |piece| piece.older.as_deref())
                .map(|piece| &piece.text)
                .collect();
        newest_first.into_iter().rev()
    }
}

impl Drop for PartialText {
    /// Takes apart what no snapshot shares, piece by piece: left to itself, each piece would drop the one before it on a stack
    /// of its own. Of two threads that drop the same piece at once, `into_inner` gives it to exactly one.
    fn drop(&mut self) {
        let mut next = self.newest.take();
        while let Some(mut piece) = next.and_then(Arc::into_inner) {
            next = piece.older.take();
        }
    }
}

impl fmt::Display for PartialText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces().try_for_each(|piece| f.write_str(piece))
    }
}

impl fmt::Debug for PartialText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.pieces()).finish()
    }
}

impl PartialEq for PartialText {
    /// Equal is equal text, however it was cut into pieces.
    fn eq(&self, other: &Self) -> bool {
        let (these, those) = (self.pieces(), other.pieces());
        self.bytes == other.bytes
            && these
                .flat_map(|piece| piece.bytes())
                .eq(those.flat_map(|piece| piece.bytes()))
    }
}

impl<T: Into<Arc<str>>> From<T> for PartialText {
    fn from(text: T) -> Self {
        let mut partial = Self::default();
        partial.push(text.into());
        partial
    }
}

impl Serialize for PartialText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PartialText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::shared(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pieces: &[&str]) -> PartialText {
        let mut text = PartialText::default();
        for piece in pieces {
            text.push((*piece).into());
        }
        text
    }

    #[test]
    fn w8_a_push_leaves_snapshots_as_they_were_and_shares_their_pieces() {
        let before = text(&["Once", " upon"]);
        let mut after = before.clone();
        after.push(" a time".into());
        assert_eq!(before.to_string(), "Once upon");
        assert_eq!(
            (after.to_string().as_str(), after.len()),
            ("Once upon a time", 16)
        );
        let older = after.newest.as_ref().and_then(|piece| piece.older.as_ref());
        assert!(Arc::ptr_eq(older.unwrap(), before.newest.as_ref().unwrap()));
    }

    #[test]
    fn two_snapshots_may_grow_apart() {
        let trunk = text(&["a"]);
        let (mut one, mut two) = (trunk.clone(), trunk);
        one.push("b".into());
        two.push("c".into());
        assert_eq!(
            (one.to_string(), two.to_string()),
            ("ab".to_owned(), "ac".to_owned())
        );
    }

    #[test]
    fn equal_is_equal_text_however_it_was_cut() {
        assert_eq!(text(&["ab", "", "c"]), text(&["a", "bc"]));
        assert_ne!(text(&["ab", "c"]), text(&["ab", "d"]));
        assert_ne!(text(&["ab"]), text(&["ab", "c"]));
        assert_eq!(text(&[""]), PartialText::default());
    }

    #[test]
    fn it_is_a_string_in_json() {
        let json = serde_json::to_string(&text(&["a\"", "b"])).unwrap();
        assert_eq!(json, r#""a\"b""#);
        assert_eq!(
            serde_json::from_str::<PartialText>(&json).unwrap(),
            text(&["a\"b"])
        );
    }

    #[test]
    fn no_number_of_pieces_overflows_the_stack() {
        let piece: Arc<str> = "x".into();
        let mut whole = PartialText::default();
        let mut snapshots = Vec::new();
        for place in 0..300_000 {
            if place % 100_000 == 0 {
                snapshots.push(whole.clone());
            }
            whole.push(piece.clone());
        }
        assert_eq!(whole.to_string().len(), 300_000);
        drop(whole);
        assert_eq!(snapshots[2].len(), 200_000);
        drop(snapshots);
    }
}
