//! Whether what stands behind a credential's name is one.

use std::ops::Range;

use super::{Named, Proof, Scan};
use crate::redact::{
    MARK, code, complaint, form, name, sign,
    value::{self, Sign},
};

/// How much of a value tells whether it is a credential, in bytes.
const GLIMPSE: usize = 512;

impl Scan<'_> {
    /// Takes out what stands behind a name, or goes on where that is no credential.
    pub(super) fn value(&mut self, named: &Named) {
        let said = named.sign == Sign::Colon && named.spaced;
        if said && complaint::begins(&self.text[named.value..]) {
            return self.restart(named.value);
        }
        // What is no credential is told by how it begins: only what is taken out is looked through to its end, since only that is
        // never looked at again.
        let seen = &self.text[..self.text.floor_char_boundary(named.value + GLIMPSE)];
        let glimpse = value::value_at(seen, named.value, named.sign, named.line, named.quote);
        let text = &seen[glimpse.clone()];
        let nothing = text.is_empty() || value::is_nothing(text);
        let empty = !named.line && self.begins_name(glimpse.start);
        let name = named.sign == Sign::Comma && value::is_field_name(text);
        // A mark is as long as it is: what is left beside it must be odd.
        let any = |is: fn(&str) -> bool| text.split(MARK).any(is);
        let proven = match named.proof {
            Proof::None => true,
            Proof::Opaque => {
                any(|left| form::looks_opaque(left.as_bytes(), 6) || form::is_odd(left))
            }
            Proof::Odd => any(form::is_odd),
            Proof::Own(name) => text
                .split(MARK)
                .filter_map(|left| left.split(['"', '\'', '\\', ',']).next())
                .any(|left| name.holds(left) == Some(true)),
        };
        if text == MARK && glimpse.end < seen.len() {
            return self.go_on(glimpse.end);
        }
        if nothing || empty || name || !proven {
            return self.restart(named.value);
        }
        let value = value::value_at(self.text, named.value, named.sign, named.line, named.quote);
        let text = &self.text[value.clone()];
        let bare = value.start == named.value;
        if text == MARK {
            self.go_on(value.end);
        } else if (bare && code::is_expression(text) || code::is_placeholder(text))
            && self.credential(value.clone()).is_none()
        {
            match self.assigned(value.end) {
                Some(value) => self.redact(value),
                None => self.restart(value.end),
            }
        } else {
            self.redact(value);
        }
    }

    /// What a name is set to behind its type, or is where what it is set to is nothing: `: &str = "..."`, `|| "..."`, `or "..."`.
    fn assigned(&self, at: usize) -> Option<Range<usize>> {
        let rest = self.text[at..].trim_start_matches(' ');
        let value = ["= ", "|| ", "?? ", "or "]
            .iter()
            .find_map(|sign| rest.strip_prefix(sign))?;
        let start = self.text.len() - value.len();
        let quoted = value.starts_with(['"', '\'']);
        let value = value::value_at(self.text, start, Sign::Equals, false, None);
        (quoted && !value.is_empty() && self.text[value.clone()] != *MARK).then_some(value)
    }

    /// Whether another name stands where a value should: "wrong password: API key: ...".
    fn begins_name(&self, at: usize) -> bool {
        let letters = |at| {
            form::run_end(self.bytes, at, |b| {
                b.is_ascii_alphabetic() || matches!(b, b'_' | b'-')
            })
        };
        let named = |end: usize| {
            let sign = || sign::behind(self.bytes, end, None).map(|signed| signed.sign);
            name::names_credential(&self.text[at..end])
                && self.credential(at..end).is_none()
                && matches!(sign(), Some(Sign::Equals | Sign::Colon))
        };
        let one = letters(at);
        let two = match self.bytes[one..] {
            [b' ', ..] => letters(one + 1),
            _ => one,
        };
        // Two words that are a name only together: in "token: abc password: def" the first is a value.
        let second = self.text[one..two].trim_start();
        let two_words =
            second.ends_with(|c: char| c.is_ascii_alphabetic()) && !name::names_credential(second);
        named(one) || two_words && named(two)
    }
}
