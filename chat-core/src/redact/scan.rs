//! One pass over a text, word by word, that finds the credentials in it. It never looks back over what it took out: behind a
//! mark it starts as at the beginning of a text, which is why a second pass finds nothing more.

use std::ops::Range;

use super::{
    MARK, form,
    name::{self, Doubt},
    value::{self, Sign},
};

/// How many words may stand between a word such as "token" and what looks like one.
const REACH: u8 = 3;

/// Where the credentials of a text stand: in order, apart from each other.
pub(super) fn credentials(text: &str) -> Vec<Range<usize>> {
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        next: 0,
        found: Vec::new(),
        prose: Prose::default(),
    };
    // Whatever a step does, every place is looked at once at most.
    for at in 0..text.len() {
        if at >= scan.next {
            scan.step(at);
        }
    }
    scan.found
}

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    /// All before it is done with.
    next: usize,
    found: Vec<Range<usize>>,
    prose: Prose,
}

/// What the words before are worth knowing for.
#[derive(Default)]
struct Prose {
    /// The word before, where nothing but one space stands between.
    before: Option<Range<usize>>,
    /// In how many words from here a random one is still a credential.
    reach: u8,
}

/// A name with what makes a value of what stands behind it.
struct Named {
    sign: Sign,
    /// Whether the value must look like a credential as well.
    doubted: bool,
    /// Whether the value reaches to the end of its line.
    line: bool,
    /// Where the value begins.
    value: usize,
    /// The quote that opened before the name and did not close behind it.
    quote: Option<u8>,
}

/// What stands between a name and its value.
struct Signed {
    sign: Sign,
    /// Where the value begins.
    value: usize,
    /// Whether there is space around the sign.
    spaced: bool,
    /// Whether a quote closes behind the name.
    closed: bool,
}

impl Scan<'_> {
    fn step(&mut self, at: usize) {
        match &self.bytes[at..] {
            rest if rest.starts_with(MARK.as_bytes()) => self.restart(at + MARK.len()),
            [b, ..] if is_word_byte(*b) => {
                self.word(at..form::run_end(self.bytes, at, is_word_byte));
            }
            // The letter of an escape is no part of the word behind it.
            [b'\\', b'n' | b'r' | b't', ..] => self.next = at + 2,
            [b':', b'/', b'/', ..] => self.url(at + "://".len()),
            [b'!' | b'?' | b';' | b'\n', ..] => self.restart(at),
            [b' ', ..] => {}
            _ => self.prose.before = None,
        }
    }

    fn word(&mut self, word: Range<usize>) {
        if let Some(secret) = self.credential(word.clone()) {
            return self.redact(secret);
        }
        if let Some(named) = self.named(word.clone()) {
            return self.value(&named);
        }
        if let Some(secret) = self.secret_in_prose(word.clone()) {
            return self.redact(secret);
        }
        let joined = self.prose.before.take();
        let known = name::names_credential(&self.text[word.clone()])
            || joined
                .is_some_and(|before| name::names_credential(&self.text[before.start..word.end]));
        self.prose.reach = if known {
            REACH
        } else {
            self.prose.reach.saturating_sub(1)
        };
        self.next = word.end;
        if matches!(self.bytes[word.end..], [b' ', next, ..] if is_word_byte(next)) {
            self.prose.before = Some(word);
        }
    }

    /// The first credential in a word that is told by its form.
    fn credential(&self, word: Range<usize>) -> Option<Range<usize>> {
        word.clone().find_map(|at| {
            let before = &self.bytes[word.start..at];
            let end = form::credential(before.last().copied(), &self.bytes[at..])
                .map(|length| at + length)
                .or_else(|| form::pem_end(self.text, at))?;
            // What stands before it in the word is judged as the word that a second pass would see.
            let armed = self.prose.reach > 0 && form::random(before).is_some();
            Some(if armed { word.start } else { at }..end)
        })
    }

    /// A token behind its scheme (`Bearer ...`), or a random word soon behind one such as "token".
    fn secret_in_prose(&self, word: Range<usize>) -> Option<Range<usize>> {
        let text = &self.bytes[word.clone()];
        let start = form::run_end(self.bytes, word.end, |b| b == b' ');
        if start > word.end
            && (text.eq_ignore_ascii_case(b"bearer") || text.eq_ignore_ascii_case(b"basic"))
        {
            let end = form::run_end(self.bytes, start, form::is_token_byte);
            let token = &self.bytes[start..end];
            // "Basic authentication" and `Bearer realm="..."` are no tokens.
            let odd =
                form::looks_opaque(token, 8) || token.len() >= 8 && form::has_inner_capital(token);
            return odd.then_some(start..end);
        }
        if self.prose.reach == 0 {
            return None;
        }
        let length = form::random(&self.bytes[word.start..])?;
        Some(word.start..word.start + length)
    }

    /// Whether a word, or it and the one before, is a credential's name, and a value stands behind it.
    fn named(&self, word: Range<usize>) -> Option<Named> {
        let text = &self.text[word.clone()];
        let first = self.bytes[..word.start].last().copied();
        let Signed {
            sign,
            value,
            spaced,
            closed,
        } = self.sign(word.end, first)?;
        let quote = first.filter(|b| value::is_quote(*b) && !closed);
        let named = |doubted, line| {
            Some(Named {
                sign,
                doubted,
                line,
                value,
                quote,
            })
        };
        let in_prose = self.prose.before.is_some() && (sign == Sign::Colon || spaced);
        let two = self
            .prose
            .before
            .as_ref()
            .and_then(|before| name::classify(&self.text[before.start..word.end]));
        if let Some(two) = two.filter(|two| two.doubt == Doubt::Never && sign != Sign::Flag) {
            return named(false, two.line);
        }
        if let Some(name) = name::classify(text) {
            return match (sign, name.doubt) {
                (Sign::Flag, _) if !text.starts_with("--") => None,
                (Sign::Flag, _) | (_, Doubt::Always) => named(true, name.line),
                (_, Doubt::InProse) => named(in_prose, name.line),
                (_, Doubt::Never) => named(false, name.line),
            };
        }
        let query = sign == Sign::Equals && matches!(first, Some(b'?' | b'&'));
        if query
            && matches!(
                text,
                "key" | "sig" | "signature" | "code" | "X-Amz-Signature"
            )
        {
            return named(false, false);
        }
        None
    }

    /// What stands behind a name that ends at `end`, and at whose beginning stands `first`, before its value.
    fn sign(&self, end: usize, first: Option<u8>) -> Option<Signed> {
        let behind = &self.bytes[end..];
        let (closed, rest) = match skip(behind, |b| b == b'\\') {
            [quote, rest @ ..] if value::is_quote(*quote) => (true, rest),
            _ => (false, behind),
        };
        // `user[password]=...`
        let rest = rest.strip_prefix(b"]").unwrap_or(rest);
        let place = skip(rest, is_space);
        let (sign, signed) = match place {
            [b'>', signed @ ..] if first == Some(b'<') && place.len() == behind.len() => {
                (Sign::Tag, signed)
            }
            // A path (`Token::End`) or a URL.
            [b':', b':', ..] | [b':', b'/', b'/', ..] => return None,
            // `:=`, `==` and `=>` as well.
            [b'=', signed @ ..] => (Sign::Equals, skip(signed, is_arrow)),
            [b':', signed @ ..] => (Sign::Colon, skip(signed, is_arrow)),
            // `("x-api-key", "...")`
            [b',', signed @ ..] if closed => match skip(signed, is_space) {
                [b, ..] if value::is_quote(*b) || *b == b'\\' => (Sign::Comma, signed),
                _ => return None,
            },
            [_, ..] if place.len() < behind.len() => (Sign::Flag, place),
            _ => return None,
        };
        let value = skip(signed, is_space);
        Some(Signed {
            sign,
            value: self.bytes.len() - value.len(),
            spaced: place.len() < rest.len() || value.len() < signed.len(),
            closed,
        })
    }

    fn value(&mut self, named: &Named) {
        let value = value::value_at(self.text, named.value, named.sign, named.line, named.quote);
        let text = &self.text[value.clone()];
        let nothing = text.is_empty() || value::is_nothing(text);
        let empty = !named.line && self.begins_name(value.start);
        let name = named.sign == Sign::Comma && value::is_field_name(text);
        // A mark is as long as it is: what is left beside it must be odd.
        let opaque = text
            .split(MARK)
            .any(|left| form::looks_opaque(left.as_bytes(), 6));
        let word = named.doubted && !opaque;
        if text == MARK {
            self.restart(value.end);
        } else if nothing || empty || name || word {
            self.restart(named.value);
        } else {
            self.redact(value);
        }
    }

    /// Whether another name stands where a value should: "wrong password: API key: ...".
    fn begins_name(&self, at: usize) -> bool {
        let letters = |at| {
            form::run_end(self.bytes, at, |b| {
                b.is_ascii_alphabetic() || matches!(b, b'_' | b'-')
            })
        };
        let named = |end: usize| {
            let sign = || self.sign(end, None).map(|signed| signed.sign);
            name::names_credential(&self.text[at..end])
                && self.credential(at..end).is_none()
                && matches!(sign(), Some(Sign::Equals | Sign::Colon))
        };
        let one = letters(at);
        let two = match self.bytes[one..] {
            [b' ', ..] => letters(one + 1),
            _ => one,
        };
        let two_words = self.bytes[at..two]
            .last()
            .is_some_and(u8::is_ascii_alphabetic);
        named(one) || two_words && named(two)
    }

    /// Goes on behind the `://` of a URL.
    fn url(&mut self, start: usize) {
        let Some(secret) = form::url_secret(&self.text[start..]) else {
            return self.restart(start);
        };
        let secret = start + secret.start..start + secret.end;
        if self.text[secret.clone()] == *MARK {
            self.restart(secret.end);
        } else {
            self.redact(secret);
        }
    }

    fn redact(&mut self, secret: Range<usize>) {
        let end = secret.end;
        self.found.push(secret);
        self.restart(end);
    }

    fn restart(&mut self, at: usize) {
        self.next = at;
        self.prose = Prose::default();
    }
}

/// What words are made of here: names of fields with their separators, and keys.
fn is_word_byte(b: u8) -> bool {
    form::is_key_byte(b) || b == b'.'
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t')
}

fn is_arrow(b: u8) -> bool {
    matches!(b, b'=' | b'>')
}

/// The rest behind bytes of one sort.
fn skip(rest: &[u8], is_part: impl Fn(u8) -> bool) -> &[u8] {
    &rest[form::run(rest, is_part)..]
}
