//! Tells where JSON text that comes in pieces ends, and reads no more of it than its braces: each piece is looked at once, however
//! often one asks.

/// How far a JSON object or list has come.
#[derive(Debug, Default)]
pub(crate) struct JsonEnd {
    open: u64,
    in_text: bool,
    escaped: bool,
    has_begun: bool,
}

impl JsonEnd {
    /// Reads on.
    pub(crate) fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => {
                    self.open += 1;
                    self.has_begun = true;
                }
                b'}' | b']' => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether all that was opened is closed: whatever follows does not belong to it.
    pub(crate) fn is_whole(&self) -> bool {
        self.has_begun && self.open == 0 && !self.in_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_however_the_text_is_cut() {
        for (text, expected) in [
            ("", false),
            ("{", false),
            ("{}", true),
            (r#"{"a":[1,{"b":"}"}]}"#, true),
            (r#"{"a":[1,{"b":"}"}"#, false),
            (r#"{"a":"\"}"#, false),
            (r#"{"a":"\\"}"#, true),
            ("1", false),
            ("{}{", false),
        ] {
            let mut whole = JsonEnd::default();
            whole.read(text);
            let mut bytewise = JsonEnd::default();
            text.chars()
                .for_each(|c| bytewise.read(c.encode_utf8(&mut [0; 4])));
            assert_eq!(
                (whole.is_whole(), bytewise.is_whole()),
                (expected, expected),
                "{text}"
            );
        }
    }
}
