//! Journals that a crash or a bad disk left behind.

use chat_core::TurnStatus;

use crate::kit::Home;

/// A session of two turns.
async fn two_turns(home: &Home, session: &str) -> Vec<u8> {
    let ended = home
        .pipe("one\ntwo\n", ["--responder", "echo", "--session", session])
        .await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    std::fs::read(home.journal(session)).unwrap()
}

#[tokio::test]
async fn s3_a_torn_last_line_is_reported_and_hides_nothing() {
    let home = Home::new();
    let mut bytes = two_turns(&home, "s").await;
    // The outcome of the last turn, cut off.
    bytes.truncate(bytes.len() - 20);
    std::fs::write(home.journal("s"), &bytes).unwrap();
    let shown = home.run(["show", "s"]).await;
    assert_eq!(shown.code, 0);
    assert!(
        shown.err.starts_with("chat: ") && shown.err.contains("torn"),
        "{}",
        shown.err
    );
    let statuses: Vec<_> = home
        .turns("s")
        .await
        .iter()
        .map(|turn| turn.status)
        .collect();
    assert_eq!(statuses, [TurnStatus::Completed, TurnStatus::Interrupted]);
    assert_eq!(
        std::fs::read(home.journal("s")).unwrap(),
        bytes,
        "reading changes nothing"
    );

    let retried = home.run(["retry", "s", "--responder", "echo"]).await;
    assert_eq!(
        (retried.code, retried.out.as_str()),
        (0, "two\n"),
        "{}",
        retried.err
    );
    let shown = home.run(["show", "s"]).await;
    assert_eq!((shown.code, shown.err.as_str()), (0, ""), "set aside");
    assert_eq!(home.turns("s").await.len(), 3);
}

#[tokio::test]
async fn s3_a_flipped_byte_names_session_and_line_and_the_rest_is_salvaged() {
    let home = Home::new();
    let mut bytes = two_turns(&home, "s").await;
    two_turns(&home, "sound").await;
    let lines: Vec<usize> = bytes
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .map(|(at, _)| at)
        .collect();
    // In the middle of line 3, the outcome of the first turn.
    bytes[(lines[1] + lines[2]) / 2] ^= 1;
    std::fs::write(home.journal("s"), &bytes).unwrap();

    for args in [
        &["show", "s"][..],
        &["ask", "hi", "--session", "s", "--responder", "echo"],
        &["retry", "s", "--responder", "echo"],
    ] {
        let ended = home.run(args).await;
        assert_eq!((ended.code, ended.out.as_str()), (1, ""), "{args:?}");
        let said: Vec<_> = ended.err.lines().collect();
        assert!(
            said[0].starts_with("chat: session s can't be read: line 3 (byte "),
            "C21, C22: {}",
            said[0]
        );
        assert!(said[0].contains("s.jsonl is damaged"), "{}", said[0]);
        assert_eq!(
            said[1],
            "      the turns before it are intact: chat export s --salvage"
        );
    }
    assert_eq!(
        std::fs::read(home.journal("s")).unwrap(),
        bytes,
        "nothing is repaired silently"
    );

    let listed = home.run(["sessions"]).await;
    assert_eq!(
        (listed.code, listed.out.lines().count()),
        (0, 3),
        "{}",
        listed.out
    );
    assert!(
        listed.out.contains("can't be read: line 3 "),
        "{}",
        listed.out
    );

    let salvaged = home.run(["show", "s", "--salvage"]).await;
    assert_eq!(salvaged.code, 0, "{}", salvaged.err);
    assert!(salvaged.out.contains("\n-- line 3 "), "{}", salvaged.out);
    assert!(
        salvaged.out.contains("> one\n") && salvaged.out.contains("> two\ntwo\n"),
        "{}",
        salvaged.out
    );
    let json = home.run(["show", "s", "--salvage", "--json"]).await;
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["gaps"][0]["line"], 3);
    assert_eq!(json["turns"].as_array().unwrap().len(), 2);
}
