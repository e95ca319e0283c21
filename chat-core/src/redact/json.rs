//! Redaction of JSON: by the keys that values stand under, and by what is in its strings.

use serde_json::{Map, Value};

use super::{MARK, Redactor, name, value};

/// How deep JSON is looked into; what lies deeper is taken out whole.
pub(super) const MAX_DEPTH: usize = 128;

/// What the name of a header or a variable stands under where it is listed: `{"name": "x-api-key", "value": "..."}`.
const LABELS: [&str; 6] = ["name", "Name", "key", "Key", "header", "variable"];

impl Redactor {
    /// The value without credentials: what stands under a credential's name at any depth, and what [`Redactor::text`] finds in
    /// its strings, JSON inside a string included.
    ///
    /// ```
    /// use chat_core::Redactor;
    /// use serde_json::json;
    /// let value = json!({"path": "/", "headers": {"X-Api-Key": "abc"}, "body": "{\"token\":\"abc\"}"});
    /// assert_eq!(
    ///     Redactor::default().json(&value),
    ///     json!({"path": "/", "headers": {"X-Api-Key": "[redacted]"}, "body": "{\"token\":\"[redacted]\"}"}),
    /// );
    /// ```
    #[must_use]
    pub fn json(&self, value: &Value) -> Value {
        self.value(value, Some(MAX_DEPTH))
    }

    /// Whether what stands under this key is a credential as a whole, whatever is in it, and must not be shown: for who walks
    /// JSON on their own. Where it is not, it may still have credentials in it. `false` also for what gives nothing away
    /// (`null`, a yes or a no, an empty text), and for a key that isn't there.
    ///
    /// ```
    /// use chat_core::Redactor;
    /// use serde_json::{Map, json};
    /// let redactor = Redactor::default();
    /// let fields = Map::from_iter([("apiKey".into(), json!({"v1": "abc"})), ("max_tokens".into(), json!(5))]);
    /// assert!(redactor.hides_field(&fields, "apiKey"));
    /// assert!(!redactor.hides_field(&fields, "max_tokens"));
    /// ```
    #[must_use]
    pub fn hides_field(&self, fields: &Map<String, Value>, key: &str) -> bool {
        if !fields.get(key).is_some_and(tells) {
            return false;
        }
        let listed = || {
            let names = LABELS
                .iter()
                .filter_map(|label| fields.get(*label)?.as_str());
            key.eq_ignore_ascii_case("value")
                && names.map(name::names_credential).any(|named| named)
        };
        name::names_credential(key) || listed()
    }

    /// Whether the item at this place of an array is a credential as a whole, as [`Redactor::hides_field`] says it of a field:
    /// the value of a header that is listed as `["x-api-key", "..."]`. `false` for a place behind the end.
    ///
    /// ```
    /// use chat_core::Redactor;
    /// use serde_json::json;
    /// let redactor = Redactor::default();
    /// assert!(redactor.hides_item(&[json!("x-api-key"), json!("abc-1")], 1));
    /// assert!(!redactor.hides_item(&[json!("password"), json!("user_name")], 1));
    /// ```
    #[must_use]
    pub fn hides_item(&self, items: &[Value], place: usize) -> bool {
        match (items, place) {
            // Not a list of two names.
            ([Value::String(name), Value::String(held)], 1) => {
                name::names_credential(name) && !value::is_field_name(held)
            }
            _ => false,
        }
    }

    /// Looks into a value, and as many levels deeper as there are left.
    fn value(&self, value: &Value, levels: Option<usize>) -> Value {
        let Some(levels) = levels else {
            return MARK.into();
        };
        let deeper = levels.checked_sub(1);
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => self.string(text, deeper).into(),
            Value::Array(items) => {
                let items = items.iter().enumerate().map(|(place, item)| {
                    if self.hides_item(items, place) {
                        MARK.into()
                    } else {
                        self.value(item, deeper)
                    }
                });
                items.collect()
            }
            Value::Object(fields) => {
                let clean = fields.iter().map(|(key, value)| {
                    let value = if self.hides_field(fields, key) {
                        MARK.into()
                    } else {
                        self.value(value, deeper)
                    };
                    (self.text(key).into_owned(), value)
                });
                Value::Object(clean.collect())
            }
        }
    }

    fn string(&self, text: &str, levels: Option<usize>) -> String {
        let json = text.trim_start().starts_with(['{', '[']);
        let inner = if json {
            serde_json::from_str::<Value>(text).ok()
        } else {
            None
        };
        // Written anew only where something was taken out: numbers may lose digits on the way.
        let clean = inner.and_then(|before| {
            let after = self.value(&before, levels);
            (after != before).then(|| after.to_string())
        });
        self.text(clean.as_deref().unwrap_or(text)).into_owned()
    }
}

/// Whether a value can be a credential. Nothing, a yes or a no and an empty text give nothing away.
fn tells(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
    }
}
