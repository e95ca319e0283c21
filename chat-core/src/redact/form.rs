//! Credentials that are told by their own form: key prefixes, JWTs, PEM blocks, passwords in URLs, and what looks random.
//!
//! Each function looks at one place of a text and says where the credential that begins there ends. How far one looks ahead
//! without taking anything out is bounded, so that no text costs more than its length.

use std::ops::Range;

use super::MARK;

/// How much of a key is looked at to tell whether it is one.
const LOOK_AHEAD: usize = 256;

/// What keys of well-known services begin with, and nothing else does.
const PREFIXES: [&[u8]; 32] = [
    b"ghp_",
    b"gho_",
    b"ghu_",
    b"ghs_",
    b"ghr_",
    b"github_pat_",
    b"glpat-",
    b"gldt-",
    b"glrt-", // GitHub, GitLab
    b"xoxb-",
    b"xoxp-",
    b"xoxa-",
    b"xoxr-",
    b"xoxs-",
    b"xoxo-",
    b"xoxe-",
    b"xoxe.",
    b"xoxc-",
    b"xoxd-",
    b"xapp-", // Slack
    b"sk_live_",
    b"sk_test_",
    b"rk_live_",
    b"rk_test_",
    b"whsec_", // Stripe
    b"AIza",
    b"ya29.",
    b"GOCSPX-", // Google
    b"shpat_",
    b"dop_v1_",
    b"nvapi-",
    b"tskey-",
];

/// What keys begin with, and words and names of programs as well.
const SHORT_PREFIXES: [&[u8]; 9] = [
    b"sk-", b"gsk_", b"xai-", b"hf_", b"r8_", b"pplx-", b"npm_", b"pypi-", b"SG.",
];

/// The shortest key behind one of the [`PREFIXES`].
const MIN_KEY: usize = 10;

/// What key ids of AWS begin with; 16 capitals and digits follow.
const AWS_PREFIXES: [&[u8]; 2] = [b"AKIA", b"ASIA"];

/// The end of the credential that begins at `at`, where one does. What stands before `at` is not part of a word with it.
pub(super) fn credential_end(bytes: &[u8], at: usize) -> Option<usize> {
    prefixed_end(bytes, at)
        .or_else(|| aws_end(bytes, at))
        .or_else(|| jwt_end(bytes, at))
}

fn prefixed_end(bytes: &[u8], at: usize) -> Option<usize> {
    let begins = |prefix: &&&[u8]| bytes[at..].starts_with(prefix);
    let (rest, certain) = match PREFIXES.iter().find(begins) {
        Some(prefix) => (at + prefix.len(), true),
        None => (at + SHORT_PREFIXES.iter().find(begins)?.len(), false),
    };
    let seen = run_end(
        &bytes[..bytes.len().min(rest + LOOK_AHEAD)],
        rest,
        is_key_byte,
    );
    let is_key = if certain {
        seen - rest >= MIN_KEY
    } else {
        looks_like_key(&bytes[rest..seen])
    };
    is_key.then(|| run_end(bytes, rest, is_key_byte))
}

/// Whether what follows a short prefix is a key: `sk-learn-contrib` and `hf_hub_download` are not.
fn looks_like_key(rest: &[u8]) -> bool {
    rest.split(|b| !b.is_ascii_alphanumeric()).any(|part| {
        let digit = part.iter().any(u8::is_ascii_digit);
        let letter = part.iter().any(u8::is_ascii_alphabetic);
        match part.len() {
            0..6 => false,
            6..16 => digit && letter,
            16..20 => digit || switches(part) >= 2,
            20.. => true,
        }
    })
}

fn aws_end(bytes: &[u8], at: usize) -> Option<usize> {
    AWS_PREFIXES
        .iter()
        .find(|prefix| bytes[at..].starts_with(prefix))?;
    let end = at + 20;
    let key = bytes.get(at..end)?;
    let whole = key
        .iter()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    (whole && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric)).then_some(end)
}

/// A JSON web token: base64 of `{"...` first, then at least one more part.
fn jwt_end(bytes: &[u8], at: usize) -> Option<usize> {
    // Only where a run of base64url begins, so that no run is looked through twice.
    let inside = at > 0 && is_key_byte(bytes[at - 1]);
    if inside || !bytes[at..].starts_with(b"eyJ") {
        return None;
    }
    let header = run_end(bytes, at, is_key_byte);
    if header - at < 8 || bytes.get(header) != Some(&b'.') {
        return None;
    }
    let claims = run_end(bytes, header + 1, is_key_byte);
    (claims - header > 4).then(|| run_end(bytes, claims, |b| is_key_byte(b) || b == b'.'))
}

/// The end of a PEM block that begins at `at`; one that is cut off ends with the text.
pub(super) fn pem_end(text: &str, at: usize) -> Option<usize> {
    if !text.as_bytes()[at..].starts_with(b"-----BEGIN ") {
        return None;
    }
    let Some(end) = text[at..]
        .find("-----END ")
        .map(|found| at + found + "-----END ".len())
    else {
        return Some(text.len());
    };
    Some(
        text[end..]
            .find("-----")
            .map_or(text.len(), |found| end + found + "-----".len()),
    )
}

/// The password in the URL whose `://` stands at `at`, or a user that looks like a token, where it has one. A mark where it was
/// taken out before.
pub(super) fn url_secret(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + b"://".len();
    let within = &bytes[..bytes.len().min(start + 2 * LOOK_AHEAD)];
    let mark = |at: usize| within[at..].starts_with(MARK.as_bytes());
    let url_end = |stop: &[u8]| {
        let ends = |at: usize| mark(at) || !is_url_byte(within[at]) || stop.contains(&within[at]);
        (start..within.len())
            .find(|at| ends(*at))
            .unwrap_or(within.len())
    };
    let mut end = url_end(b"/?");
    let colon = bytes[start..end]
        .iter()
        .position(|b| *b == b':')
        .map(|found| start + found);
    if let Some(colon) = colon {
        if mark(colon + 1) {
            return Some(colon + 1..colon + 1 + MARK.len());
        }
        // `user:p@ss/word@host`: what follows the colon is no port, so the last `@` ends a password, whatever stands before it.
        let behind = &bytes[colon + 1..end];
        if behind.is_empty() || !behind.iter().all(u8::is_ascii_digit) {
            end = url_end(b"");
        }
    }
    let host = bytes[start..end]
        .iter()
        .rposition(|b| *b == b'@')
        .map(|found| start + found)?;
    match colon.filter(|colon| *colon < host) {
        Some(colon) => (colon + 1 < host).then_some(colon + 1..host),
        None => looks_random(&bytes[start..host]).then_some(start..host),
    }
}

/// The end of a word that looks like nothing a person would write: behind a word such as "token" it is taken for one.
pub(super) fn random_end(bytes: &[u8], at: usize) -> Option<usize> {
    let seen = run_end(
        &bytes[..bytes.len().min(at + LOOK_AHEAD)],
        at,
        is_token_byte,
    );
    looks_random(&bytes[at..seen]).then(|| run_end(bytes, at, is_token_byte))
}

/// A random letter or digit differs in kind from the one before it six times in ten; in camelCase it is three.
fn looks_random(word: &[u8]) -> bool {
    word.split(|b| !b.is_ascii_alphanumeric()).any(|part| {
        let mixed = part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic);
        part.len() >= 16 && (mixed || switches(part) * 5 >= part.len() * 2)
    })
}

/// Whether a word is too odd for prose, so that behind a name which prose uses as well it is a credential.
pub(super) fn looks_opaque(word: &[u8], shortest: usize) -> bool {
    word.len() >= 24 || word.len() >= shortest && word.iter().any(u8::is_ascii_digit)
}

/// Whether a capital stands behind a small letter.
pub(super) fn has_inner_capital(word: &[u8]) -> bool {
    word.windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// How often letters and digits that stand together differ in kind.
fn switches(word: &[u8]) -> usize {
    let kind = |b: u8| match b {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    };
    word.windows(2)
        .map(|pair| (kind(pair[0]), kind(pair[1])))
        .filter(|(a, b)| *a * *b != 0 && a != b)
        .count()
}

/// Where a run of bytes that are all of one sort ends.
pub(super) fn run_end(bytes: &[u8], from: usize, is_part: impl Fn(u8) -> bool) -> usize {
    bytes[from..]
        .iter()
        .position(|b| !is_part(*b))
        .map_or(bytes.len(), |found| from + found)
}

/// What keys and base64url are made of.
pub(super) fn is_key_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

/// What tokens in headers, and base64, are made of.
pub(super) fn is_token_byte(b: u8) -> bool {
    is_key_byte(b) || matches!(b, b'.' | b'~' | b'+' | b'/' | b'=')
}

fn is_url_byte(b: u8) -> bool {
    !(b.is_ascii_whitespace() || b.is_ascii_control() || matches!(b, b'"' | b'<' | b'>' | b'`'))
}
