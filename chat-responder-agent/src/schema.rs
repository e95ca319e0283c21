//! JSON schemas: of types, as servers take them; and made ready to judge values.

use std::sync::{Arc, OnceLock};

use chat_core::OutputSchema;
use schemars::JsonSchema;
use serde_json::Value;

/// A schema that judges values. It is made ready once, when first needed.
#[derive(Debug)]
pub(crate) struct Shape {
    schema: Arc<Value>,
    validator: OnceLock<Result<jsonschema::Validator, String>>,
}

impl Shape {
    pub(crate) fn new(schema: Arc<Value>) -> Self {
        Self {
            schema,
            validator: OnceLock::new(),
        }
    }

    pub(crate) fn compile(&self) -> Result<(), String> {
        self.validator().map(drop).map_err(Clone::clone)
    }

    pub(crate) fn validate(&self, value: &Value) -> Result<(), String> {
        let validator = self.validator().map_err(Clone::clone)?;
        validator.validate(value).map_err(|error| error.to_string())
    }

    fn validator(&self) -> Result<&jsonschema::Validator, &String> {
        self.validator
            .get_or_init(|| {
                jsonschema::validator_for(&self.schema).map_err(|error| error.to_string())
            })
            .as_ref()
    }
}

/// The schema of an output of a type, and whether the value is asked for inside of an object.
pub(crate) fn output_of<T: JsonSchema>() -> (OutputSchema, bool) {
    todo!()
}

/// The schema of a tool's arguments of a type.
pub(crate) fn input_of<T: JsonSchema>() -> Arc<Value> {
    todo!()
}
