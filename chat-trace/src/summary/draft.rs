//! What could be shown of a value, and how long each piece of it is at least and at most. Takes no more of the value than there
//! is room to show.

use chat_core::Redactor;
use serde_json::{Map, Value};

use super::{
    quote::{is_name, quoted},
    size::{Size, counted, grouped},
    text::{Held, MARK, Reader, Text, WINDOW},
};

/// How deep a value is looked into.
const LEVELS: usize = 4;

/// How many characters of a key are shown.
const KEY_CHARS: usize = 32;

/// How many characters of a text, and of a list or an object, are worth more than the items behind it.
const DECENT: usize = 40;
const DECENT_SHAPE: usize = 80;

/// How many characters of a text are better than none.
const GLIMPSE: usize = 8;

/// The shortest item or field is `1, ` long: there is no room for more of them than this part of the characters.
const ITEM_CHARS: usize = 3;

/// A piece of a summary.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    /// How many characters it has when all of it is shown.
    pub(super) full: usize,
    /// How many it has when only its shape is shown.
    pub(super) least: usize,
    /// With how many it begins to say something.
    pub(super) glimpse: usize,
    /// How many are worth more than what stands behind it.
    pub(super) decent: usize,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A number or a shape: shown whole or not at all.
    Word(String),
    /// A text within quotes.
    Text { text: Text, quote: char },
    /// The first items, out of so many: one at least.
    Items { items: Vec<Piece>, total: usize },
    /// The first fields, out of so many: one at least.
    Fields {
        fields: Vec<(String, Piece)>,
        total: usize,
    },
}

/// Takes from a value what there is room for.
pub(super) struct Draft<'a> {
    pub(super) reader: Reader<'a>,
    /// How many characters there is room for.
    room: usize,
    /// How many pieces may still be taken.
    pub(super) pieces: usize,
}

impl<'a> Draft<'a> {
    pub(super) fn new(room: usize, redactor: &'a Redactor) -> Self {
        Self {
            reader: Reader {
                redactor,
                left: WINDOW,
            },
            room,
            pieces: most_pieces(room),
        }
    }

    pub(super) fn value(&mut self, value: &Value) -> Piece {
        self.piece(value, LEVELS)
    }

    /// Looks as many levels deep as are left.
    fn piece(&mut self, value: &Value, levels: usize) -> Piece {
        match value {
            Value::Null => word("null"),
            Value::Bool(yes) => word(if *yes { "true" } else { "false" }),
            // A PIN can be one.
            Value::Number(number) => word(self.reader.redactor.text(&number.to_string())),
            Value::String(text) => match self.reader.held(text, text.len()) {
                Held::Json(value) => self.piece(&value, levels),
                Held::LongJson => long_json(text.len()),
                Held::Words => words(self.reader.text(text, text.len(), self.room)),
            },
            Value::Array(items) => match levels.checked_sub(1) {
                Some(levels) => self.items(items, levels),
                None => word(items_shape(items.len())),
            },
            Value::Object(fields) => match levels.checked_sub(1) {
                Some(levels) => self.fields(fields, levels),
                None => word(fields_shape(fields.len())),
            },
        }
    }

    fn items(&mut self, items: &[Value], levels: usize) -> Piece {
        let taken = self.take(items.len());
        let pieces = items.iter().take(taken).enumerate().map(|(place, item)| {
            if self.reader.redactor.hides_item(items, place) {
                word(MARK)
            } else {
                self.piece(item, levels)
            }
        });
        list(pieces.collect(), items.len())
    }

    fn fields(&mut self, fields: &Map<String, Value>, levels: usize) -> Piece {
        let taken = self.take(fields.len());
        let pieces = fields.iter().take(taken).map(|(key, value)| {
            let piece = if self.reader.redactor.hides_field(fields, key) {
                word(MARK)
            } else {
                self.piece(value, levels)
            };
            (self.key(key), piece)
        });
        object(pieces.collect(), fields.len())
    }

    fn key(&mut self, key: &str) -> String {
        let text = self.reader.text(key, key.len(), KEY_CHARS);
        if text.whole && is_name(&text.shown) {
            return text.shown;
        }
        let dots = if text.whole { "" } else { "…" };
        let (shown, quote) = quoted(&text.shown);
        format!("{quote}{shown}{dots}{quote}")
    }

    /// How many of so many pieces are taken.
    fn take(&mut self, count: usize) -> usize {
        let taken = count.min(self.room / ITEM_CHARS + 1).min(self.pieces);
        self.pieces -= taken;
        taken
    }
}

/// How many pieces are taken from a value at all: some of those that lie deeper will not find room.
pub(super) fn most_pieces(room: usize) -> usize {
    room.saturating_mul(2).saturating_add(16)
}

/// A text of nothing.
pub(super) fn empty() -> Piece {
    word("\"\"")
}

/// JSON that is too long to look into.
pub(super) fn long_json(bytes: usize) -> Piece {
    word(format!("[JSON, {}]", Size::Bytes(bytes)))
}

/// How many are not shown.
pub(super) fn more(count: usize) -> String {
    format!("… {} more", grouped(count))
}

pub(super) fn items_shape(count: usize) -> String {
    match count {
        0 => "[]".to_owned(),
        count => format!("[{}]", counted(count, "item")),
    }
}

pub(super) fn fields_shape(count: usize) -> String {
    match count {
        0 => "{}".to_owned(),
        count => format!("{{{}}}", counted(count, "key")),
    }
}

fn word(word: impl Into<String>) -> Piece {
    let word = word.into();
    let full = chars(&word);
    Piece {
        kind: Kind::Word(word),
        full,
        least: full,
        glimpse: full,
        decent: full,
    }
}

fn words(mut text: Text) -> Piece {
    let (shown, quote) = quoted(&text.shown);
    text.shown = shown.into_owned();
    let quotes = 2;
    let full = if text.whole {
        chars(&text.shown) + quotes
    } else {
        chars(&text.shown) + quotes + 1 + chars(&text.suffix())
    };
    Piece {
        kind: Kind::Text { text, quote },
        full,
        // `"…"`
        least: full.min(quotes + 1),
        glimpse: full.min(GLIMPSE),
        decent: full.min(DECENT),
    }
}

fn list(items: Vec<Piece>, total: usize) -> Piece {
    if items.is_empty() {
        return word(items_shape(total));
    }
    let rest = |shown: usize| rest_chars(shown, total);
    let full = 2
        + items.iter().map(|item| item.full).sum::<usize>()
        + separators(items.len())
        + rest(items.len());
    let first = |of: fn(&Piece) -> usize| items.first().map_or(0, of) + 2 + rest(1);
    Piece {
        full,
        least: full.min(chars(&items_shape(total))),
        glimpse: full.min(first(|item| item.glimpse)),
        decent: full.min(first(|item| item.decent).min(DECENT_SHAPE)),
        kind: Kind::Items { items, total },
    }
}

fn object(fields: Vec<(String, Piece)>, total: usize) -> Piece {
    if fields.is_empty() {
        return word(fields_shape(total));
    }
    let around = 2 + separators(fields.len()) + rest_chars(fields.len(), total);
    let sum = |of: fn(&Piece) -> usize| {
        let lengths = fields.iter().map(|(key, piece)| key_chars(key) + of(piece));
        around + lengths.sum::<usize>()
    };
    let full = sum(|piece| piece.full);
    Piece {
        full,
        least: full.min(chars(&fields_shape(total))),
        glimpse: full.min(sum(|piece| piece.least).min(DECENT)),
        decent: full.min(sum(|piece| piece.full.min(2 * GLIMPSE)).min(DECENT_SHAPE)),
        kind: Kind::Fields { fields, total },
    }
}

/// How long a key and what stands between it and its value are.
pub(super) fn key_chars(key: &str) -> usize {
    chars(key) + 2
}

/// How long the commas between so many are.
pub(super) fn separators(count: usize) -> usize {
    2 * count.saturating_sub(1)
}

/// How long it is to say how many are left, behind those that are shown.
pub(super) fn rest_chars(shown: usize, total: usize) -> usize {
    match total.saturating_sub(shown) {
        0 => 0,
        rest => 2 + chars(&more(rest)),
    }
}

pub(super) fn chars(text: &str) -> usize {
    text.chars().count()
}
