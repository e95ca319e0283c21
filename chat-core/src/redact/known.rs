//! Secrets that the host knows: in which forms they stand in texts, and where.
//!
//! As they are; as JSON writes them, also JSON within JSON; percent-encoded, as in a URL and in a form; and in base64, alone or
//! within something longer (`Basic` holds a user and a password): a text's base64 depends on its place within three bytes, so
//! there are three of each. Not: hashed, in hex, broken over lines, or in base64 of base64.

use std::ops::Range;

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, Encoding, HEXUPPER};
use serde_json::Value;

use super::{MARK, form};

/// The shortest secret that is taken out wherever it stands: a shorter one would take ordinary words with it.
const MIN_SECRET_BYTES: usize = 6;

/// What is looked for. No `Debug`: it holds secrets.
#[derive(Clone, Default)]
pub(super) struct Known {
    /// How many secrets there are.
    secrets: usize,
    plain: Vec<String>,
    /// What is left of a secret in base64 whatever stands beside it.
    base64: Vec<String>,
}

impl Known {
    pub(super) fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() < MIN_SECRET_BYTES {
            return;
        }
        self.secrets += 1;
        let json = escaped(secret);
        let mut plain = vec![secret.to_owned(), escaped(&json), json];
        // Browsers and forms leave more as it is than RFC 3986 does.
        for kept in ["", "*", "!*'()"] {
            let encoded = percent(secret, kept);
            plain.extend([lower_hex(&encoded), encoded]);
        }
        let forms: Vec<String> = plain.iter().map(|form| form.replace("%20", "+")).collect();
        plain.extend(forms);
        for form in plain {
            if !self.plain.contains(&form) {
                self.plain.push(form);
            }
        }
        for encoding in [BASE64_NOPAD, BASE64URL_NOPAD] {
            for place in 0..3 {
                let form = base64(secret, place, &encoding);
                if !self.base64.contains(&form) {
                    self.base64.push(form);
                }
            }
        }
    }

    /// How many secrets there are.
    pub(super) fn len(&self) -> usize {
        self.secrets
    }

    /// The length of the longest text that is looked for.
    pub(super) fn longest(&self) -> usize {
        let forms = self.plain.iter().chain(&self.base64);
        forms.map(String::len).max().unwrap_or(0)
    }

    /// Where known secrets stand; those that overlap as one.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.plain.is_empty() {
            return found;
        }
        let mut start = 0;
        // Marks are walls: a secret that is a word of the mark's own must not be found in it.
        for piece in text.split(MARK) {
            let at = |range: Range<usize>| start + range.start..start + range.end;
            for form in &self.plain {
                found.extend(
                    piece
                        .match_indices(&**form)
                        .map(|(from, _)| at(from..from + form.len())),
                );
            }
            for form in &self.base64 {
                let mut done = 0;
                for (from, _) in piece.match_indices(&**form) {
                    // All of the word: what stands beside the secret in the same base64 belongs to it, or is half of its edge.
                    if from >= done {
                        let word = word_around(piece.as_bytes(), from, done);
                        done = word.end;
                        found.push(at(word));
                    }
                }
            }
            start += piece.len() + MARK.len();
        }
        found.sort_unstable_by_key(|range| range.start);
        found.dedup_by(|next, one| {
            let overlap = next.start < one.end;
            if overlap {
                one.end = one.end.max(next.end);
            }
            overlap
        });
        found
    }
}

/// The word of base64 that `at` lies in; it begins no earlier than `from`.
fn word_around(bytes: &[u8], at: usize, from: usize) -> Range<usize> {
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_');
    let before = bytes[from..at]
        .iter()
        .rev()
        .take_while(|b| is_part(b))
        .count();
    let end = form::run_end(bytes, at, |b| is_part(&b));
    at - before..form::run_end(bytes, end, |b| b == b'=')
}

/// A text as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// A text as a URL writes it: all but unreserved characters (RFC 3986) and those in `kept` by their bytes.
fn percent(text: &str, kept: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for b in text.bytes() {
        if b.is_ascii_alphanumeric() || b"-._~".contains(&b) || kept.as_bytes().contains(&b) {
            encoded.push(b.into());
        } else {
            encoded.push('%');
            encoded.push_str(&HEXUPPER.encode(&[b]));
        }
    }
    encoded
}

/// The same with small letters in what is percent-encoded.
fn lower_hex(encoded: &str) -> String {
    let mut pieces = encoded.split('%');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| {
        format!("{all}%{}{}", piece[..2].to_ascii_lowercase(), &piece[2..])
    })
}

/// The base64 of a text behind `place` bytes of something else, without the digits that depend on what stands beside it.
fn base64(text: &str, place: usize, encoding: &Encoding) -> String {
    let mut bytes = vec![0; place];
    bytes.extend_from_slice(text.as_bytes());
    let digits = encoding.encode(&bytes);
    digits[(place * 8).div_ceil(6)..bytes.len() * 8 / 6].to_owned()
}
