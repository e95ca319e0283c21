//! S4: ids.

use std::collections::BTreeSet;

use chat_core::{EntryBody, MAX_ID_BYTES, Seq};

use crate::store::{
    Outcome,
    factory::{Lab, accepted_body, created, entry, session_id, write},
};

pub(in crate::store) async fn s4_every_id_is_a_session_of_its_own(lab: Lab) -> Outcome {
    // What file systems and databases are known to confuse: case, Unicode forms, reserved names, patterns, quotes, endings.
    let long = "x".repeat(MAX_ID_BYTES);
    let wide = "\u{e9}".repeat(MAX_ID_BYTES / 2);
    let ids = [
        "a",
        "A",
        "\u{e9}",
        "e\u{301}",
        "ﬁ",
        "fi",
        "con",
        "NUL",
        "com1.x",
        "...",
        ".a",
        "a.",
        "a ",
        " a",
        "a%",
        "a_",
        "a*",
        "a?",
        "a:b",
        "a'b",
        "a\"b",
        "a;b",
        "$a",
        "~",
        "-rf",
        "=a",
        "a.jsonl",
        "a.lock",
        "session-wal",
        "\u{1f331}",
        &long,
        &wide,
    ];
    for id in ids {
        let session = lab.session(id).await;
        let (mut writer, _) = lab.hold(&session, Seq(1)).await;
        write(&mut writer, entry(1, accepted_body(1, id))).await;
    }
    for id in ids {
        let read = lab.entries(&session_id(id)).await;
        assert_eq!(
            read,
            [created(), entry(1, accepted_body(1, id))],
            "session {id:?}"
        );
        assert!(matches!(read[1].body(), EntryBody::TurnAccepted { input, .. } if **input == *id));
    }
    let listed: BTreeSet<_> = lab
        .list(7)
        .await
        .into_iter()
        .map(|session| session.id.to_string())
        .collect();
    assert_eq!(listed, ids.iter().map(ToString::to_string).collect());
    Ok(())
}
