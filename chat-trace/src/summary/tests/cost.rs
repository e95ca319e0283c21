//! Law P3: what a summary costs grows with its room, not with the value. Told by what is looked at, not by the clock.

use chat_core::Redactor;
use serde_json::{Value, json};

use crate::summary::{
    beginning,
    draft::{Draft, most_pieces},
    summarize,
    text::WINDOW,
};

/// How many bytes of texts and how many pieces are looked at.
fn cost(value: &Value, room: usize) -> (usize, usize) {
    let redactor = Redactor::default();
    let mut draft = Draft::new(room, &redactor);
    draft.value(value);
    (WINDOW - draft.reader.left, most_pieces(room) - draft.pieces)
}

#[test]
fn p3_no_value_costs_more_than_its_room() {
    let wide: Value = (0..20_000)
        .map(|i| (format!("key {i}"), json!([i, "text"])))
        .collect();
    let mut deep = json!("end");
    for _ in 0..5_000 {
        deep = Value::Array(vec![deep, json!({"a": 1})]);
    }
    let values = [
        json!("lorem ipsum ".repeat(4_000_000)),
        json!("\u{301}".repeat(1_000_000)),
        json!("\u{1b}[".repeat(1_000_000)),
        json!(" ".repeat(1_000_000)),
        json!(vec![1; 1_000_000]),
        json!(vec![vec![vec![vec![1; 30]; 30]; 30]; 30]),
        json!(vec!["x ".repeat(100_000); 100]),
        json!(vec![json!(vec![1; 20_000]).to_string(); 20]),
        json!({ "k".repeat(5_000_000): 1 }),
        wide,
        deep,
    ];
    for value in &values {
        for room in [0, 1, 40, 120, 300] {
            let (bytes, pieces) = cost(value, room);
            assert!(
                bytes <= WINDOW && pieces <= most_pieces(room),
                "{bytes} {pieces}"
            );
            assert!(summarize(value, room, &Redactor::default()).chars().count() <= room);
        }
    }
    // One long text is not looked at as far as the window reaches.
    assert!(cost(&values[0], 120).0 < 4_000);
}

#[test]
fn p3_what_lies_behind_the_window_changes_nothing() {
    let redactor = Redactor::default();
    for head in ["some words ", "[1, ", "{\"a\": [", "   "] {
        let head = head.repeat(WINDOW / head.len() + 1);
        let long = head.clone() + &"\u{0}]} password=".repeat(10_000);
        for room in [0, 7, 80, 300, 100_000] {
            let summary = summarize(&json!(long), room, &redactor);
            let blind = beginning(&head[..WINDOW], long.len(), room, &redactor);
            assert_eq!(summary, blind);
        }
    }
}
