//! Which names credentials stand under. Looks at names only, never at what stands under them.

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
}

/// Longer names are judged by their end.
const MAX_NAME_BYTES: usize = 96;

/// Words that say which form, copy or part of a credential a name means: they are looked behind.
const QUALIFIERS: [&str; 13] = [
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
    "env",
    "var",
];

/// What an access key, a signing key and their like are called before the word `key`.
const KEYS: [&str; 24] = [
    "api",
    "access",
    "secret",
    "private",
    "account",
    "signing",
    "encryption",
    "master",
    "subscription",
    "ssh",
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
    "host",
    "project",
    "integration",
    "service",
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
const COUNTED_TOKENS: [&str; 27] = [
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
    "cached",
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
    "page",
    "cancel",
    "cancellation",
    "continuation",
];

/// Names that are credentials however they are joined to the words before them, as in `dbpassword`.
const ENDINGS: [&str; 19] = [
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "sessiontoken",
    "bearertoken",
    "clientsecret",
    "connectionstring",
    "authorization",
];

/// Whether a credential stands under this name: `apiKey`, `X-Api-Key`, `OPENAI_API_KEY`, `client secret` ...
pub(super) fn names_credential(name: &str) -> bool {
    classify(name).is_some()
}

/// What kind of credential stands under a name, where one does. Any case, any separator.
pub(super) fn classify(name: &str) -> Option<Name> {
    let name = &name[name.ceil_char_boundary(name.len().saturating_sub(MAX_NAME_BYTES))..];
    let words = words(name);
    let mut words: Vec<&str> = words.split_whitespace().collect();
    if words.ends_with(&["connection", "string"]) || words.ends_with(&["conn", "string"]) {
        return Some(Name {
            doubt: Doubt::Never,
            line: true,
        });
    }
    while words.last().is_some_and(|last| QUALIFIERS.contains(last)) {
        words.pop();
    }
    let last = words.pop()?;
    let before = words.pop().unwrap_or_default();
    let secret = |line| {
        Some(Name {
            doubt: Doubt::Never,
            line,
        })
    };
    let doubtful = |doubt| Some(Name { doubt, line: false });
    match last {
        "password" | "passwords" | "passwd" | "passcode" | "pwd" | "secret" | "secrets"
        | "credential" | "credentials" | "apikey" | "apikeys" | "connstr" => secret(false),
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
        "pass"
            if matches!(
                before,
                "db" | "database"
                    | "user"
                    | "smtp"
                    | "mail"
                    | "mysql"
                    | "pg"
                    | "redis"
                    | "ftp"
                    | "admin"
                    | "root"
                    | "proxy"
            ) =>
        {
            secret(false)
        }
        "key" | "keys" if before == "private" => secret(true),
        "key" | "keys" if KEYS.contains(&before) => secret(false),
        other if ENDINGS.iter().any(|ending| other.ends_with(ending)) => {
            secret(other.ends_with("connectionstring") || other.ends_with("privatekey"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_credentials_are_known_by_name_in_any_case_and_separator() {
        for name in [
            "apiKey",
            "api_key",
            "API-KEY",
            "X-Api-Key",
            "x-goog-api-key",
            "OPENAI_API_KEY",
            "openaiapikey",
            "apikey",
            "authorization",
            "Proxy-Authorization",
            "password",
            "db.password",
            "DB_PASSWORD",
            "dbpassword",
            "newPassword2",
            "passwd",
            "pwd",
            "passphrase",
            "secret",
            "client_secret",
            "clientSecret",
            "clientsecret",
            "token",
            "access_token",
            "accessToken",
            "accesstoken",
            "refresh-token",
            "X-Amz-Security-Token",
            "GITHUB_TOKEN",
            "sessionToken",
            "oauth2Token",
            "cookie",
            "Set-Cookie",
            "cookies",
            "private_key",
            "privateKey",
            "PrivateKey",
            "ssh key",
            "AWS_SECRET_ACCESS_KEY",
            "secretAccessKey",
            "AccountKey",
            "Ocp-Apim-Subscription-Key",
            "connection string",
            "connectionString",
            "credentials",
            "secretValue",
            "password_confirmation",
            "passwordConfirm",
            "DB_PASS",
            "_auth",
            "npm_config__authToken",
            "jwt",
            "api_keys",
            "APIKey",
            "service_role_key",
        ] {
            assert!(names_credential(name), "{name}");
        }
    }

    #[test]
    fn p1_names_that_only_look_alike_are_no_credentials() {
        for name in [
            "",
            "max_tokens",
            "maxTokens",
            "max_token",
            "tokens",
            "total_tokens",
            "inputTokens",
            "tokenizer",
            "token_count",
            "tokenType",
            "token_limit",
            "eos_token",
            "eosToken",
            "next_page_token",
            "key",
            "keys",
            "public_key",
            "primaryKey",
            "foreign_key",
            "keyboard",
            "monkey",
            "secretary",
            "password_length",
            "passwordResetUrl",
            "secret_name",
            "author",
            "authority",
            "auth_url",
            "cookie_policy",
            "cookiecutter",
            "passed",
            "pass",
            "first_pass",
            "compass",
            "session_id",
            "turnId",
            "string",
            "value",
            "env",
            "hash",
            "commit",
        ] {
            assert!(!names_credential(name), "{name}");
        }
    }

    #[test]
    fn p1_a_long_name_is_judged_by_its_end() {
        assert!(names_credential(&format!("{}é.password", "é".repeat(1000))));
        assert!(!names_credential(&format!("password{}", "x".repeat(1000))));
    }
}
