//! What the schemas of types come to, and how values are read by them.

#![expect(dead_code, reason = "the types are read for their schemas")]

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(JsonSchema, Deserialize)]
struct Point {
    /// To the right.
    x: u32,
    label: Option<String>,
    #[serde(default)]
    weight: i64,
}

#[derive(JsonSchema, Deserialize)]
struct Line {
    /// Where it begins.
    from: Point,
    to: Option<Point>,
}

#[derive(JsonSchema, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Shaped {
    Dot { at: u8 },
    Line(Point),
}

#[derive(JsonSchema, Deserialize)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[derive(JsonSchema, Deserialize)]
struct Flat {
    id: u8,
    #[serde(flatten)]
    shape: Shaped,
}

#[derive(JsonSchema, Deserialize)]
struct Newtype(Point);

#[derive(JsonSchema, Deserialize)]
struct Outer(Newtype);

#[derive(JsonSchema, Deserialize)]
struct Empty {}

fn output<T: JsonSchema>() -> (Value, Form) {
    let (schema, form) = output_of::<T>();
    ((*schema.schema).clone(), form)
}

fn judge(schema: &Value, value: &Value) -> Result<(), Misfit> {
    Shape::new(Arc::new(schema.clone())).validate(value)
}

/// Every object of a schema requires all its fields and allows no others, and nothing is said in words that strict servers
/// refuse.
fn assert_strict(schema: &Value) {
    match schema {
        Value::Object(words) => {
            if words.get("type") == Some(&json!("object")) {
                assert_eq!(words["additionalProperties"], false, "{schema}");
                let fields = words["properties"].as_object().unwrap().keys();
                let required: Vec<_> = words["required"].as_array().unwrap().iter().collect();
                assert_eq!(fields.collect::<Vec<_>>(), required, "{schema}");
            }
            for word in ["oneOf", "default", "$schema", "format"] {
                assert!(!words.contains_key(word), "{schema}");
            }
            assert!(!words.contains_key("$ref") || words.len() == 1, "{schema}");
            words.values().for_each(assert_strict);
        }
        Value::Array(list) => list.iter().for_each(assert_strict),
        _ => {}
    }
}

#[test]
fn outputs_of_types_are_strict() {
    let (schema, form) = output::<Line>();
    assert_strict(&schema);
    assert_eq!(form, Form::Whole);
    assert_eq!(
        schema,
        json!({
            "title": "Line",
            "type": "object",
            "properties": {
                "from": {"description": "Where it begins.", "anyOf": [{"$ref": "#/$defs/Point"}]},
                "to": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]},
            },
            "required": ["from", "to"],
            "additionalProperties": false,
            "$defs": {"Point": {
                "type": "object",
                "properties": {
                    "x": {"description": "To the right.", "type": "integer", "minimum": 0},
                    "label": {"type": ["string", "null"]},
                    "weight": {"type": "integer"},
                },
                "required": ["label", "weight", "x"],
                "additionalProperties": false,
            }},
        })
    );
    for schema in [
        output::<Shaped>(),
        output::<Tree>(),
        output::<Vec<Tree>>(),
        output::<Option<Shaped>>(),
        output::<Newtype>(),
        output::<Outer>(),
        output::<Empty>(),
        output::<()>(),
        output::<String>(),
    ] {
        assert_eq!(schema.0["type"], "object");
        assert_strict(&schema.0);
    }
}

#[test]
fn what_fits_a_strict_schema_can_be_read() {
    fn check<T: JsonSchema + serde::de::DeserializeOwned>(object: Value) {
        let (schema, form) = output::<T>();
        assert_eq!(judge(&schema, &object), Ok(()), "{schema}");
        assert!(T::deserialize(form.value(&object)).is_ok(), "{object}");
    }
    let point = json!({"x": 1, "label": null, "weight": 2});
    check::<Line>(json!({"from": point, "to": null}));
    check::<Newtype>(point.clone());
    check::<Outer>(point.clone());
    check::<Shaped>(json!({"value": {"kind": "dot", "at": 3}}));
    check::<Shaped>(json!({"value": {"kind": "line", "x": 1, "label": "a", "weight": 0}}));
    check::<Vec<Point>>(json!({"value": [point]}));
    check::<Tree>(json!({"name": "a", "children": [{"name": "b", "children": []}]}));
    check::<Flat>(json!({"id": 1, "kind": "dot", "at": 3}));
    check::<BTreeMap<String, u8>>(json!({"a": 1}));
    check::<Empty>(json!({}));
    check::<()>(json!({}));
}

#[test]
fn a_schema_that_closing_would_leave_empty_stays_open() {
    let (schema, _) = output::<Flat>();
    assert_eq!(schema.get("additionalProperties"), None, "{schema}");
    let (schema, _) = output::<BTreeMap<String, u8>>();
    assert!(schema["additionalProperties"].is_object(), "{schema}");
}

#[test]
fn a_name_is_one_that_servers_take() {
    assert_eq!(&*output_of::<Point>().0.name, "Point");
    #[derive(JsonSchema)]
    #[schemars(
        rename = "größer als alles, was man je einem Schema zum Namen gegeben hat und je geben wird"
    )]
    struct Odd {}
    let name = output_of::<Odd>().0.name;
    assert_eq!(name.len(), 64);
    assert!(name.starts_with("gr__er_als_alles__was"), "{name}");
}

#[test]
fn arguments_are_objects_and_keep_their_optional_fields() {
    let (schema, form) = input_of::<Point>();
    assert_eq!((&schema["required"], form), (&json!(["x"]), Form::Whole));
    let (schema, form) = input_of::<String>();
    assert_eq!(form, Form::Inside);
    assert_eq!(judge(&schema, &json!({"value": "a"})), Ok(()));
    let (schema, form) = input_of::<()>();
    assert_eq!((form, judge(&schema, &json!({}))), (Form::Nothing, Ok(())));
    let (schema, form) = input_of::<Map<String, Value>>();
    assert_eq!((&schema["properties"], form), (&json!({}), Form::Whole));
}

#[test]
fn w2_a_misfit_says_where_and_why() {
    let shape = Shape::new(input_of::<Line>().0);
    let misfit = shape.validate(&json!({"from": {"x": -1}})).unwrap_err();
    assert_eq!(
        &*misfit.told,
        "at /from/x: -1 is less than the minimum of 0"
    );
    let misfit = shape.validate(&json!({})).unwrap_err();
    assert_eq!(&*misfit.told, "\"from\" is a required property");
}

#[test]
fn j3_what_is_recorded_of_a_misfit_has_no_word_of_the_value() {
    let check = |shape: Shape, value: Value, masked: &str| {
        let misfit = shape.validate(&value).unwrap_err();
        assert!(misfit.told.contains("Maria"), "{}", misfit.told);
        assert_eq!(&*misfit.masked, masked);
    };
    check(
        Shape::new(input_of::<Line>().0),
        json!({"from": {"x": "Maria"}}),
        "it breaks the schema at /$defs/Point/properties/x/type",
    );
    check(
        Shape::new(output_of::<Empty>().0.schema),
        json!({"Maria": 1}),
        "it breaks the schema at /additionalProperties",
    );
    check(
        Shape::new(output_of::<BTreeMap<String, u8>>().0.schema),
        json!({"Maria": "ill"}),
        "it breaks the schema at /additionalProperties/type",
    );
}

#[test]
fn models_read_no_words_of_ours_in_a_schema() {
    for schema in [&input_of::<Vec<u8>>().0, &output_of::<String>().0.schema] {
        let words = ["title", "description"].map(|word| schema.get(word));
        assert_eq!(words, [None, None], "{schema}");
    }
}

#[test]
fn w2_a_misfit_is_bounded_and_tells_no_secret() {
    let shape = Shape::new(input_of::<Vec<u8>>().0);
    let secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789";
    let misfit = shape.validate(&json!({"value": secret})).unwrap_err();
    assert!(misfit.told.starts_with("at /value: "), "{misfit:?}");
    assert!(!misfit.told.contains(secret), "{misfit:?}");
    let many = vec!["x".repeat(1000); 1000];
    let misfit = shape.validate(&json!({"value": many})).unwrap_err();
    assert!(
        misfit.told.len() <= chat_core::MAX_ERROR_BYTES,
        "{}",
        misfit.told.len()
    );
}

#[test]
fn a_schema_that_is_none_says_why() {
    let shape = Shape::new(Arc::new(json!({"type": "strange"})));
    assert!(shape.compile().unwrap_err().contains("strange"));
    // Nothing is fetched to find out what a schema means.
    let shape = Shape::new(Arc::new(json!({"$ref": "https://example.org/schema.json"})));
    assert!(shape.compile().is_err());
}
