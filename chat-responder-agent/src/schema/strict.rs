//! The subset of JSON schema that servers take which hold a model to it, as OpenAI's do: every field is required, there are no
//! others, and of several shapes any may fit.
//!
//! A strict schema asks for no less than the one it is made of: what fits it can be read. Where closing an object would leave no
//! value that fits, the schema stays open, and a strict server says what it does not take.

use schemars::{
    Schema,
    transform::{RecursiveTransform, Transform, transform_subschemas},
};
use serde_json::{Map, Value, json};

use super::definitions;

/// What says more about an object than its own list of fields: it can't be closed by that list alone.
const OPEN_WORDS: [&str; 9] = [
    "$ref",
    "allOf",
    "anyOf",
    "dependentSchemas",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "unevaluatedProperties",
];

/// How many references one schema may have joined: types that refer to each other in a ring would never end.
const MAX_JOINED: usize = 256;

/// Makes a schema of an object strict.
pub(super) fn make_strict(schema: &mut Schema) {
    let mut reshape = Reshape {
        definitions: definitions(schema),
        joined: 0,
    };
    reshape.transform(schema);
    let mut open = false;
    RecursiveTransform(|schema: &mut Schema| open |= is_open(schema)).transform(schema);
    if !open {
        RecursiveTransform(close).transform(schema);
    }
}

/// Puts everything in the words that strict servers know, and changes no meaning that a reader of the type would see.
struct Reshape {
    definitions: Map<String, Value>,
    joined: usize,
}

impl Transform for Reshape {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(words) = schema.as_object_mut() {
            while words.contains_key("properties")
                && self.joined < MAX_JOINED
                && join_reference(words, &self.definitions)
            {
                self.joined += 1;
            }
            move_reference_in(words);
            // One of several shapes is any of them: the variant is told by reading it, which takes the first that fits.
            if !words.contains_key("anyOf")
                && let Some(shapes) = words.remove("oneOf")
            {
                words.insert("anyOf".into(), shapes);
            }
            // A field that has to be there has no default.
            words.remove("default");
        }
        transform_subschemas(self, schema);
    }
}

/// Takes what a reference leads to in the place of the reference, and says whether it did: an object with fields of its own and a
/// reference beside them, which a variant of a tagged enum is, has the fields of both.
pub(super) fn join_reference(
    words: &mut Map<String, Value>,
    definitions: &Map<String, Value>,
) -> bool {
    let target = words
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| reference.strip_prefix("#/$defs/"))
        .and_then(|name| definitions.get(name));
    let Some(Value::Object(target)) = target else {
        return false;
    };
    words.remove("$ref");
    for (word, value) in target {
        match (words.get_mut(word), value) {
            (Some(Value::Object(fields)), Value::Object(more)) if word == "properties" => {
                for (name, field) in more {
                    fields.entry(name).or_insert_with(|| field.clone());
                }
            }
            (Some(Value::Array(required)), Value::Array(more)) if word == "required" => {
                required.extend(more.iter().cloned());
            }
            (Some(_), _) => {}
            (None, value) => {
                words.insert(word.clone(), value.clone());
            }
        }
    }
    true
}

/// `{"$ref": .., "description": ..}`: strict servers want a reference to stand alone.
fn move_reference_in(words: &mut Map<String, Value>) {
    if words.len() > 1
        && !words.contains_key("anyOf")
        && !words.contains_key("properties")
        && let Some(reference) = words.remove("$ref")
    {
        words.insert("anyOf".into(), json!([{"$ref": reference}]));
    }
}

/// Whether an object has fields that its own list does not name, or can't be told to have.
fn is_open(schema: &Schema) -> bool {
    let has = |word: &&str| schema.get(*word).is_some();
    has(&"allOf") || (has(&"properties") && OPEN_WORDS.iter().any(has))
}

/// Requires all fields of an object and allows no others. What maps names to values has no list of fields, and stays a map.
fn close(schema: &mut Schema) {
    let Some(words) = schema.as_object_mut() else {
        return;
    };
    let is_object = match words.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => false,
    };
    let may_have_others = match words.get("additionalProperties") {
        None | Some(Value::Bool(false)) => false,
        Some(_) => true,
    };
    if !is_object || may_have_others {
        return;
    }
    let fields = words.entry("properties").or_insert_with(|| json!({}));
    let required: Vec<String> = match fields {
        Value::Object(fields) => fields.keys().cloned().collect(),
        _ => Vec::new(),
    };
    words.insert("required".into(), required.into());
    words.insert("additionalProperties".into(), false.into());
}
