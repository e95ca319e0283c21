//! Makes JSON of what servers write for it: numbers that it does not have, halves of characters, line breaks within texts. Asked
//! only about what is no JSON as it stands, and so costs an ordinary answer nothing.

/// What stands for half a character.
const REPLACEMENT: &str = "\\ufffd";

/// The text with what is known to be wrong in it made right; `None` where there is nothing of that.
pub(crate) fn mended(text: &str) -> Option<String> {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_text = false;
    while let Some(first) = rest.chars().next() {
        let (taken, written) = if in_text {
            within_text(rest, first)
        } else {
            between_texts(rest, first)
        };
        // An escape is taken whole, so a quotation mark alone begins or ends a text.
        in_text ^= first == '"';
        mended.push_str(written.as_deref().unwrap_or(&rest[..taken]));
        rest = &rest[taken..];
    }
    (mended != text).then_some(mended)
}

/// How many bytes to take, and what to write instead of them where that is not the same.
type Taken = (usize, Option<String>);

fn within_text(rest: &str, first: char) -> Taken {
    match first {
        '\\' => match code_unit(rest) {
            Some(0xd800..0xdc00) if matches!(code_unit(&rest[6..]), Some(0xdc00..0xe000)) => {
                (12, None)
            }
            Some(0xd800..0xe000) => (6, Some(REPLACEMENT.to_owned())),
            Some(_) => (6, None),
            None => (1 + rest[1..].chars().next().map_or(0, char::len_utf8), None),
        },
        '\0'..' ' => (1, Some(format!("\\u{:04x}", u32::from(first)))),
        _ => (first.len_utf8(), None),
    }
}

fn between_texts(rest: &str, first: char) -> Taken {
    let number = ["NaN", "Infinity", "-Infinity"]
        .into_iter()
        .find(|number| rest.starts_with(number));
    if let Some(number) = number {
        return (number.len(), Some("null".to_owned()));
    }
    // One number beyond all range is read as a whole, and is null as well.
    let is_part = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
    let digits = rest.bytes().take_while(|b| is_part(b)).count();
    match rest[..digits].parse::<f64>() {
        Ok(number) if number.is_infinite() => (digits, Some("null".to_owned())),
        // What is none is passed over as a whole, too: it is looked at once.
        Ok(_) | Err(_) => (digits.max(first.len_utf8()), None),
    }
}

/// The code unit of an escape at the start of the text.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mended = mended(text).unwrap();
        assert_eq!(mended, expected);
        serde_json::from_str::<Value>(&mended).unwrap();
    }

    #[test]
    fn m2_numbers_that_json_does_not_have_are_null() {
        check(
            r#"{"a":NaN,"b":[Infinity,-Infinity],"c":"NaN"}"#,
            r#"{"a":null,"b":[null,null],"c":"NaN"}"#,
        );
        check(
            r#"{"a":1e999,"b":[-2.5E+400,1.5e3],"c":"1e999"}"#,
            r#"{"a":null,"b":[null,1.5e3],"c":"1e999"}"#,
        );
    }

    #[test]
    fn m5_what_is_no_number_is_looked_at_once() {
        // Were each place within it looked at anew, this would take hours.
        for junk in ["e", "-", "1e", "9."] {
            assert_eq!(mended(&junk.repeat(4 * 1024 * 1024)), None);
        }
    }

    #[test]
    fn m2_halves_of_characters_are_replaced() {
        check(r#""\ud83d""#, r#""\ufffd""#);
        check(
            r#""\ude00\ud83d\ude00\ud83d\ud83d\ude00""#,
            r#""\ufffd\ud83d\ude00\ufffd\ud83d\ude00""#,
        );
        check(r#""\\ud83d \ud83d""#, r#""\\ud83d \ufffd""#);
    }

    #[test]
    fn m2_control_characters_in_texts_are_escaped() {
        check("\"a\tb\"", r#""a\u0009b""#);
        check("{\n\"a\n\": 1}", "{\n\"a\\u000a\": 1}");
    }

    proptest! {
        #[test]
        fn what_is_json_stays_as_it_is(text in r#"[a-z\\\\"é\u{1f600}\n\u{1}]{0,12}"#, number in any::<i32>()) {
            let json = serde_json::json!({ &text: [text, number, null] }).to_string();
            prop_assert_eq!(mended(&json), None);
        }

        #[test]
        fn no_text_makes_it_panic(text in r#"[\\\\u0-9a-f"dé\u{1f600}NI-]{0,30}"#) {
            let _ = mended(&text);
        }
    }
}
