//! Which names credentials stand under.

use super::form;

/// What is known of a credential by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    /// Where what stands behind it must also look like a credential.
    pub(super) doubt: Doubt,
    /// Its value may have spaces in it: it reaches to the end of the line.
    pub(super) line: bool,
}

/// When a name alone does not make a credential of what stands behind it in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Never.
    Never,
    /// In the middle of a sentence, where the word is an everyday one: "unexpected token: end".
    InProse,
    /// Always: it is what an error is called, `invalid_token`.
    Always,
    /// Also in JSON: a session has a name or a title as often as it is one that a cookie opens.
    Session,
    /// Also in JSON: a wallet's words, and not the name of an instruction.
    Phrase,
}

impl Name {
    /// Whether this text is a credential, for a name that does not say so by itself; `None` for a name that does.
    pub(super) fn holds(self, value: &str) -> Option<bool> {
        match self.doubt {
            Doubt::Session => Some(form::is_session(value)),
            Doubt::Phrase => Some(value.split_whitespace().count() >= WORDS_OF_A_PHRASE),
            Doubt::Never | Doubt::InProse | Doubt::Always => None,
        }
    }
}

/// The shortest phrase that stands for a key (BIP 39).
const WORDS_OF_A_PHRASE: usize = 12;

/// Longer names are judged by their end.
const MAX_NAME_BYTES: usize = 96;

/// Words that say which form, copy or part of a credential a name means: they are looked behind.
const QUALIFIERS: [&str; 25] = [
    "value",
    "string",
    "text",
    "header",
    "raw",
    "plain",
    "base64",
    "b64",
    "confirm",
    "confirmation",
    "repeat",
    // Which of several it is.
    "prod",
    "production",
    "staging",
    "dev",
    "live",
    "old",
    "new",
    "backup",
    "primary",
    "secondary",
    "data",
    "base",
    "env",
    "var",
];

/// What an access key, a signing key and their like are called before the word `key`.
const KEYS: [&str; 47] = [
    "api",
    "access",
    "secret",
    "private",
    "account",
    "signing",
    "encryption",
    "decryption",
    "master",
    "subscription",
    "ssh",
    "tls",
    "ssl",
    "shared",
    "license",
    "role",
    "auth",
    "session",
    "admin",
    "deploy",
    "storage",
    "webhook",
    "client",
    "server",
    "host",
    "project",
    "integration",
    "service",
    "function",
    "functions",
    "app",
    "application",
    "consumer",
    "write",
    "instrumentation",
    "vault",
    "jwt",
    "hmac",
    "openai",
    "anthropic",
    "gemini",
    "google",
    "azure",
    "aws",
    "github",
    "stripe",
    "rapidapi",
];

/// What tokens are called where they are credentials, also in prose.
const TOKENS: [&str; 12] = [
    "access",
    "api",
    "auth",
    "authentication",
    "bearer",
    "bot",
    "id",
    "identity",
    "refresh",
    "secret",
    "security",
    "session",
];

/// Tokens that are counted, or mark a place in a text or a list: no credentials.
const COUNTED_TOKENS: [&str; 40] = [
    "max",
    "min",
    "num",
    "per",
    "total",
    "input",
    "output",
    "prompt",
    "completion",
    "reasoning",
    "thinking",
    "cached",
    "image",
    "audio",
    "text",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "stop",
    "special",
    "start",
    "end",
    "next",
    "first",
    "last",
    "previous",
    "prev",
    "current",
    "peek",
    "lookahead",
    "page",
    "cancel",
    "cancellation",
    "continuation",
    "sync",
    "resume",
];

/// Names that are credentials however they are joined to the words before them, as in `dbpassword`.
const ENDINGS: [&str; 27] = [
    "password",
    "passwd",
    "passphrase",
    "seedphrase",
    "recoveryphrase",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "masterkey",
    "authkey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "sessiontoken",
    "bearertoken",
    "apitoken",
    "bottoken",
    "csrftoken",
    "secret",
    "sessioncookie",
    "connectionstring",
    "authorization",
];

/// What codes are called that open something.
const CODES: [&str; 8] = [
    "auth",
    "authorization",
    "recovery",
    "backup",
    "verification",
    "otp",
    "mfa",
    "2fa",
];

/// What a `pass` is called that is a password.
const PASSES: [&str; 18] = [
    "db", "database", "user", "smtp", "imap", "mail", "email", "mysql", "pg", "postgres", "mongo",
    "redis", "ldap", "ftp", "admin", "root", "proxy", "keystore",
];

/// Whose numbers a `pin` is that is a password, and no leg of a chip.
const PINS: [&str; 6] = ["card", "user", "sim", "security", "login", "account"];

/// Whether a credential stands under this name, whatever it is: `apiKey`, `X-Api-Key`, `OPENAI_API_KEY`, `client secret` ...
pub(super) fn names_credential(name: &str) -> bool {
    classify(name).is_some_and(|name| !matches!(name.doubt, Doubt::Session | Doubt::Phrase))
}

/// What kind of credential stands under a name, where one does. Any case, any separator.
pub(super) fn classify(name: &str) -> Option<Name> {
    let name = &name[name.ceil_char_boundary(name.len().saturating_sub(MAX_NAME_BYTES))..];
    let words = words(name);
    let mut words = words.split_ascii_whitespace().rev();
    let mut ends = words.clone();
    if ends.next() == Some("string") && matches!(ends.next(), Some("connection" | "conn")) {
        return Some(Name {
            doubt: Doubt::Never,
            line: true,
        });
    }
    let last = words.find(|word| !QUALIFIERS.contains(word))?;
    let before = words.next().unwrap_or_default();
    let secret = |line| {
        Some(Name {
            doubt: Doubt::Never,
            line,
        })
    };
    let doubtful = |doubt| Some(Name { doubt, line: false });
    match last {
        "password" | "passwords" | "passwd" | "passcode" | "pwd" | "secret" | "secrets"
        | "credential" | "credentials" | "creds" | "apikey" | "apikeys" | "connstr" | "otp"
        | "totp" | "psk" | "dsn" | "phpsessid" | "jsessionid" | "sessid" => secret(false),
        "session" => doubtful(Doubt::Session),
        "sid" if before == "connect" => secret(false),
        // The cookie that ASP.NET gives out; a `session_id` of anyone else may be shown.
        "id" if before == "session" && words.next() == Some("net") => secret(false),
        "mnemonic" => Some(Name {
            doubt: Doubt::Phrase,
            line: true,
        }),
        "phrase"
            if matches!(
                before,
                "seed" | "recovery" | "mnemonic" | "secret" | "backup"
            ) =>
        {
            secret(true)
        }
        "code" | "codes" if CODES.contains(&before) => secret(false),
        "pin" if PINS.contains(&before) => secret(false),
        "pass" if PASSES.contains(&before) => secret(false),
        "assertion" if matches!(before, "client" | "saml") => secret(false),
        "verifier" if before == "code" => secret(false),
        "sas" => secret(false),
        "signature" if before == "access" => secret(false),
        "authorization" | "cookie" | "cookies" | "passphrase" | "passphrases" => secret(true),
        "token" if COUNTED_TOKENS.contains(&before) => None,
        "token"
            if matches!(
                before,
                "invalid" | "unexpected" | "missing" | "expired" | "unknown" | "bad" | "no"
            ) =>
        {
            doubtful(Doubt::Always)
        }
        "token" | "auth" | "bearer" | "jwt"
            if before.is_empty() || name.contains(' ') && !TOKENS.contains(&before) =>
        {
            doubtful(Doubt::InProse)
        }
        "token" | "auth" | "bearer" | "jwt" => secret(false),
        "key" | "keys" if before == "private" => secret(true),
        "key" | "keys" if KEYS.contains(&before) => secret(false),
        other if ENDINGS.iter().any(|ending| other.ends_with(ending)) => {
            let line = ["connectionstring", "privatekey", "phrase"];
            secret(line.iter().any(|ending| other.ends_with(ending)))
        }
        _ => None,
    }
}

/// The words of a name in lower case, each behind a space: `X-Api-Key`, `apiKey2` and `APIKey` all end in `api key`.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    let (mut before, mut chars) = (
        ' ',
        name.trim_end_matches(|c: char| c.is_ascii_digit())
            .chars()
            .peekable(),
    );
    while let Some(c) = chars.next() {
        let starts_word = c.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || before.is_ascii_uppercase()
                    && chars.peek().is_some_and(char::is_ascii_lowercase));
        if starts_word {
            words.push(' ');
        }
        words.push(if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            ' '
        });
        before = c;
    }
    words
}
