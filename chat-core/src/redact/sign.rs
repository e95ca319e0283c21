//! What stands between a credential's name and its value: signs, markup, and the few words that do the same.

use super::{
    form::{is_key_byte, run},
    value::{Sign, closing, is_quote},
};

/// How far the end of a tag or of a phrase may be from the name in it.
const LOOK_AHEAD: usize = 128;

/// How long a value in tags may be where only its closing tag tells that it is one.
const MAX_TAGGED: usize = 1024;

/// What stands between a name and its value.
pub(super) struct Signed {
    pub(super) sign: Sign,
    /// Where the value begins.
    pub(super) value: usize,
    /// Whether there is space around the sign.
    pub(super) spaced: bool,
    /// Whether a quote closes behind the name.
    pub(super) closed: bool,
}

/// What stands behind a name that ends at `end`, and at whose beginning stands `first`, before its value.
pub(super) fn behind(bytes: &[u8], end: usize, first: Option<u8>) -> Option<Signed> {
    let behind = &bytes[end..];
    let (closed, rest) = match skip(behind, |b| b == b'\\') {
        [quote, rest @ ..] if is_quote(*quote) => (true, rest),
        _ => (false, behind),
    };
    // `user[password]=...`
    let rest = rest.strip_prefix(b"]").unwrap_or(rest);
    let place = skip(rest, is_space);
    let tag = || {
        matches!(first, Some(b'<' | b':'))
            .then(|| tag_end(behind, first, &bytes[..end]))
            .flatten()
    };
    let (sign, signed) = match place {
        // A path (`Token::End`) or a URL.
        [b':', b':', ..] | [b':', b'/', b'/', ..] => return None,
        // `:=`, `==` and `=>` as well.
        [b'=', signed @ ..] if first != Some(b'<') => (Sign::Equals, skip(signed, is_arrow)),
        [b':', signed @ ..] => (Sign::Colon, skip(signed, is_arrow)),
        // The colon and the equals sign of Chinese and Japanese (`：`, `＝`). What follows may as well be prose, without spaces.
        [0xef, 0xbc, sign @ (0x9a | 0x9d), signed @ ..]
            if skip(signed, is_space).first().is_some_and(u8::is_ascii) =>
        {
            let sign = if *sign == 0x9a {
                Sign::Colon
            } else {
                Sign::Equals
            };
            (sign, signed)
        }
        // `("x-api-key", "...")`
        [b',', signed @ ..] if closed => match skip(signed, is_space) {
            // Python prints bytes so: `(b"x-api-key", b"...")`.
            [b'b', quoted @ ..] if quoted.first().is_some_and(|b| is_quote(*b) || *b == b'\\') => {
                (Sign::Comma, quoted)
            }
            [b, ..] if (is_quote(*b) || *b == b'\\') && !is_next_name(skip(signed, is_space)) => {
                (Sign::Comma, signed)
            }
            _ => return None,
        },
        // `ApiKey("...")`, as Rust prints one; `set_password("...")`.
        [b'(', signed @ ..] if !closed && place.len() == behind.len() => match signed {
            [b, ..] if (is_quote(*b) || *b == b'\\') && !asks(&bytes[..end]) => {
                (Sign::Said, signed)
            }
            _ => return None,
        },
        _ if let Some(signed) = tag() => (Sign::Tag, signed),
        _ if let Some(signed) = encoded(behind) => (Sign::Encoded, signed),
        _ if let Some(signed) = said(rest) => (Sign::Said, signed),
        [_, ..] if place.len() < behind.len() => (Sign::Flag, place),
        _ => return None,
    };
    let value = skip(signed, is_space);
    Some(Signed {
        sign,
        value: bytes.len() - value.len(),
        spaced: place.len() < rest.len() || value.len() < signed.len(),
        closed,
    })
}

/// What stands behind the tag that a name began: `<password type="plain">value</password>`, `<ns:password>value</`. The name is what
/// `before` ends with.
fn tag_end<'b>(behind: &'b [u8], first: Option<u8>, before: &[u8]) -> Option<&'b [u8]> {
    let seen = &behind[..behind.len().min(LOOK_AHEAD)];
    let end = seen
        .iter()
        .position(|b| matches!(b, b'>' | b'<'))
        .filter(|end| seen[*end] == b'>')?;
    let attributes = end == 0 || behind[0].is_ascii_whitespace() && behind[end - 1] != b'/';
    if !attributes {
        return None;
    }
    let value = &behind[end + 1..];
    // `--token <TOKEN>  what it is for` has no end.
    let close = &value[run(&value[..value.len().min(MAX_TAGGED)], |b| b != b'<')..];
    let closing = close.strip_prefix(b"</").unwrap_or_default();
    let closed = closing[..run(&closing[..closing.len().min(LOOK_AHEAD)], |b| b != b'>')]
        .ends_with(&before[before.len().saturating_sub(3)..]);
    let open = first == Some(b'<')
        && !is_type_argument(before)
        && value
            .first()
            .is_some_and(|b| !b.is_ascii_whitespace() && *b != b'\\');
    (closed || open).then_some(value)
}

/// Whether the name that a text ends with is a function's that takes the name of a credential: `get_secret("prod/db1")`.
fn asks(before: &[u8]) -> bool {
    let name = before.iter().rev().take_while(|b| is_key_byte(**b)).count();
    let name = &before[before.len() - name..];
    [&b"get"[..], b"find", b"fetch", b"read", b"load", b"has"]
        .iter()
        .any(|verb| {
            let start = name.get(..verb.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(verb))
        })
}

/// Whether the name that a text ends with is the argument of a generic type, rather than a tag: `Vec<Token>`, `new::<Token>`.
fn is_type_argument(before: &[u8]) -> bool {
    let name = before.iter().rev().take_while(|b| is_key_byte(**b)).count();
    let (around, name) = before.split_at(before.len() - name);
    matches!(around, [.., b, b'<'] if is_key_byte(*b) || *b == b':')
        && name.first().is_some_and(u8::is_ascii_uppercase)
}

/// What stands behind a percent-encoded sign, with or without percent-encoded quotes.
fn encoded(behind: &[u8]) -> Option<&[u8]> {
    let quotes = |rest: &'_ [u8]| if rest.starts_with(b"%22") { 3 } else { 0 };
    let sign = &behind[quotes(behind)..];
    let value = match sign {
        [b'%', b'3', b'D' | b'd' | b'A' | b'a', value @ ..] => value,
        _ => return None,
    };
    Some(&value[quotes(value)..])
}

/// What stands behind words, an arrow, a tab or the line of a table that say as much as a sign.
fn said(rest: &[u8]) -> Option<&[u8]> {
    if let [b'\t', value @ ..] = rest {
        return Some(value);
    }
    let place = skip(rest, is_space);
    let words: [&[u8]; 7] = [
        b"is: ",
        b"is ",
        b"was ",
        b"| ",
        b"-> ",
        "→ ".as_bytes(),
        "\u{2502} ".as_bytes(),
    ];
    if let Some(value) = words.iter().find_map(|word| place.strip_prefix(*word)) {
        return (place.len() < rest.len()).then_some(value);
    }
    // `password for bob: ...`
    let whom = place
        .strip_prefix(b"for ")
        .or_else(|| place.strip_prefix(b"of "))?;
    let name = run(&whom[..whom.len().min(LOOK_AHEAD)], |b| {
        b.is_ascii_graphic() && b != b':'
    });
    whom[name..].strip_prefix(b": ")
}

/// Whether what stands in the quotes that open here is the name of the next field: `"type": "password", "next": ...`.
fn is_next_name(quoted: &[u8]) -> bool {
    let seen = &quoted[..quoted.len().min(LOOK_AHEAD)];
    let level = run(seen, |b| b == b'\\');
    let Some(quote) = seen.get(level) else {
        return false;
    };
    let end = closing(seen, level + 1, *quote, level).end;
    skip(&quoted[end..], is_space).starts_with(b":")
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t')
}

fn is_arrow(b: u8) -> bool {
    matches!(b, b'=' | b'>')
}

/// The rest behind bytes of one sort.
fn skip(rest: &[u8], is_part: impl Fn(u8) -> bool) -> &[u8] {
    &rest[run(rest, is_part)..]
}
