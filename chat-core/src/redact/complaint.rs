//! What an error says behind a name: "private key: no such file or directory". No credential begins so.

/// Words with which errors say what is wrong. A credential that is one of them by itself gives nothing away.
const WORDS: [&str; 90] = [
    "access",
    "address",
    "already",
    "at",
    "bad",
    "cannot",
    "can't",
    "connection",
    "context",
    "could",
    "deadline",
    "decode",
    "denied",
    "dial",
    "does",
    "duplicate",
    "empty",
    "eof",
    "error",
    "exceeded",
    "exit",
    "expected",
    "expired",
    "failed",
    "failure",
    "field",
    "file",
    "forbidden",
    "handshake",
    "host",
    "i/o",
    "illegal",
    "incorrect",
    "input",
    "insufficient",
    "internal",
    "invalid",
    "io",
    "is",
    "it",
    "length",
    "lookup",
    "malformed",
    "method",
    "mismatch",
    "missing",
    "must",
    "network",
    "no",
    "not",
    "only",
    "open",
    "operation",
    "parse",
    "path",
    "permission",
    "please",
    "read",
    "refused",
    "remote",
    "request",
    "required",
    "resource",
    "response",
    "run",
    "see",
    "server",
    "service",
    "should",
    "signature",
    "ssl",
    "stat",
    "status",
    "syntax",
    "temporary",
    "the",
    "this",
    "timed",
    "timeout",
    "tls",
    "too",
    "unable",
    "unauthorized",
    "unexpected",
    "unknown",
    "unsupported",
    "use",
    "value",
    "was",
    "wrong",
];

/// Whether a text that stands behind a name and `: ` says what is wrong with it, or who was asked and refused.
pub(super) fn begins(text: &str) -> bool {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '\'' | '/')));
    let (word, behind) = text.split_at(end.unwrap_or(text.len()));
    // `can't`, and no word in quotes.
    let behind_word = behind.chars().next();
    let ends = behind_word
        .is_none_or(|c| c.is_whitespace() || matches!(c, ':' | ',' | '.' | ';' | '(' | ')'));
    if !ends || word.is_empty() {
        return false;
    }
    if WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)) {
        return true;
    }
    // `401 Unauthorized`
    let status = word.len() == 3 && word.bytes().all(|b| b.is_ascii_digit());
    let named = behind
        .strip_prefix(' ')
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
    status && named
}
