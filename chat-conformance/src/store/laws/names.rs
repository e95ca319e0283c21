//! S4: ids.

use std::collections::BTreeSet;

use chat_core::{MAX_ID_BYTES, Seq};

use crate::store::{
    Outcome,
    entries::{accepted_body, created, entry, session_id, write},
    lab::Lab,
};

/// What file systems and databases are known to confuse: case, Unicode forms, reserved names, patterns, quotes, endings.
fn ids() -> Vec<String> {
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
    ];
    let longest = ["x".repeat(MAX_ID_BYTES), "\u{e9}".repeat(MAX_ID_BYTES / 2)];
    ids.map(str::to_owned).into_iter().chain(longest).collect()
}

pub(in crate::store) async fn s4_every_id_is_a_session_of_its_own(lab: Lab) -> Outcome {
    fill(&lab).await;
    check(&lab).await;
    // One that goes takes no other with it.
    let mut ids = ids();
    for _ in 0..ids.len() / 2 {
        let gone = session_id(&ids.remove(ids.len() / 2));
        lab.store.delete(&gone).await.expect("nobody holds it");
        assert!(lab.read(&gone, Seq::ZERO).await.error.is_some(), "{gone:?}");
        assert_eq!(lab.list(7).await.len(), ids.len(), "deleted {gone:?}");
    }
    Ok(())
}

pub(in crate::store) async fn s8_odd_ids_come_back_from_a_reopened_store(lab: Lab) -> Outcome {
    lab.reopened().await?;
    fill(&lab).await;
    check(&lab.reopened().await?).await;
    Ok(())
}

async fn fill(lab: &Lab) {
    for id in ids() {
        let session = lab.session(&id).await;
        let (mut writer, _) = lab.hold(&session, Seq(1)).await;
        write(&mut writer, entry(1, accepted_body(1, &id))).await;
    }
}

async fn check(lab: &Lab) {
    for id in ids() {
        let read = lab.entries(&session_id(&id)).await;
        let expected = [created(), entry(1, accepted_body(1, &id))];
        assert_eq!(read, expected, "session {id:?}");
    }
    let listed: BTreeSet<_> = lab.ids(7).await.into_iter().collect();
    assert_eq!(listed, ids().into_iter().collect());
}
