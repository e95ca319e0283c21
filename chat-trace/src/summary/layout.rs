//! Shares the room out among the pieces of a summary and writes it. Never writes more characters than there is room for.

use super::{
    draft::{
        Kind, Piece, chars, fields_shape, items_shape, key_chars, more, rest_chars, separators,
    },
    text::{Text, head, is_path, tail},
};

/// What stands where something was cut.
const CUT: &str = "…";

/// How many characters of a text are worth more than its length.
const TELLING: usize = 20;

/// A piece on a line of so many characters.
pub(super) fn line(piece: &Piece, room: usize) -> String {
    let mut line = String::new();
    write(piece, room, &mut line);
    line
}

/// A text without quotes; its length behind it, where it is cut.
pub(super) fn words(text: &Text, room: usize) -> String {
    if text.whole && chars(&text.shown) <= room {
        return text.shown.clone();
    }
    let suffix = text.suffix();
    match room.checked_sub(chars(&suffix)) {
        Some(left) if left > TELLING => cut(&text.shown, left) + &suffix,
        _ => cut(&text.shown, room),
    }
}

/// A text without quotes and nothing else.
pub(super) fn plain(text: &Text, room: usize) -> String {
    if text.whole && chars(&text.shown) <= room {
        return text.shown.clone();
    }
    cut(&text.shown, room)
}

fn cut(text: &str, room: usize) -> String {
    match room.checked_sub(1) {
        Some(room) => head(text, room).to_owned() + CUT,
        None => String::new(),
    }
}

/// Writes a piece, and says how many characters that took.
fn write(piece: &Piece, room: usize, line: &mut String) -> usize {
    match &piece.kind {
        Kind::Word(word) if piece.full <= room => add(word, line),
        Kind::Word(_) => shape("", room, line),
        Kind::Text { text, quote } => write_text(text, *quote, room.min(piece.full), line),
        Kind::Items { items, total } => write_items(items, *total, room, line),
        Kind::Fields { fields, total } => write_fields(fields, *total, room, line),
    }
}

fn add(text: &str, line: &mut String) -> usize {
    line.push_str(text);
    chars(text)
}

/// The shape of what there is no room for.
fn shape(shape: &str, room: usize, line: &mut String) -> usize {
    if !shape.is_empty() && chars(shape) <= room {
        add(shape, line)
    } else if room > 0 {
        add(CUT, line)
    } else {
        0
    }
}

fn write_text(text: &Text, quote: char, room: usize, line: &mut String) -> usize {
    let length = chars(&text.shown);
    let (shown, suffix) = if text.whole && length + 2 <= room {
        ([&*text.shown, ""], String::new())
    } else {
        // Two quotes and the dots.
        let Some(left) = room.checked_sub(3) else {
            return shape("", room, line);
        };
        let suffix = text.suffix();
        let (shown, suffix) = match left.checked_sub(chars(&suffix)) {
            // Where little is missing, that little is better than how much it is.
            Some(left) if left >= TELLING.min(length) && (!text.whole || length > 2 * left) => {
                (head(&text.shown, left), suffix)
            }
            _ => (head(&text.shown, left), String::new()),
        };
        // What a path is of stands at its end.
        if text.whole && is_path(&text.shown) {
            ([CUT, tail(&text.shown, left)], String::new())
        } else {
            ([shown, CUT], suffix)
        }
    };
    let before = line.len();
    line.push(quote);
    line.extend(shown);
    line.push(quote);
    line.push_str(&suffix);
    chars(&line[before..])
}

fn write_items(items: &[Piece], total: usize, room: usize, line: &mut String) -> usize {
    let decent: Vec<usize> = items.iter().map(|item| item.decent).collect();
    // Of the first alone, less than decent is better than a count.
    let glimpse: Vec<usize> = items.iter().take(1).map(|item| item.glimpse).collect();
    let some = |lengths| fitting(lengths, total, room);
    let Some(least) = some(&decent).or_else(|| some(&glimpse)) else {
        return shape(&items_shape(total), room, line);
    };
    let pieces = items.iter().map(|item| (None, item));
    write_all(pieces, least, total, room, ['[', ']'], line)
}

fn write_fields(fields: &[(String, Piece)], total: usize, room: usize, line: &mut String) -> usize {
    let lengths = |of: fn(&Piece) -> usize| -> Vec<usize> {
        let lengths = fields.iter().map(|(key, piece)| key_chars(key) + of(piece));
        lengths.collect()
    };
    let (keys, glimpses) = (lengths(|piece| piece.least), lengths(|piece| piece.glimpse));
    // All keys come before any value; where there isn't room for all of them, a few say more with a glimpse of their values.
    let least = match fitting(&keys, total, room) {
        Some(some) if some.len() < total => fitting(&glimpses, total, room).or(Some(some)),
        all => all,
    };
    let Some(least) = least else {
        return shape(&fields_shape(total), room, line);
    };
    let pieces = fields.iter().map(|(key, piece)| (Some(&**key), piece));
    write_all(pieces, least, total, room, ['{', '}'], line)
}

/// As many of the first lengths as there is room for, in brackets, with the number of the others behind them.
fn fitting(lengths: &[usize], total: usize, room: usize) -> Option<&[usize]> {
    let (mut taken, mut best) = (2, None);
    for (place, length) in lengths.iter().enumerate() {
        let count = place + 1;
        taken += length;
        if taken + separators(count) + rest_chars(count, total) <= room {
            best = Some(&lengths[..count]);
        }
    }
    best
}

/// Writes as many pieces as there are lengths, each at least as long as its own. What room is left goes to those that want it.
fn write_all<'a>(
    pieces: impl Iterator<Item = (Option<&'a str>, &'a Piece)>,
    least: &[usize],
    total: usize,
    room: usize,
    [open, close]: [char; 2],
    line: &mut String,
) -> usize {
    let pieces: Vec<_> = pieces.take(least.len()).collect();
    let rest = rest_chars(least.len(), total);
    let around = 2 + separators(least.len()) + rest;
    let left = room.saturating_sub(around + least.iter().sum::<usize>());
    let wants = pieces.iter().zip(least).map(|((key, piece), least)| {
        let full = key.map_or(0, key_chars) + piece.full;
        full.saturating_sub(*least)
    });
    let shares = shares(&wants.collect::<Vec<_>>(), left);

    let mut taken = around;
    // What one can't use is the next one's.
    let mut spare = 0;
    line.push(open);
    for (place, ((key, piece), (least, share))) in
        pieces.iter().zip(least.iter().zip(shares)).enumerate()
    {
        if place > 0 {
            line.push_str(", ");
        }
        let room = least + share + spare;
        let mut used = 0;
        if let Some(key) = key {
            used = add(key, line) + add(": ", line);
        }
        used += write(piece, room.saturating_sub(used), line);
        spare = room.saturating_sub(used);
        taken += used;
    }
    if rest > 0 {
        line.push_str(", ");
        line.push_str(&more(total - least.len()));
    }
    line.push(close);
    taken
}

/// Shares out what is left: as much to each as to any other, but to none more than it wants.
fn shares(wants: &[usize], mut left: usize) -> Vec<usize> {
    let mut by_want: Vec<usize> = (0..wants.len()).collect();
    by_want.sort_by_key(|place| wants[*place]);
    let mut shares = vec![0; wants.len()];
    for (done, place) in by_want.into_iter().enumerate() {
        let share = wants[place].min(left / (wants.len() - done));
        shares[place] = share;
        left -= share;
    }
    shares
}
