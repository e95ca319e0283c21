//! Reads a text straight into what is shared: one copy, where serde's own way goes by a `String`. A journal of many turns is
//! made of little else.

use std::{fmt, sync::Arc};

use serde::{Deserializer, de};

/// A text, for `deserialize_with`.
pub(crate) fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    struct Text;
    impl de::Visitor<'_> for Text {
        type Value = Arc<str>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Arc<str>, E> {
            Ok(text.into())
        }
    }
    deserializer.deserialize_str(Text)
}
