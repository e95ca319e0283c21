//! What `show` and `sessions` print of journals that never change.

use chat_core::{Entry, SessionId, Store as _};
use chat_store_file::FileStore;

use crate::kit::Home;

/// One of each kind of turn.
const EVERY_KIND: &[&str] = &[
    r#""type":"session.created""#,
    r#""type":"turn.accepted","turnId":"t1","input":"What is a journal?\nIn one sentence.""#,
    r#""type":"turn.steered","turnId":"t1","input":"Make it short.""#,
    r#""type":"turn.completed","turnId":"t1","text":"A list of entries.","metadata":{"model":{"provider":"openai","modelId":"gpt-5-mini"},"usage":{"inputTokens":12,"outputTokens":5},"finishReason":"stop"},"responder":{"kind":"model"}"#,
    r#""type":"turn.accepted","turnId":"t2","input":"And a turn?""#,
    r#""type":"turn.failed","turnId":"t2","error":{"message":"the server failed","kind":"server","retryable":true},"responder":{"kind":"model"}"#,
    r#""type":"turn.accepted","turnId":"t3","input":"And a turn?","retryOf":"t2""#,
    r#""type":"turn.canceled","turnId":"t3","reason":"changed my mind""#,
    r#""type":"turn.accepted","turnId":"t4","input":"Tell me a story.""#,
    r#""type":"turn.completed","turnId":"t4","text":"Once upon a","metadata":{"finishReason":"length"},"responder":{"kind":"model"}"#,
    r#""type":"turn.accepted","turnId":"t5","input":"Go on.""#,
];

async fn write(home: &Home, session: &str, bodies: &[&str]) {
    let entries = bodies.iter().enumerate().map(|(seq, body)| {
        let (minute, second) = (30 + seq / 2, 10 * (seq % 2));
        let at = format!("2020-01-31T09:{minute}:{second:02}.250Z");
        let json = format!(r#"{{"v":1,"seq":{seq},"id":"e{seq}","at":"{at}",{body}}}"#);
        Entry::decode(&json).unwrap()
    });
    let store = FileStore::open(home.store()).unwrap();
    let session = SessionId::parse(session).unwrap();
    store.create(&session, entries.collect()).await.unwrap();
}

#[tokio::test]
async fn c_show_tells_every_kind_of_turn() {
    let home = Home::new();
    write(&home, "s", EVERY_KIND).await;
    let shown = home.run(["show", "s"]).await;
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    insta::assert_snapshot!(shown.out);
    let json = home.run(["show", "s", "--json"]).await;
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    insta::assert_json_snapshot!(json);
}

#[tokio::test]
async fn c_sessions_are_a_table_for_people_and_lines_for_programs() {
    let home = Home::new();
    write(&home, "01jd3k8v9x2m4n6p8q0r1s3t5v", &EVERY_KIND[..4]).await;
    write(&home, "talk", EVERY_KIND).await;
    write(&home, "empty", &EVERY_KIND[..1]).await;
    insta::assert_snapshot!(home.run(["sessions"]).await.out);
    insta::assert_snapshot!(home.run(["sessions", "--json"]).await.out);
}

#[tokio::test]
async fn c_hints_name_the_store_that_was_named() {
    let home = Home::new();
    write(&home, "s", &EVERY_KIND[..2]).await;
    let shown = home.run(["show", "s", "--store", "file:chat"]).await;
    assert!(
        shown
            .out
            .ends_with("answer it again: chat retry s t1 --store file:chat\n"),
        "{}",
        shown.out
    );
}
