//! Redaction of JSON: by the keys that values stand under, and by what is in its strings.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{MARK, Redactor, form, name, value};

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
        let Some(value) = fields.get(key) else {
            return false;
        };
        let listed = || {
            let mut names = LABELS
                .iter()
                .filter_map(|label| fields.get(*label)?.as_str());
            key.eq_ignore_ascii_case("value") && names.any(|name| holds_credential(name, value))
        };
        // What a property of that name must look like, and a token among its probabilities.
        let told = is_schema(value) || key == "token" && fields.contains_key("logprob");
        tells(value) && !told && (holds_credential(key, value) || listed())
    }

    /// Whether the item at this place of an array is a credential as a whole, as [`Redactor::hides_field`] says it of a field:
    /// the value of a header that is listed as `["x-api-key", "..."]`, and of an option of a command as in
    /// `["login", "--password", "..."]`. `false` for a place behind the end.
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
        let Some(([.., Value::String(name)], [held, ..])) = items.split_at_checked(place) else {
            return false;
        };
        let option = name.starts_with("--")
            && !name.contains(|c: char| c == '=' || c.is_whitespace())
            && !held.as_str().is_some_and(|held| held.starts_with('-'));
        // Not a list of two names.
        let pair = items.len() == 2
            && held
                .as_str()
                .is_some_and(|held| !value::is_field_name(held));
        (option || pair) && tells(held) && holds_credential(name, held)
    }

    /// Looks into a value, and as many levels deeper as there are left.
    pub(super) fn value(&self, value: &Value, levels: Option<usize>) -> Value {
        let Some(levels) = levels else {
            return MARK.into();
        };
        let deeper = levels.checked_sub(1);
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => match self.text(&number.to_string()) {
                Cow::Borrowed(_) => value.clone(),
                // A known secret of digits alone.
                Cow::Owned(clean) => clean.into(),
            },
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
        let json = text.trim_start().starts_with(['{', '[', '"']);
        let inner = if json {
            serde_json::from_str::<Value>(text).ok()
        } else {
            None
        };
        let Some(before) = inner else {
            return self.text(text).into_owned();
        };
        let after = self.value(&before, levels);
        if after != before {
            return self.text(&after.to_string()).into_owned();
        }
        // A string has been seen as a whole. So has all else that is no longer than what was seen of it: of a key that stands
        // twice only one is. It stays as it was written: numbers may lose digits on the way.
        if before.is_string() || before.to_string().len() == text.len() {
            return text.to_owned();
        }
        self.text(text).into_owned()
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

/// Whether a value is a JSON schema that holds no value itself, or a choice of such.
fn is_schema(value: &Value) -> bool {
    let Some(fields) = value.as_object() else {
        return false;
    };
    let choice = ["anyOf", "oneOf"]
        .into_iter()
        .find(|key| fields.contains_key(*key));
    match choice.map(|key| (key, &fields[key])) {
        Some((key, Value::Array(all))) => all.iter().all(is_one_schema) && describes(fields, key),
        Some(_) => false,
        None => is_one_schema(value),
    }
}

/// Whether a value says of which type another is, or where its schema stands, and no more than that.
fn is_one_schema(value: &Value) -> bool {
    let Some(fields) = value.as_object() else {
        return false;
    };
    let typed = fields.get("type").is_some_and(|kind| match kind {
        Value::Array(kinds) => kinds.iter().all(Value::is_string),
        kind => kind.is_string(),
    });
    let place = fields.get("$ref").and_then(Value::as_str);
    let placed = place.is_some_and(|place| place.starts_with('#'));
    (typed || placed) && describes(fields, if placed { "$ref" } else { "type" })
}

/// Whether all fields but one describe what stands elsewhere.
fn describes(fields: &Map<String, Value>, but: &str) -> bool {
    const WORDS: [&str; 10] = [
        "type",
        "description",
        "title",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "items",
        "nullable",
        "writeOnly",
    ];
    fields.iter().all(|(key, value)| {
        key == but || WORDS.contains(&key.as_str()) || key == "default" && value.is_null()
    })
}

/// Whether what stands under a name is a credential.
fn holds_credential(name: &str, value: &Value) -> bool {
    match name::classify(name) {
        Some(name) => match (name.holds(""), value) {
            (None, _) => true,
            (Some(_), Value::String(text)) => name.holds(text) == Some(true),
            (Some(_), _) => false,
        },
        None => name.eq_ignore_ascii_case("tokens") && are_tokens(value),
    }
}

/// Whether what is called tokens opens something; mostly it is words, or counted.
fn are_tokens(value: &Value) -> bool {
    let random = |item: &Value| {
        item.as_str()
            .is_some_and(|text| form::random(text.as_bytes()).is_some())
    };
    match value {
        Value::Object(fields) => ["access", "refresh", "id"]
            .iter()
            .any(|name| fields.get(*name).is_some_and(Value::is_string)),
        Value::Array(items) => items.iter().take(4).any(random),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
