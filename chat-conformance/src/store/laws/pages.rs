//! S6: the list, a page at a time, while sessions come and go.

use chat_core::{Cursor, ListRequest, Seq, SessionPage, StoreError};

use super::lists::active;
use crate::store::{
    Outcome,
    entries::{accepted_body, entry_at, session_id, write},
    lab::Lab,
};

async fn page(lab: &Lab, after: Option<Cursor>, limit: usize) -> (Vec<String>, Option<Cursor>) {
    let SessionPage { sessions, next } = lab
        .store
        .list(ListRequest { after, limit })
        .await
        .expect("sessions can be listed");
    let ids = sessions.iter().map(|session| session.id.to_string());
    (ids.collect(), next)
}

/// Sessions `a`, `b`, `c` ... in the order of the list.
async fn alphabet(lab: &Lab, last: char) {
    for (n, id) in (0..).zip('a'..=last) {
        active(lab, &id.to_string(), 9_000 - 1_000 * n, "x").await;
    }
}

pub(in crate::store) async fn s6_pages_show_every_session_once(lab: Lab) -> Outcome {
    // Some of the same time: a cursor has to tell them apart.
    for n in 0..11 {
        active(&lab, &format!("session-{n:02}"), 1_000 * (n / 4), "x").await;
    }
    let whole = lab.ids(100).await;
    assert_eq!(whole.len(), 11);
    for limit in [1, 2, 3, 10, 11] {
        assert_eq!(lab.ids(limit).await, whole, "in pages of {limit}");
    }
    Ok(())
}

pub(in crate::store) async fn s6_a_cursor_outlives_the_session_it_was_made_at(lab: Lab) -> Outcome {
    alphabet(&lab, 'g').await;
    let (first, next) = page(&lab, None, 3).await;
    assert_eq!(first, ["a", "b", "c"]);
    // Whatever it names, or counts from, is gone or elsewhere by now.
    for id in ["a", "c", "e"] {
        lab.store
            .delete(&session_id(id))
            .await
            .expect("nobody holds it");
    }
    let (second, next) = page(&lab, next, 2).await;
    assert_eq!(second, ["d", "f"], "none skipped, none twice");
    let (third, next) = page(&lab, next, 2).await;
    assert_eq!((third, next), (vec!["g".to_owned()], None));
    Ok(())
}

pub(in crate::store) async fn s6_a_cursor_stays_where_it_is_while_others_come_and_move(
    lab: Lab,
) -> Outcome {
    alphabet(&lab, 'f').await;
    let (_, next) = page(&lab, None, 2).await;
    let cursor = next.expect("there are more");
    // One before it and one behind it: the first was shown or not, the second is shown.
    active(&lab, "new", 20_000, "x").await;
    active(&lab, "old", 5_500, "x").await;
    // Moved before it: shown when its turn comes on the next look from the start.
    let (mut writer, _) = lab.hold(&session_id("d"), Seq(2)).await;
    write(&mut writer, entry_at(2, 30_000, accepted_body(2, "y"))).await;
    drop(writer);
    for _ in 0..2 {
        let (rest, _) = page(&lab, Some(cursor.clone()), 10).await;
        assert_eq!(rest, ["c", "old", "e", "f"]);
    }
    assert_eq!(
        lab.ids(3).await,
        ["d", "new", "a", "b", "c", "old", "e", "f"]
    );
    Ok(())
}

pub(in crate::store) async fn s6_a_cursor_of_nobodys_making_is_refused(lab: Lab) -> Outcome {
    alphabet(&lab, 'c').await;
    for text in [
        "",
        "x",
        "::",
        "-",
        "a",
        "1",
        "\0",
        "\u{1f331}",
        "9e9:a",
        "{\"at\":1}",
    ] {
        let request = ListRequest {
            after: Some(Cursor(text.into())),
            limit: 10,
        };
        let answer = lab.store.list(request).await;
        assert!(
            matches!(answer, Err(StoreError::Backend { .. })),
            "{text:?} is a cursor: {answer:?}"
        );
    }
    Ok(())
}

pub(in crate::store) async fn s6_any_number_is_a_limit(lab: Lab) -> Outcome {
    alphabet(&lab, 'c').await;
    assert_eq!(lab.ids(usize::MAX).await, ["a", "b", "c"]);
    assert_eq!(lab.ids(3).await, ["a", "b", "c"]);
    assert_eq!(page(&lab, None, 3).await.1, None, "there are no more");
    // Nothing asked for: no error, and no list that never ends.
    let (ids, _) = page(&lab, None, 0).await;
    assert!(ids.len() <= 1, "{ids:?}");
    Ok(())
}

pub(in crate::store) async fn s6_many_sessions_are_listed_once_and_in_order(lab: Lab) -> Outcome {
    let mut expected = Vec::new();
    for n in 0..120_i64 {
        // Each time three times, and not in order.
        let millis = 1_000 * ((n * 37) % 40);
        let id = format!("s-{n:03}");
        active(&lab, &id, millis, "x").await;
        expected.push((std::cmp::Reverse(millis), id));
    }
    expected.sort();
    let expected: Vec<String> = expected.into_iter().map(|(_, id)| id).collect();
    for limit in [7, 50, 1000] {
        assert_eq!(lab.ids(limit).await, expected, "in pages of {limit}");
    }
    Ok(())
}
