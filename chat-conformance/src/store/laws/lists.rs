//! S6: what the list shows, and in which order.

use std::collections::BTreeSet;

use chat_core::{MAX_TITLE_CHARS, Seq, SessionId, SessionSummary, Timestamp};

use crate::store::{
    Outcome,
    entries::{accepted, accepted_body, completed, created, entry, entry_at, script, write},
    lab::Lab,
};

/// A session whose last entry is of a time.
pub(super) async fn active(lab: &Lab, id: &str, millis: i64, input: &str) -> SessionId {
    let entries = vec![created(), entry_at(1, millis, accepted_body(1, input))];
    lab.session_of(id, entries).await
}

pub(in crate::store) async fn s6_the_newest_activity_comes_first(lab: Lab) -> Outcome {
    assert!(
        lab.list(10).await.is_empty(),
        "an empty store lists nothing"
    );
    let middle = active(&lab, "middle", 2_000, "x").await;
    active(&lab, "oldest", 1_000, "x").await;
    active(&lab, "newest", 3_000, "x").await;
    assert_eq!(lab.ids(10).await, ["newest", "middle", "oldest"]);
    let (mut writer, _) = lab.hold(&middle, Seq(2)).await;
    write(&mut writer, entry_at(2, 4_000, accepted_body(2, "y"))).await;
    assert_eq!(
        lab.ids(10).await,
        ["middle", "newest", "oldest"],
        "an append is activity"
    );
    Ok(())
}

pub(in crate::store) async fn s6_titles_times_and_counts(lab: Lab) -> Outcome {
    let wide = "\u{1f331}".repeat(MAX_TITLE_CHARS + 20);
    let session = active(&lab, "s6", 5_000, &format!("\n  {wide}\nsecond line")).await;
    let (mut writer, _) = lab.hold(&session, Seq(2)).await;
    write(&mut writer, completed(2, 1)).await;
    write(
        &mut writer,
        entry_at(3, 9_000, accepted_body(2, "not the title")),
    )
    .await;
    let empty = lab.session("empty").await;

    let list = lab.list(10).await;
    let of = |id: &SessionId| {
        list.iter()
            .find(|session| session.id == *id)
            .expect("every session is listed")
            .clone()
    };
    let summary = of(&session);
    let title = summary.title.expect("the first input is the title");
    assert_eq!(title.chars().count(), MAX_TITLE_CHARS);
    assert!(
        title.starts_with('\u{1f331}') && title.ends_with('…'),
        "{title}"
    );
    assert_eq!(summary.turns, 2);
    assert_eq!(summary.created_at, Some(created().at()));
    assert_eq!(summary.last_activity, Timestamp::from_millis(9_000).ok());
    assert!(summary.error.is_none());

    let summary = of(&empty);
    assert_eq!((summary.title, summary.turns), (None, 0));
    assert_eq!(summary.last_activity, Some(created().at()));
    Ok(())
}

pub(in crate::store) async fn s6_of_one_time_the_smaller_id_comes_first(lab: Lab) -> Outcome {
    // Neither the order of creation nor that of a language: by bytes.
    for id in [
        "b",
        "ab",
        "\u{e9}",
        "B",
        "a",
        "z",
        "a-",
        "10",
        "9",
        "\u{1f331}",
    ] {
        active(&lab, id, 5_000, "x").await;
    }
    let mut expected = vec![
        "10",
        "9",
        "B",
        "a",
        "a-",
        "ab",
        "b",
        "z",
        "\u{e9}",
        "\u{1f331}",
    ];
    assert_eq!(lab.ids(100).await, expected);
    // One that is written again at that very time stays where it is.
    let b = active(&lab, "b2", 4_000, "x").await;
    let (mut writer, _) = lab.hold(&b, Seq(2)).await;
    write(&mut writer, entry_at(2, 5_000, accepted_body(2, "y"))).await;
    drop(writer);
    expected.insert(7, "b2");
    for limit in [1, 3, 4, 100] {
        assert_eq!(lab.ids(limit).await, expected, "in pages of {limit}");
    }
    Ok(())
}

pub(in crate::store) async fn s6_the_last_entry_says_when_not_the_latest_time(lab: Lab) -> Outcome {
    // Clocks are set back, and some were never set: order is `seq`, never time.
    let back = vec![
        created(),
        entry_at(1, 9_000, accepted_body(1, "x")),
        entry_at(2, 1_000, accepted_body(2, "y")),
    ];
    let back = lab.session_of("set-back", back).await;
    active(&lab, "between", 5_000, "x").await;
    let early = active(&lab, "before-1970", -62_000_000_000_000, "x").await;
    active(&lab, "just-before-1970", -1, "x").await;
    active(&lab, "far", 253_000_000_000_000, "x").await;
    assert_eq!(
        lab.ids(100).await,
        [
            "far",
            "between",
            "set-back",
            "just-before-1970",
            "before-1970"
        ]
    );
    let at = |millis| Timestamp::from_millis(millis).ok();
    assert_eq!(lab.summary(&back).await.last_activity, at(1_000));
    assert_eq!(
        lab.summary(&early).await.last_activity,
        at(-62_000_000_000_000)
    );
    Ok(())
}

pub(in crate::store) async fn s6_odd_titles(lab: Lab) -> Outcome {
    let exact = "x".repeat(MAX_TITLE_CHARS);
    let long = "word ".repeat(20_000);
    let marks = format!("a{}", "\u{301}".repeat(MAX_TITLE_CHARS));
    let inputs = [
        "",
        "   \n\t\r\n ",
        "\0\u{1b}[31mred\u{7}",
        "\u{202e}\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
        "\n\n  the third line\nis the title",
        "'\"`;--%_",
        "{\"type\":\"turn.accepted\"}",
        &exact,
        &format!("{exact}y"),
        &marks,
        &long,
    ];
    for (n, input) in inputs.iter().enumerate() {
        let session = active(&lab, &format!("s6-{n:02}"), 1_000, input).await;
        assert_eq!(
            lab.summary(&session).await.title,
            Some(SessionSummary::title_of(input)),
            "the title for {input:.100?}"
        );
    }
    // The first input is the title, also where a later one is longer or the first is empty.
    let empty_first = vec![created(), entry(1, accepted_body(1, "")), accepted(2, 2)];
    let session = lab.session_of("empty-first", empty_first).await;
    let summary = lab.summary(&session).await;
    assert_eq!((summary.title.as_deref(), summary.turns), (Some(""), 2));
    Ok(())
}

pub(in crate::store) async fn s6_c28_what_can_be_held_is_listed_and_what_is_listed_can_be_held(
    lab: Lab,
) -> Outcome {
    let mut there = BTreeSet::new();
    for (n, id) in [
        "plain", "Capital", ".hidden", "a b", "\u{e9}", "x.jsonl", "con",
    ]
    .iter()
    .enumerate()
    {
        let session = if n % 2 == 0 {
            lab.session_of(id, script()).await
        } else {
            lab.session(id).await
        };
        there.insert(session.to_string());
    }
    for id in ["gone", "made-anew"] {
        let session = lab.session(id).await;
        lab.store.delete(&session).await.expect("nobody holds it");
    }
    lab.session("made-anew").await;
    there.insert("made-anew".to_owned());
    let held = lab.session("held").await;
    there.insert("held".to_owned());
    let (writer, _) = lab.hold(&held, Seq(1)).await;
    let listed = lab.list(3).await;
    drop(writer);
    for summary in &listed {
        assert!(summary.error.is_none(), "{summary:?}");
        let (_, entries) = lab.hold(&summary.id, Seq::ZERO).await;
        let accepted = entries
            .iter()
            .filter(|entry| entry.body().kind() == "turn.accepted");
        assert_eq!(summary.turns, accepted.count() as u64, "{summary:?}");
        assert_eq!(summary.last_activity, entries.last().map(|last| last.at()));
    }
    let listed: Vec<String> = listed
        .iter()
        .map(|summary| summary.id.to_string())
        .collect();
    assert_eq!(listed.len(), there.len(), "each once: {listed:?}");
    assert_eq!(BTreeSet::from_iter(listed), there);
    Ok(())
}
