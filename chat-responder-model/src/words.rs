//! Another program's words made fit to show: without secrets, and bounded. In that order, so that no cut hides a secret.

use std::{borrow::Cow, sync::Arc};

use chat_core::Redactor;
use data_encoding::BASE64;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use serde_json::{Map, Value};

use crate::{Secret, sse::MAX_STRAY_BYTES, tool_calls::MAX_NAME_BYTES};

/// A shorter piece of a secret at the end of a text gives too little away to matter.
const MIN_PIECE_BYTES: usize = 4;

/// Knows the secrets that a server was sent, and takes them out of what it says.
#[derive(Clone, Default)]
pub(crate) struct Words {
    redactor: Redactor,
    secrets: Vec<Secret>,
}

impl Words {
    /// Takes this out of every text from now on.
    pub(crate) fn hide(&mut self, secret: Secret) {
        if self.secrets.contains(&secret) {
            return;
        }
        self.redactor = std::mem::take(&mut self.redactor).with_secret(secret.expose());
        self.secrets.push(secret);
    }

    /// Takes out what a header's value is made of: of a scheme and its credential (`Bearer ...`), of cookies and of named values, a
    /// server may repeat each by itself, and of a login the words it stands for.
    pub(crate) fn hide_value(&mut self, value: &str) {
        let named = value.split([',', ';']).flat_map(str::split_whitespace);
        let pieces = std::iter::once(value)
            .chain(value.split_whitespace())
            .chain(named);
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            self.hide(piece.into());
            let named = piece
                .split_once('=')
                .map(|(_, value)| value.trim_matches('"'));
            // What base64 ends with is no value.
            if let Some(value) = named.filter(|value| !matches!(*value, "" | "=")) {
                self.hide(value.into());
            }
            let login = BASE64.decode(piece.as_bytes()).ok();
            let login = login.and_then(|login| String::from_utf8(login).ok());
            if let Some((_, password)) = login.as_deref().and_then(|login| login.split_once(':'))
                && !password.is_empty()
            {
                self.hide(password.into());
            }
        }
    }

    /// What of a URL may be a secret: in the form in which the URL has it, in the form in which it is meant, and in the one in which it is
    /// sent.
    pub(crate) fn hide_parts(&mut self, base: &Url) {
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (user, password) = (base.username(), base.password().unwrap_or_default());
        // A user without a password is a token.
        for text in [password, if password.is_empty() { user } else { "" }] {
            for form in [text.to_owned(), decoded(text)] {
                if !form.is_empty() {
                    self.hide(form.as_str().into());
                }
            }
        }
        if !(user.is_empty() && password.is_empty()) {
            let login = format!("{}:{}", decoded(user), decoded(password));
            self.hide(BASE64.encode(login.as_bytes()).as_str().into());
        }
        let raw = base.query().unwrap_or_default().split('&');
        for (raw, (name, value)) in raw.filter(|pair| !pair.is_empty()).zip(base.query_pairs()) {
            // Servers name the version when they refuse it. All else may be a key.
            if name == "api-version" {
                continue;
            }
            // What has no value may be a key by itself.
            let (raw, value) = match raw.split_once('=') {
                Some((_, raw)) => (raw, value),
                None => (raw, name),
            };
            for form in [raw, value.as_ref()] {
                if !form.is_empty() {
                    self.hide(form.into());
                }
            }
        }
    }

    /// Takes out of a server's words what these options hold under a credential's name: some take a key there.
    pub(crate) fn hide_options(&mut self, options: &Map<String, Value>) {
        let redactor = Redactor::default();
        let mut waiting: Vec<(bool, &Value)> = named(&redactor, options, false).collect();
        while let Some((is_secret, value)) = waiting.pop() {
            match value {
                Value::String(text) if is_secret => self.hide(text.as_str().into()),
                Value::Array(items) => waiting.extend(items.iter().map(|item| (is_secret, item))),
                Value::Object(fields) => waiting.extend(named(&redactor, fields, is_secret)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }

    /// The text without what the server was sent; nothing else is taken out.
    pub(crate) fn without_secrets<'t>(&self, text: &'t str) -> Cow<'t, str> {
        // One as long as this was cut, perhaps within a secret, and perhaps before a character that has no room.
        let text = if text.len() > MAX_NAME_BYTES - char::MAX_LEN_UTF8 {
            self.without_cut_secret(text)
        } else {
            text
        };
        let holds = |secret: &Secret| text.contains(secret.expose());
        // A name is a key as a whole, or holds none.
        if self.secrets.iter().any(holds) {
            self.redactor.text(text)
        } else {
            Cow::Borrowed(text)
        }
    }

    /// The text without secrets, at most `limit` bytes of it.
    pub(crate) fn shown(&self, text: &str, limit: usize) -> Arc<str> {
        // Redaction costs time, and no more than this is ever shown.
        let text = &text[..text.floor_char_boundary(MAX_STRAY_BYTES)];
        let text = self.redactor.text(self.without_cut_secret(text));
        if text.len() <= limit {
            return text.into();
        }
        format!(
            "{}…",
            &text[..text.floor_char_boundary(limit.saturating_sub("…".len()))]
        )
        .into()
    }

    /// A body that broke off may end within a secret: what is there of it goes as well.
    fn without_cut_secret<'t>(&self, text: &'t str) -> &'t str {
        let cut = |secret: &Secret| {
            let secret = secret.expose();
            let starts = secret.char_indices().map(|(at, _)| &secret[..at]);
            starts
                .filter(|start| start.len() >= MIN_PIECE_BYTES && text.ends_with(start))
                .map(str::len)
                .max()
        };
        let longest = self.secrets.iter().filter_map(cut).max().unwrap_or(0);
        &text[..text.len() - longest]
    }
}

/// The values of an object, and whether each stands under a credential's name.
fn named<'v>(
    redactor: &Redactor,
    fields: &'v Map<String, Value>,
    is_secret: bool,
) -> impl Iterator<Item = (bool, &'v Value)> {
    fields
        .iter()
        .map(move |(name, value)| (is_secret || redactor.hides_field(fields, name), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(secrets: &[&str]) -> Words {
        let mut words = Words::default();
        for secret in secrets {
            words.hide((*secret).into());
        }
        words
    }

    #[test]
    fn m6_secrets_are_taken_out_whole_escaped_or_cut() {
        let words = words(&["canary\"key", "x"]);
        for text in [
            "no canary\"key.",
            r#"{"said":"canary\"key"}"#,
            "canary\"ke",
            "it ends with cana",
        ] {
            let shown = words.shown(text, 1000);
            assert!(!shown.contains("cana"), "{text} became {shown}");
        }
        assert_eq!(&*words.shown("x marks the can", 1000), "x marks the can");
    }

    #[test]
    fn words_are_bounded_on_a_character_after_the_secrets_are_out() {
        let words = words(&["canary-key"]);
        for before in 0..40 {
            let shown = words.shown(&format!("{}canary-key and more", "é".repeat(before)), 20);
            assert!(shown.len() <= 20 && !shown.contains("cana"), "{shown}");
        }
    }
}
