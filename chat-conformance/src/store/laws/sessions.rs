//! S7: sessions that are missing, taken, busy or deleted.

use chat_core::{Appended, Entry, JournalPart, Seq, StoreError};
use futures_util::StreamExt as _;

use crate::store::{
    Outcome,
    entries::{accepted, completed, created, script, session_id, waits, write},
    lab::Lab,
};

pub(in crate::store) async fn s7_a_missing_session_is_named(lab: Lab) -> Outcome {
    let session = session_id("nobody");
    let check = |what: &str, error: Option<StoreError>| match error {
        Some(StoreError::Missing { session: named }) => assert_eq!(named, session, "{what}"),
        other => panic!("{what} of a missing session: {other:?}"),
    };
    check(
        "read",
        lab.store
            .read(&session, Seq::ZERO)
            .next()
            .await
            .and_then(Result::err),
    );
    check(
        "acquire",
        lab.store.acquire(&session, Seq::ZERO).await.err(),
    );
    check("delete", lab.store.delete(&session).await.err());
    check("salvage", lab.store.salvage(&session).await.err());
    assert!(
        lab.list(10).await.is_empty(),
        "asking for a session does not make one"
    );
    drop(lab.session("nobody").await);
    drop(lab.hold(&session, Seq::ZERO).await);
    Ok(())
}

pub(in crate::store) async fn s7_a_taken_id_changes_nothing(lab: Lab) -> Outcome {
    let session = session_id("s7");
    lab.session_of("s7", script()).await;
    for (what, held) in [
        ("free", None),
        ("held", Some(lab.hold(&session, Seq::ZERO).await)),
    ] {
        let again = lab.store.create(&session, vec![created()]).await;
        assert!(
            matches!(&again, Err(StoreError::Taken { session: named }) if *named == session),
            "{what}: {again:?}"
        );
        assert_eq!(lab.entries(&session).await, script(), "{what}");
        drop(held);
    }
    Ok(())
}

pub(in crate::store) async fn s7_what_is_no_journal_is_not_created(lab: Lab) -> Outcome {
    let session = session_id("s7");
    let wrong: [(&str, Vec<Entry>); 4] = [
        ("nothing", vec![]),
        ("no session.created", vec![accepted(0, 1)]),
        ("a gap", vec![created(), accepted(2, 1)]),
        (
            "one place twice",
            vec![created(), accepted(1, 1), completed(1, 1)],
        ),
    ];
    for (what, entries) in wrong {
        let answer = lab.store.create(&session, entries).await;
        assert!(
            matches!(answer, Err(StoreError::Misuse { .. })),
            "{what}: {answer:?}"
        );
        assert!(lab.list(10).await.is_empty(), "{what}: all or nothing");
    }
    lab.session_of("s7", script()).await;
    assert_eq!(lab.entries(&session).await, script());
    // The caller's mistake is told of first, whatever else stands in the way.
    let answer = lab.store.create(&session, vec![accepted(0, 1)]).await;
    assert!(
        matches!(answer, Err(StoreError::Misuse { .. })),
        "no journal, and a taken id: {answer:?}"
    );
    Ok(())
}

pub(in crate::store) async fn s7_delete_is_refused_while_held_or_waited_for(lab: Lab) -> Outcome {
    let session = lab.session("s7").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    let busy = lab.store.delete(&session).await;
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    let mut waiting = lab.store.acquire(&session, Seq(1));
    assert!(waits(&mut waiting).await, "two holders at once");
    let busy = lab.store.delete(&session).await;
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    write(&mut writer, accepted(1, 1)).await;
    drop(waiting);
    drop(writer);
    lab.store
        .delete(&session)
        .await
        .expect("nobody is there any more");
    Ok(())
}

pub(in crate::store) async fn s7_a_deleted_session_is_gone_and_can_be_made_anew(
    lab: Lab,
) -> Outcome {
    let session = session_id("s7");
    for _ in 0..3 {
        lab.store
            .create(&session, script())
            .await
            .expect("a free id can be created");
        lab.session("other").await;
        let (mut writer, _) = lab.hold(&session, Seq(9)).await;
        write(&mut writer, completed(9, 4)).await;
        drop(writer);
        let read = lab.entries(&session).await;
        assert_eq!(read[..9], script(), "nothing is left of the one before");
        assert_eq!(read[9..], [completed(9, 4)]);
        lab.store.delete(&session).await.expect("nobody holds it");
        let gone = lab.store.delete(&session).await;
        assert!(matches!(gone, Err(StoreError::Missing { .. })), "{gone:?}");
        let gone = lab.store.acquire(&session, Seq::ZERO).await;
        assert!(matches!(gone, Err(StoreError::Missing { .. })), "{gone:?}");
        let listed: Vec<_> = lab
            .list(10)
            .await
            .into_iter()
            .map(|session| session.id)
            .collect();
        assert_eq!(listed, [session_id("other")], "only the other one is left");
        lab.store
            .delete(&session_id("other"))
            .await
            .expect("nobody holds it");
    }
    Ok(())
}

pub(in crate::store) async fn s7_errors_name_the_session_and_say_what_to_do(lab: Lab) -> Outcome {
    let session = lab.session("a-session-of-s7").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    let misused = match writer.append(accepted(5, 1)).await {
        Appended::NotWritten(error) => error,
        other @ (Appended::Written | Appended::Unknown(_) | Appended::Fenced) => {
            panic!("entry 5 where 1 is next: {other:?}")
        }
    };
    let nobody = session_id("nobody-of-s7");
    let missing = lab.store.is_held(&nobody).await.err();
    let errors = [
        ("writer-misuse", &session, Some(misused)),
        (
            "session-busy",
            &session,
            lab.store.delete(&session).await.err(),
        ),
        (
            "session-taken",
            &session,
            lab.store.create(&session, script()).await.err(),
        ),
        (
            "writer-misuse",
            &nobody,
            lab.store.create(&nobody, vec![]).await.err(),
        ),
        ("session-missing", &nobody, missing),
        (
            "session-missing",
            &nobody,
            lab.store.delete(&nobody).await.err(),
        ),
    ];
    for (kind, session, error) in errors {
        let error = error.unwrap_or_else(|| panic!("{kind}: no error"));
        assert_eq!(error.kind(), kind, "{error}");
        assert!(
            error.to_string().contains(session.as_str()),
            "{kind}: the message names no session: {error}"
        );
    }
    Ok(())
}

pub(in crate::store) async fn s7_a_reading_of_a_session_that_is_deleted_ends(lab: Lab) -> Outcome {
    let turns = (1..=700).map(|seq| accepted(seq, seq));
    let entries: Vec<Entry> = [created()].into_iter().chain(turns).collect();
    let session = lab.session_of("s7", entries.clone()).await;
    let mut parts = lab.store.read(&session, Seq::ZERO);
    let mut read = match parts.next().await {
        Some(Ok(JournalPart::Entries(first))) => first,
        other => panic!("a sound journal begins with entries: {other:?}"),
    };
    lab.store.delete(&session).await.expect("nobody holds it");
    lab.session("s7").await;
    // It goes on to its end or says that it can't; it never goes on with those of another.
    let mut failed = false;
    while let Some(part) = parts.next().await {
        assert!(!failed, "an error ends the stream");
        match part {
            Ok(JournalPart::Entries(more)) => read.extend(more),
            Ok(JournalPart::Torn(torn)) => panic!("nothing was torn: {torn:?}"),
            Err(_) => failed = true,
        }
    }
    assert!(entries.starts_with(&read), "those of another session");
    Ok(())
}
