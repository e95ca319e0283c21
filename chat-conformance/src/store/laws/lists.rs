//! S6: the list.

use chat_core::{MAX_TITLE_CHARS, Seq, SessionId, Timestamp};

use crate::store::{
    Outcome,
    factory::{Lab, accepted_body, completed, created, entry_at, session_id, write},
};

/// A session whose last entry is of a time.
async fn active(lab: &Lab, id: &str, millis: i64, input: &str) -> SessionId {
    let session = session_id(id);
    let entries = vec![created(), entry_at(1, millis, accepted_body(1, input))];
    lab.store
        .create(&session, entries)
        .await
        .expect("a free id can be created");
    session
}

async fn ids(lab: &Lab, limit: usize) -> Vec<String> {
    lab.list(limit)
        .await
        .into_iter()
        .map(|session| session.id.to_string())
        .collect()
}

pub(in crate::store) async fn s6_the_newest_activity_comes_first(lab: Lab) -> Outcome {
    assert!(
        lab.list(10).await.is_empty(),
        "an empty store lists nothing"
    );
    let middle = active(&lab, "middle", 2_000, "x").await;
    active(&lab, "oldest", 1_000, "x").await;
    active(&lab, "newest", 3_000, "x").await;
    assert_eq!(ids(&lab, 10).await, ["newest", "middle", "oldest"]);
    let (mut writer, _) = lab.hold(&middle, Seq(2)).await;
    write(&mut writer, entry_at(2, 4_000, accepted_body(2, "y"))).await;
    assert_eq!(
        ids(&lab, 10).await,
        ["middle", "newest", "oldest"],
        "an append is activity"
    );
    Ok(())
}

pub(in crate::store) async fn s6_pages_show_every_session_once(lab: Lab) -> Outcome {
    // Some of the same time: a cursor has to tell them apart.
    for n in 0..11 {
        active(&lab, &format!("session-{n:02}"), 1_000 * (n / 4), "x").await;
    }
    let whole = ids(&lab, 100).await;
    assert_eq!(whole.len(), 11);
    for limit in [1, 2, 3, 10, 11] {
        assert_eq!(ids(&lab, limit).await, whole, "in pages of {limit}");
    }
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
