//! Redaction: the one module that takes credentials out of what is recorded or shown (laws J3 and P1).
//!
//! A credential is told by the name it stands under ([`name`]), by its own form ([`form`]) or place ([`login`]), or because the
//! host said what it is ([`known`]). Where a text leaves it open, it is taken out: a hidden word costs less than a shown key.
//! Ids may be shown, those of sessions as well. This module refuses to guess at anything else, such as names of people or
//! addresses, and at what one-letter options of commands mean (`-p`).

mod code;
mod complaint;
mod embedded;
mod form;
mod json;
mod known;
mod login;
mod name;
mod scan;
mod sign;
#[cfg(test)]
mod tests;
mod value;

use std::{borrow::Cow, fmt, ops::Range};

use known::Known;

/// What stands where a credential was.
const MARK: &str = "[redacted]";

/// Takes credentials out of texts and JSON, and leaves `[redacted]` in their place. Redacting twice gives what redacting once
/// gave; the time it takes grows with the text, whatever the text is.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Known,
}

/// How often a text is looked through at most.
const MAX_PASSES: usize = 3;

impl Redactor {
    /// Also takes out this very value, wherever it stands: as it is, escaped in JSON or in JSON within JSON, percent-encoded as in
    /// URLs, and in base64, where the word of base64 that holds it goes as a whole (`Basic` with a user and this password). A
    /// value shorter than 6 bytes is not looked for, since it could be part of any word; space around it does not count.
    ///
    /// ```
    /// use chat_core::Redactor;
    /// let redactor = Redactor::default().with_secret("p@ss word");
    /// assert_eq!(redactor.text("said p@ss word, /?x=p%40ss+word, dTpwQHNzIHdvcmQ="), "said [redacted], /?x=[redacted], [redacted]");
    /// ```
    #[must_use]
    pub fn with_secret(mut self, secret: impl AsRef<str>) -> Self {
        self.known.add(secret.as_ref());
        self
    }

    /// The text without credentials: an error message, headers, a query, JSON as text.
    ///
    /// ```
    /// use chat_core::Redactor;
    /// let redactor = Redactor::default().with_secret("hunter2!");
    /// assert_eq!(redactor.text("login hunter2!: x-api-key: abc"), "login [redacted]: x-api-key: [redacted]");
    /// assert_eq!(redactor.text("max_tokens: 100"), "max_tokens: 100");
    /// ```
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = self.once(text);
        // What was taken out can make JSON of what was none before.
        for _ in 1..MAX_PASSES {
            let Cow::Owned(before) = &clean else { break };
            match self.once(before) {
                Cow::Borrowed(_) => break,
                Cow::Owned(after) => clean = Cow::Owned(after),
            }
        }
        clean
    }

    fn once<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = chain(without(text, &self.known.find(text)), |text| {
            self.scanned(text)
        });
        // Written plainly only where that shows what is to be taken out.
        chain(found, |text| {
            let Some(plain) = embedded::plain(text) else {
                return Cow::Borrowed(text);
            };
            match self.scanned(&plain) {
                Cow::Borrowed(_) => Cow::Borrowed(text),
                Cow::Owned(clean) => Cow::Owned(clean),
            }
        })
    }

    /// The text without credentials that are told by name or form, in it or in the JSON in it.
    fn scanned<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let scan = |text: &'a str| without(text, &scan::credentials(text));
        let before = embedded::objects(self, text);
        let clean = scan(text);
        let Some(json) = before.clean else {
            return clean;
        };
        // What a look at the text alone takes out leaves the rest as it was written. It has to be as much.
        let after = embedded::objects(self, &clean);
        if after.clean.is_none() && after.count == before.count {
            return clean;
        }
        Cow::Owned(without(&json, &scan::credentials(&json)).into_owned())
    }

    /// The length in bytes of the longest text that is looked for because of [`Redactor::with_secret`]: 0 without secrets.
    ///
    /// Who shows a part of a text must redact more than that part: a secret that is cut is not known any more. What reaches
    /// this far in front of a cut can be the beginning of one.
    #[must_use]
    pub fn longest_secret(&self) -> usize {
        self.known.longest()
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("secrets", &self.known.len())
            .finish()
    }
}

/// What comes of a text and then of what came of it.
fn chain<'a>(text: Cow<'a, str>, then: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => then(text),
        Cow::Owned(text) => match then(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(clean) => Cow::Owned(clean),
        },
    }
}

/// The text with a mark in the place of each range; they are in order and don't overlap.
fn without<'a>(text: &'a str, ranges: &[Range<usize>]) -> Cow<'a, str> {
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        clean.push_str(&text[from..range.start]);
        clean.push_str(MARK);
        from = range.end;
    }
    clean.push_str(&text[from..]);
    Cow::Owned(clean)
}
