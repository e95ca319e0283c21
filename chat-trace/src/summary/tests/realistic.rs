//! What tools are asked with and what they answer, as a reader sees it in rows of three widths.

use std::fmt::Write as _;

use chat_core::Redactor;
use serde_json::{Value, json};

use crate::summarize;

#[test]
fn p3_what_tools_take_and_give_reads_well() {
    let mut seen = String::new();
    for (what, value) in values() {
        writeln!(seen, "{what}").unwrap();
        for room in [40, 80, 120] {
            let summary = summarize(&value, room, &Redactor::default());
            writeln!(seen, "{room:5} {summary}").unwrap();
        }
    }
    insta::assert_snapshot!(seen);
}

fn values() -> Vec<(&'static str, Value)> {
    let code = "use std::{\n    borrow::Cow,\n    fmt,\n};\n\n/// What a reader sees.\nconst SEEN: &str = \"much\";\n".repeat(40);
    let matches: Vec<Value> = (1..=12)
        .map(|line| json!({"file": "chat-core/src/redact/scan.rs", "line": line, "text": "pub(super) fn credentials(text: &str) {"}))
        .collect();
    let user = json!({"user": {"id": 42, "name": "Ada Lovelace", "roles": ["admin", "editor"]}, "token": "abc"});
    vec![
        ("read_file", json!({"path": "chat-core/src/lib.rs"})),
        (
            "read_file, a part",
            json!({"path": "chat-core/src/redact/scan.rs", "offset": 120, "limit": 40}),
        ),
        ("a file", json!(code)),
        (
            "edit",
            json!({"file_path": "chat-core/src/redact/scan.rs", "old_string": &code[..400], "new_string": &code[..900], "replace_all": false}),
        ),
        ("write", json!({"path": "src/main.rs", "content": code})),
        (
            "grep",
            json!({"pattern": "fn credentials\\(", "glob": "**/*.rs", "-n": true}),
        ),
        (
            "its matches",
            json!({"matches": matches, "total": 12, "truncated": false}),
        ),
        ("its matches alone", json!(matches)),
        (
            "paths",
            json!([
                "chat-core/src/lib.rs",
                "chat-core/src/redact/mod.rs",
                "chat-core/src/redact/scan.rs",
                "chat-cli/src/render.rs"
            ]),
        ),
        (
            "a request",
            json!({"url": "https://api.example.org/v1/users?limit=50&api_key=abcdef", "method": "GET", "headers": {"Authorization": "Bearer abcdef123456"}}),
        ),
        (
            "its answer",
            json!({"status": 200, "headers": {"content-type": "application/json", "set-cookie": "sid=abc"}, "body": user.to_string()}),
        ),
        (
            "an API's error",
            json!({"error": {"message": "The model `big` does not exist or you do not have access to it.", "type": "invalid_request_error", "param": null}}),
        ),
        (
            "a command",
            json!({"command": "cargo test -p chat-core --all-features 2>&1 | tail -n 40", "timeout": 120_000}),
        ),
        (
            "what it printed",
            json!(
                "   Compiling chat-core v0.1.0\n\u{1b}[32m    Finished\u{1b}[0m test profile in 4.76s\n\nrunning 238 tests\r\n......\r\ntest result: ok. 238 passed; 0 failed\n"
            ),
        ),
        (
            "its result",
            json!({"stdout": "total 48\ndrwxr-xr-x  9 u u 4096 Mar  1 10:00 .\n", "stderr": "", "exit_code": 0}),
        ),
        (
            "an MCP result",
            json!({"content": [{"type": "text", "text": "18 degrees and cloudy, with rain expected in the evening."}], "isError": false}),
        ),
        (
            "table rows",
            json!([{"id": 1, "name": "Ada", "born": 1815}, {"id": 2, "name": "Grace", "born": 1906}, {"id": 3, "name": "Alan", "born": 1912}]),
        ),
        (
            "an issue",
            json!({"id": 1234, "title": "Rows are slow for 10,000 nodes", "state": "open", "labels": ["bug", "perf"], "assignee": null, "body": code, "comments": 17}),
        ),
        (
            "an embedding",
            json!({"model": "text-embedding", "data": [{"embedding": vec![0.125; 1536], "index": 0}]}),
        ),
        (
            "a plan",
            json!({"steps": [{"name": "draft", "tools": ["search", "read"]}, {"name": "review", "tools": []}], "owner": "ada"}),
        ),
        (
            "many fields",
            (0..40)
                .map(|i| (format!("field_{i}"), json!("some value")))
                .collect(),
        ),
        ("a number", json!(42)),
        ("nothing", json!(null)),
        ("an empty text", json!("")),
        ("an empty list", json!([])),
    ]
}
