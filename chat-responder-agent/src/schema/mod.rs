//! JSON schemas: of types, as servers take them; and made ready to judge values.

mod strict;

use std::sync::{Arc, OnceLock};

use chat_core::{OutputSchema, RecordedError};
use jsonschema::Validator;
use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform,
};
use serde_json::{Map, Value, json};

/// The formats of texts that JSON schema itself names and servers know. Others, such as schemars' `uint32`, are refused by some
/// servers and tell a model nothing that `type` and `minimum` don't.
const FORMATS: [&str; 9] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uuid",
];

/// The longest name of an output schema that servers take.
const MAX_NAME_CHARS: usize = 64;

/// How many of the places that don't fit are named.
const MAX_MISFITS: usize = 3;

/// How a value of a type stands in the JSON object that models write: they are asked for nothing but objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// It is the object.
    Whole,
    /// It is the object's field `value`, as texts and lists are.
    Inside,
    /// It is `null`, and the object is empty.
    Nothing,
}

impl Form {
    /// The value that an object holds.
    pub(crate) fn value(self, object: &Value) -> &Value {
        match self {
            Self::Whole => object,
            Self::Inside => &object["value"],
            Self::Nothing => &Value::Null,
        }
    }
}

// What a type that is no object is asked for in. No doc comment: models would read it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use")]
struct Inside<T> {
    value: T,
}

/// The schema of a tool's arguments of a type.
pub(crate) fn input_of<T: JsonSchema>() -> (Arc<Value>, Form) {
    let (schema, form) = object_of::<T>();
    (Arc::new(schema.to_value()), form)
}

/// The schema of an output of a type: a strict one, where that is possible.
pub(crate) fn output_of<T: JsonSchema>() -> (OutputSchema, Form) {
    let (mut schema, form) = object_of::<T>();
    strict::make_strict(&mut schema);
    let name = T::schema_name()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .take(MAX_NAME_CHARS)
        .collect::<String>();
    let schema = OutputSchema {
        name: name.into(),
        schema: Arc::new(schema.to_value()),
    };
    (schema, form)
}

/// The schema of an object which holds a value of a type.
fn object_of<T: JsonSchema>() -> (Schema, Form) {
    let schema = schema_of::<T>();
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => (schema, Form::Whole),
        Some("null") => (no_fields(), Form::Nothing),
        _ => {
            let mut schema = schema_of::<Inside<T>>();
            schema.remove("title");
            (schema, Form::Inside)
        }
    }
}

fn schema_of<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12()
        .for_deserialize()
        .with_transform(RecursiveTransform(drop_unknown_format));
    // Some servers refuse what they don't know, and all take the newest draft for granted.
    settings.meta_schema = None;
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    // A newtype is a reference to what it holds, which says no type at the root.
    let definitions = definitions(&schema);
    for _ in 0..definitions.len() {
        strict::join_reference(schema.ensure_object(), &definitions);
    }
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        // An object without fields: servers ask for the word all the same.
        let fields = schema.ensure_object().entry("properties");
        fields.or_insert_with(|| json!({}));
    }
    schema
}

fn no_fields() -> Schema {
    schemars::json_schema!({"type": "object", "properties": {}, "additionalProperties": false})
}

fn drop_unknown_format(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| !FORMATS.contains(&format)) {
        schema.remove("format");
    }
}

fn definitions(schema: &Schema) -> Map<String, Value> {
    match schema.get("$defs") {
        Some(Value::Object(definitions)) => definitions.clone(),
        _ => Map::new(),
    }
}

/// Why a value does not fit what was asked for. Both texts are bounded and without secrets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// What is wrong where, for the model to read: it names the value.
    pub(crate) told: Arc<str>,
    /// The same without any word of the value, which no journal may keep (law J3).
    pub(crate) masked: Arc<str>,
}

impl Misfit {
    pub(crate) fn new(told: &str, masked: &str) -> Self {
        Self {
            told: bounded(told),
            masked: bounded(masked),
        }
    }
}

/// A schema that judges values. It is made ready once, when first needed.
#[derive(Debug)]
pub(crate) struct Shape {
    schema: Arc<Value>,
    validator: OnceLock<Result<Validator, Arc<str>>>,
}

impl Shape {
    pub(crate) fn new(schema: Arc<Value>) -> Self {
        Self {
            schema,
            validator: OnceLock::new(),
        }
    }

    /// Whether the schema itself is sound; if not, why.
    pub(crate) fn compile(&self) -> Result<(), Arc<str>> {
        self.validator().map(drop)
    }

    /// Whether a value fits; if not, what is wrong where.
    pub(crate) fn validate(&self, value: &Value) -> Result<(), Misfit> {
        let validator = self
            .validator()
            .map_err(|reason| Misfit::new(&reason, &reason))?;
        if validator.is_valid(value) {
            return Ok(());
        }
        let (mut told, mut masked) = (Vec::new(), Vec::new());
        for error in validator.iter_errors(value).take(MAX_MISFITS) {
            told.push(match error.instance_path().as_str() {
                "" => error.to_string(),
                place => format!("at {place}: {error}"),
            });
            // The place in the schema: one in the value may be named by the value's own keys.
            masked.push(error.schema_path().to_string());
        }
        let masked = format!("it breaks the schema at {}", masked.join(", "));
        Err(Misfit::new(&told.join("; "), &masked))
    }

    fn validator(&self) -> Result<&Validator, Arc<str>> {
        self.validator
            .get_or_init(|| {
                jsonschema::validator_for(&self.schema).map_err(|error| bounded(&error.to_string()))
            })
            .as_ref()
            .map_err(Arc::clone)
    }
}

/// A text about what went wrong, bounded and without secrets, as a journal would keep it (law J3).
pub(crate) fn bounded(text: &str) -> Arc<str> {
    RecordedError::of(text, "", None).message
}

#[cfg(test)]
mod tests;
