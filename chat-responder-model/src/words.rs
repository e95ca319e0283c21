//! Another program's words made fit to show: without secrets, and bounded. In that order, so that no cut hides a secret.

use std::sync::Arc;

use chat_core::Redactor;

use crate::{Secret, sse::MAX_STRAY_BYTES};

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
        self.redactor = std::mem::take(&mut self.redactor).with_secret(secret.expose());
        self.secrets.push(secret);
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
