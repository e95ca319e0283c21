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
        at: 0,
        found: Vec::new(),
        prose: Prose::default(),
    };
    while scan.at < scan.bytes.len() {
        scan.step();
    }
    scan.found
}

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
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
    fn step(&mut self) {
        let (bytes, at) = (self.bytes, self.at);
        if bytes[at..].starts_with(MARK.as_bytes()) {
            return self.restart(at + MARK.len());
        }
        match bytes[at] {
            b if is_word_byte(b) => self.word(),
            // The letter of an escape is no part of the word behind it.
            b'\\' if matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't')) => self.at += 2,
            b':' if bytes[at..].starts_with(b"://") => self.url(),
            b'!' | b'?' | b';' | b'\n' => self.restart(at + 1),
            b' ' => self.at += 1,
            _ => {
                self.prose.before = None;
                self.at += 1;
            }
        }
    }

    fn word(&mut self) {
        let start = self.at;
        let end = form::run_end(self.bytes, start, is_word_byte);
        for at in start..end {
            let starts_part = at == start || !self.bytes[at - 1].is_ascii_alphanumeric();
            let key = if starts_part {
                form::credential_end(self.bytes, at)
            } else {
                None
            };
            if let Some(behind) = key.or_else(|| form::pem_end(self.text, at)) {
                // What stands before it in the word is judged as the word that a second pass would see.
                let armed =
                    self.prose.reach > 0 && form::random_end(&self.bytes[..at], start).is_some();
                return self.redact(if armed { start } else { at }..behind);
            }
        }
        if let Some(named) = self.named(start..end) {
            return self.value(&named);
        }
        if let Some(secret) = self.secret_in_prose(start..end) {
            return self.redact(secret);
        }
        let joined = self.prose.before.take();
        let known = name::names_credential(&self.text[start..end])
            || joined.is_some_and(|before| name::names_credential(&self.text[before.start..end]));
        self.prose.reach = if known {
            REACH
        } else {
            self.prose.reach.saturating_sub(1)
        };
        let one_space = self.bytes.get(end) == Some(&b' ')
            && self.bytes.get(end + 1).is_some_and(|b| is_word_byte(*b));
        self.prose.before = one_space.then_some(start..end);
        self.at = end;
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
        let armed = self.prose.reach > 0;
        let end = if armed {
            form::random_end(self.bytes, word.start)
        } else {
            None
        };
        end.map(|end| word.start..end)
    }

    /// Whether a word, or it and the one before, is a credential's name, and a value stands behind it.
    fn named(&self, word: Range<usize>) -> Option<Named> {
        let text = &self.text[word.clone()];
        let first = word.start.checked_sub(1).map(|at| self.bytes[at]);
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

    fn sign(&self, behind: usize, first: Option<u8>) -> Option<Signed> {
        let bytes = self.bytes;
        let slashes = form::run_end(bytes, behind, |b| b == b'\\');
        let closed = bytes.get(slashes).is_some_and(|b| value::is_quote(*b));
        let mut at = if closed { slashes + 1 } else { behind };
        // `user[password]=...`
        if bytes.get(at) == Some(&b']') {
            at += 1;
        }
        let is_space = |b| matches!(b, b' ' | b'\t');
        let place = form::run_end(bytes, at, is_space);
        let sign = match bytes.get(place)? {
            b'>' if first == Some(b'<') && place == behind => Sign::Tag,
            b'=' => Sign::Equals,
            // A path (`Token::End`) or a URL.
            b':' if bytes[place..].starts_with(b"::") || bytes[place..].starts_with(b"://") => {
                return None;
            }
            b':' => Sign::Colon,
            // `("x-api-key", "...")`
            b',' if closed => {
                let next = form::run_end(bytes, place + 1, is_space);
                if !bytes
                    .get(next)
                    .is_some_and(|b| value::is_quote(*b) || *b == b'\\')
                {
                    return None;
                }
                Sign::Comma
            }
            _ if place > behind => {
                return Some(Signed {
                    sign: Sign::Flag,
                    value: place,
                    spaced: true,
                    closed,
                });
            }
            _ => return None,
        };
        // `:=`, `==` and `=>` as well.
        let signed = form::run_end(bytes, place + 1, |b| {
            matches!(b, b'=' | b'>') && sign != Sign::Tag
        });
        let value = form::run_end(bytes, signed, is_space);
        Some(Signed {
            sign,
            value,
            spaced: place > at || value > signed,
            closed,
        })
    }

    fn value(&mut self, named: &Named) {
        let value = value::value_at(self.text, named.value, named.sign, named.line, named.quote);
        let text = &self.text[value.clone()];
        let nothing = text.is_empty() || value::is_nothing(text);
        let empty = !named.line && self.begins_name(value.start);
        let name = named.sign == Sign::Comma && value::is_field_name(text);
        let word = named.doubted && !form::looks_opaque(text.as_bytes(), 6);
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
            name::names_credential(&self.text[at..end])
                && self
                    .sign(end, None)
                    .is_some_and(|signed| matches!(signed.sign, Sign::Equals | Sign::Colon))
        };
        let one = letters(at);
        let two = if self.bytes.get(one) == Some(&b' ') {
            letters(one + 1)
        } else {
            one
        };
        named(one) || two > one + 1 && self.bytes[two - 1].is_ascii_alphabetic() && named(two)
    }

    fn url(&mut self) {
        match form::url_secret(self.bytes, self.at) {
            Some(secret) if self.text[secret.clone()] == *MARK => self.restart(secret.end),
            Some(secret) => self.redact(secret),
            None => self.restart(self.at + "://".len()),
        }
    }

    fn redact(&mut self, secret: Range<usize>) {
        let end = secret.end;
        self.found.push(secret);
        self.restart(end);
    }

    fn restart(&mut self, at: usize) {
        self.at = at;
        self.prose = Prose::default();
    }
}

/// What words are made of here: names of fields with their separators, and keys.
fn is_word_byte(b: u8) -> bool {
    form::is_key_byte(b) || b == b'.'
}
