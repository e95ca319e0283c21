//! Credentials that are told by their own form: key prefixes, JWTs, PEM blocks, passwords in URLs, and what looks random.
//!
//! Each function looks at what a text begins with and says how long the credential there is. How far one looks ahead
//! without taking anything out is bounded, so that no text costs more than its length.

use std::ops::Range;

use super::MARK;

/// How much of a key is looked at to tell whether it is one.
const LOOK_AHEAD: usize = 256;

/// How much of a URL is looked at.
const URL_LOOK_AHEAD: usize = 512;

/// What keys of well-known services begin with, and nothing else does.
const PREFIXES: [&str; 65] = [
    // GitHub, GitLab, Bitbucket and Atlassian.
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glrt-",
    "glcbt-",
    "glptt-",
    "glagent-",
    "ATATT3",
    // Slack.
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxr-",
    "xoxs-",
    "xoxo-",
    "xoxe-",
    "xoxe.",
    "xoxc-",
    "xoxd-",
    "xapp-",
    // Stripe, Square and Shopify.
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "whsec_",
    "sq0atp-",
    "sq0csp-",
    "shpat_",
    "shpss_",
    "shpca_",
    "shppa_",
    // Google.
    "AIza",
    "ya29.",
    "GOCSPX-",
    // Packages and images.
    "dckr_pat_",
    "rubygems_",
    // Hosts and databases.
    "dop_v1_",
    "doo_v1_",
    "hvs.",
    "hvb.",
    "sbp_",
    "sb_secret_",
    "pscale_tkn_",
    "pscale_pw_",
    "CFPAT-",
    "HRKU-",
    "tskey-",
    // Services of developers.
    "nvapi-",
    "tvly-",
    "ntn_",
    "figd_",
    "lin_api_",
    "glsa_",
    "sntrys_",
    "sntryu_",
    "PMAK-",
    "dp.pt.",
    "xkeysib-",
    "pat-na1-",
    "phx_",
    // The file encryption tool age.
    "AGE-SECRET-KEY-1",
];

/// What keys begin with, and words and names of programs as well.
const SHORT_PREFIXES: [&str; 9] = [
    "sk-", "gsk_", "xai-", "hf_", "r8_", "pplx-", "npm_", "pypi-", "SG.",
];

/// The shortest key behind one of the [`PREFIXES`].
const MIN_KEY: usize = 10;

/// What key ids of AWS begin with; they are made of capitals and digits.
const AWS_PREFIXES: [&[u8]; 4] = [b"AKIA", b"ASIA", b"ABIA", b"ACCA"];

/// What a PEM block begins with.
const PEM_BEGIN: &str = "-----BEGIN ";

/// The length of a key id of AWS.
const AWS_KEY_ID: usize = 20;

/// The length of the key or the token that a text begins with; `before` is what stands before it in the same word.
pub(super) fn credential(before: Option<u8>, rest: &[u8]) -> Option<usize> {
    let key = || prefixed(rest).or_else(|| aws(rest));
    match before {
        Some(b) if b.is_ascii_alphanumeric() => None,
        // In the middle of a run of base64url: none is looked through twice.
        Some(b'_' | b'-') => key(),
        Some(_) | None => key().or_else(|| jwt(rest)),
    }
}

/// Which bytes can follow the first of a prefix, a bit for each. Asked at nearly every place of a text, where the prefixes themselves
/// would each be compared.
const SECOND: [u128; 128] = {
    let mut second = [0; 128];
    let mut at = 0;
    while at < PREFIXES.len() + SHORT_PREFIXES.len() {
        let prefix = if at < PREFIXES.len() {
            PREFIXES[at]
        } else {
            SHORT_PREFIXES[at - PREFIXES.len()]
        };
        let prefix = prefix.as_bytes();
        second[prefix[0] as usize] |= 1 << prefix[1];
        at += 1;
    }
    second
};

fn prefixed(rest: &[u8]) -> Option<usize> {
    let [first, second, ..] = *rest else {
        return None;
    };
    let begun = SECOND.get(usize::from(first)).copied().unwrap_or_default();
    if !second.is_ascii() || begun >> second & 1 == 0 {
        return None;
    }
    let begins = |prefix: &&&str| rest.starts_with(prefix.as_bytes());
    let (prefix, certain) = match PREFIXES.iter().find(begins) {
        Some(prefix) => (prefix, true),
        None => (SHORT_PREFIXES.iter().find(begins)?, false),
    };
    let key = &rest[prefix.len()..];
    let seen = glimpse(key, is_key_byte);
    let is_key = if certain {
        seen.len() >= MIN_KEY
    } else {
        looks_like_key(seen)
    };
    is_key.then(|| prefix.len() + run(key, is_key_byte))
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

fn aws(rest: &[u8]) -> Option<usize> {
    AWS_PREFIXES
        .iter()
        .find(|prefix| rest.starts_with(prefix))?;
    let id = run(rest, |b| b.is_ascii_alphanumeric());
    let capitals = run(rest, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
    (id == AWS_KEY_ID && capitals == id).then_some(id)
}

/// A JSON web token: base64 of `{"...` first, then at least one more part.
fn jwt(rest: &[u8]) -> Option<usize> {
    if !rest.starts_with(b"eyJ") {
        return None;
    }
    let (header, behind) = rest.split_at(run(rest, is_key_byte));
    let claims = run(behind.strip_prefix(b".")?, is_key_byte);
    (header.len() >= 8 && claims >= 4).then(|| run(rest, |b| is_key_byte(b) || b == b'.'))
}

/// The end of a PEM block that begins at `at`; one that is cut off ends with the text.
pub(super) fn pem_end(text: &str, at: usize) -> Option<usize> {
    let block = text.get(at..).filter(|rest| rest.starts_with(PEM_BEGIN))?;
    // Prose that tells of PEM blocks is none.
    let label = &block.as_bytes()[PEM_BEGIN.len()..];
    let name = run(label, |b| {
        b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' '
    });
    let rest = &label[name..];
    let dashes = run(&rest[..rest.len().min(5)], |b| b == b'-');
    if dashes < 5 && dashes < rest.len() {
        return None;
    }
    let behind = block
        .split_once("-----END ")
        .and_then(|(_, name)| name.split_once("-----"))
        .map_or(0, |(_, behind)| behind.len());
    Some(text.len() - behind)
}

/// Where the password of a URL stands in what is behind its `://`, or a user that looks like a token, where it has one. A mark
/// where it was taken out before.
pub(super) fn url_secret(behind: &str) -> Option<Range<usize>> {
    let url = &behind[..behind.floor_char_boundary(URL_LOOK_AHEAD)];
    let url = url.split(is_no_url_char).next()?;
    let url = url.split(MARK).next()?;
    let mut login = url.split(['/', '?']).next()?;
    if let Some((user, port)) = login.split_once(':') {
        let password = user.len() + 1;
        if behind[password..].starts_with(MARK) {
            return Some(password..password + MARK.len());
        }
        // `user:p@ss/word@host`: what follows the colon is no port, so the last `@` ends a password, whatever stands before it.
        if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
            login = url;
        }
    }
    let (login, _host) = login.rsplit_once('@')?;
    match login.split_once(':') {
        // A token, with a password for form's sake or none.
        Some((user, _)) if looks_random(user.as_bytes()) => Some(0..login.len()),
        Some((_, "")) => None,
        Some((user, _)) => Some(user.len() + 1..login.len()),
        None => looks_random(login.as_bytes()).then_some(0..login.len()),
    }
}

/// The length of the word that a text begins with, where it looks like nothing a person would write: behind a word such as
/// "token" it is taken for one.
pub(super) fn random(rest: &[u8]) -> Option<usize> {
    looks_random(glimpse(rest, is_token_byte)).then(|| run(rest, is_token_byte))
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

/// Whether a word is what a person would hardly say, though it follows a name without a sign: "password hunter2".
pub(super) fn is_odd(word: &str) -> bool {
    let word = word
        .trim_end_matches(['.', ',', ';', ':', '!', '?', ')'])
        .as_bytes();
    let letter = word.iter().any(u8::is_ascii_alphabetic);
    let digit = word.iter().any(u8::is_ascii_digit);
    let sign = word.iter().any(|b| {
        matches!(
            b,
            b'!' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'=' | b'~' | b'@'
        )
    });
    word.len() >= 6 && letter && (digit || sign || has_inner_capital(word)) && !is_algorithm(word)
}

/// Passwords are said to be hashed by these more often than they are like these.
fn is_algorithm(word: &[u8]) -> bool {
    [
        "sha", "base64", "pbkdf2", "argon2", "bcrypt", "aes", "hmac", "oauth", "utf",
    ]
    .iter()
    .any(|name| {
        word.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
    })
}

/// Whether a session is told by what a cookie holds, not by a name or a title: letters and digits in no order.
pub(super) fn is_session(value: &str) -> bool {
    let word = value.as_bytes();
    let mut parts = word.split(|b| !b.is_ascii_alphanumeric());
    let mixed = |part: &[u8]| {
        part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic)
    };
    let one_word = value
        .bytes()
        .all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'<' | b'>' | b'{' | b'('));
    one_word
        && (looks_random(word)
            || parts.any(|part| part.len() >= 8 && mixed(part) && switches(part) >= 2)
            || word.len() >= 20 && word.iter().filter(|b| b.is_ascii_digit()).count() >= 6)
}

/// Whether a capital stands behind a small letter.
pub(super) fn has_inner_capital(word: &[u8]) -> bool {
    word.windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// How often a letter or digit differs in kind from the one before it.
fn switches(part: &[u8]) -> usize {
    let kind = |b: u8| (b.is_ascii_digit(), b.is_ascii_uppercase());
    part.windows(2)
        .filter(|pair| kind(pair[0]) != kind(pair[1]))
        .count()
}

/// Where a run of bytes of one sort ends that begins at `from`.
pub(super) fn run_end(bytes: &[u8], from: usize, is_part: impl Fn(u8) -> bool) -> usize {
    from + run(&bytes[from..], is_part)
}

/// How many bytes of one sort a text begins with.
pub(super) fn run(rest: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    rest.iter().take_while(|b| is_part(**b)).count()
}

/// As much of a run as tells what it is.
fn glimpse(rest: &[u8], is_part: impl Fn(u8) -> bool) -> &[u8] {
    let seen = &rest[..rest.len().min(LOOK_AHEAD)];
    &seen[..run(seen, is_part)]
}

/// What keys and base64url are made of.
pub(super) fn is_key_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

/// What tokens in headers, and base64, are made of.
pub(super) fn is_token_byte(b: u8) -> bool {
    is_key_byte(b) || matches!(b, b'.' | b'~' | b'+' | b'/' | b'=')
}

fn is_no_url_char(c: char) -> bool {
    c.is_ascii_whitespace() || c.is_ascii_control() || matches!(c, '"' | '<' | '>' | '`')
}
