//! S1: what is written, and where.

use chat_core::{Appended, Entry, EntryBody, EntryId, Seq, Timestamp};

use futures_util::future::join_all;

use crate::store::{
    Outcome,
    entries::{
        accepted, accepted_body, completed, created, entry, script, session_id, waits, write,
    },
    lab::Lab,
};

pub(in crate::store) async fn s1_what_is_appended_is_read_in_order(lab: Lab) -> Outcome {
    let session = lab.session("s1").await;
    let (mut writer, before) = lab.hold(&session, Seq::ZERO).await;
    assert_eq!(
        before,
        [created()],
        "a new journal holds what it was created with"
    );
    for entry in &script()[1..] {
        write(&mut writer, entry.clone()).await;
        let read = lab.entries(&session).await;
        assert_eq!(
            read.last(),
            Some(entry),
            "an entry is there when its append has answered"
        );
    }
    assert_eq!(lab.entries(&session).await, script());
    Ok(())
}

pub(in crate::store) async fn s1_an_acquire_gives_the_entries_since_a_place(lab: Lab) -> Outcome {
    let session = lab.session("s1").await;
    let script = script();
    let (mut writer, _) = lab.hold(&session, Seq::ZERO).await;
    for entry in &script[1..] {
        write(&mut writer, entry.clone()).await;
    }
    drop(writer);
    for from in 0..=script.len() {
        let place = Seq(from as u64);
        let (writer, since) = lab.hold(&session, place).await;
        assert_eq!(since, script[from..], "acquired from {place}");
        drop(writer);
        assert_eq!(
            lab.entries_from(&session, place).await,
            script[from..],
            "read from {place}"
        );
    }
    Ok(())
}

pub(in crate::store) async fn s1_the_same_entry_sent_again_is_written_once(lab: Lab) -> Outcome {
    let session = lab.session("s1").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    for entry in [
        accepted(1, 1),
        accepted(1, 1),
        completed(2, 1),
        completed(2, 1),
        accepted(1, 1),
        created(),
    ] {
        write(&mut writer, entry).await;
    }
    drop(writer);
    let (mut writer, _) = lab.hold(&session, Seq(3)).await;
    write(&mut writer, completed(2, 1)).await;
    write(&mut writer, accepted(3, 2)).await;
    assert_eq!(
        lab.entries(&session).await,
        [created(), accepted(1, 1), completed(2, 1), accepted(3, 2)]
    );
    Ok(())
}

pub(in crate::store) async fn s1_an_entry_for_another_place_is_refused_and_the_writer_goes_on(
    lab: Lab,
) -> Outcome {
    let session = lab.session("s1").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    let other = |seq: u64| {
        let id = EntryId::parse("someone-else").expect("an id");
        Entry::new(
            Seq(seq),
            id,
            Timestamp::UNIX_EPOCH,
            EntryBody::SessionCreated { labels: None },
        )
    };
    write(&mut writer, accepted(1, 1)).await;
    for wrong in [completed(3, 1), completed(u64::MAX, 1), other(1), other(0)] {
        let place = wrong.seq();
        let answer = writer.append(wrong).await;
        assert!(
            matches!(answer, Appended::NotWritten(_)),
            "an entry for place {place} where 2 is next: {answer:?}"
        );
    }
    write(&mut writer, completed(2, 1)).await;
    assert_eq!(
        lab.entries(&session).await,
        [created(), accepted(1, 1), completed(2, 1)]
    );
    Ok(())
}

pub(in crate::store) async fn s1_a_last_entry_is_durable_and_frees_the_session(
    lab: Lab,
) -> Outcome {
    let session = lab.session("s1").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    write(&mut writer, accepted(1, 1)).await;
    let answer = writer.append_last(completed(2, 1)).await;
    assert!(matches!(answer, Appended::Written), "{answer:?}");
    drop(writer);
    let (_writer, since) = lab.hold(&session, Seq(2)).await;
    assert_eq!(since, [completed(2, 1)]);
    Ok(())
}

pub(in crate::store) async fn s1_a_last_entry_that_is_not_written_keeps_the_hold(
    lab: Lab,
) -> Outcome {
    let session = lab.session("s1").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    let mut second = lab.store.acquire(&session, Seq(1));
    assert!(waits(&mut second).await, "two holders at once");
    let answer = writer.append_last(completed(5, 1)).await;
    assert!(matches!(answer, Appended::NotWritten(_)), "{answer:?}");
    assert!(
        waits(&mut second).await,
        "let go of, though the last entry was not written"
    );
    write(&mut writer, accepted(1, 1)).await;
    assert!(waits(&mut second).await, "two holders at once");
    let answer = writer.append_last(completed(2, 1)).await;
    assert!(matches!(answer, Appended::Written), "{answer:?}");
    drop(writer);
    let acquired = second.await.expect("the session is free");
    assert_eq!(acquired.entries, [accepted(1, 1), completed(2, 1)]);
    Ok(())
}

pub(in crate::store) async fn s1_a_place_beyond_the_end_gives_nothing(lab: Lab) -> Outcome {
    let session = lab.session_of("s1", script()).await;
    for from in [9, 10, 1000, u64::MAX] {
        assert_eq!(
            lab.entries_from(&session, Seq(from)).await,
            [],
            "read from {from}"
        );
        let (mut writer, since) = lab.hold(&session, Seq(from)).await;
        assert_eq!(since, [], "acquired from {from}");
        let recovered = writer.recover(Seq(from)).await;
        assert_eq!(
            recovered.expect("a sound journal").entries,
            [],
            "recovered from {from}"
        );
    }
    let (mut writer, _) = lab.hold(&session, Seq(1000)).await;
    write(&mut writer, completed(9, 4)).await;
    assert_eq!(lab.entries(&session).await.len(), 10);
    Ok(())
}

pub(in crate::store) async fn s1_long_and_odd_texts_come_back(lab: Lab) -> Outcome {
    let session = lab.session("s1").await;
    let long = "a line that is one of many\n".repeat(10_000);
    let texts = [
        "",
        " ",
        "\n",
        "\0",
        "\r\n",
        "\u{7f}\u{80}\u{2028}\u{2029}\u{feff}",
        "e\u{301} \u{e9} \u{fb01}",
        "'; drop table entries; --",
        "{\"v\":1,\"seq\":0}\n",
        "\\n \\u0000 \\",
        &long,
    ];
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    for (seq, text) in (1..).zip(texts) {
        write(&mut writer, entry(seq, accepted_body(seq, text))).await;
    }
    drop(writer);
    for (read, text) in lab.entries_from(&session, Seq(1)).await.iter().zip(texts) {
        assert!(
            matches!(read.body(), EntryBody::TurnAccepted { input, .. } if **input == *text),
            "{:.80?} came back as {:.200?}",
            text,
            read.body()
        );
    }
    assert_eq!(lab.entries(&session).await.len(), 1 + texts.len());
    Ok(())
}

pub(in crate::store) async fn s1_an_entry_sent_again_after_a_reopen_is_written_once(
    lab: Lab,
) -> Outcome {
    let session = lab.session("s1").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    write(&mut writer, accepted(1, 1)).await;
    write(&mut writer, completed(2, 1)).await;
    drop(writer);
    let again = lab.reopened().await?;
    let (mut writer, _) = again.hold(&session, Seq(3)).await;
    for entry in [completed(2, 1), accepted(1, 1), accepted(3, 2)] {
        write(&mut writer, entry).await;
    }
    assert_eq!(
        again.entries(&session).await,
        [created(), accepted(1, 1), completed(2, 1), accepted(3, 2)]
    );
    Ok(())
}

pub(in crate::store) async fn s1_many_sessions_are_written_at_once(lab: Lab) -> Outcome {
    let names: Vec<String> = (0..24).map(|n| format!("s1-{n}")).collect();
    let work = names.iter().zip(1..).map(|(name, turn)| {
        let lab = &lab;
        async move {
            let session = lab.session(name).await;
            let (mut writer, _) = lab.hold(&session, Seq(1)).await;
            for seq in 1..=6 {
                write(&mut writer, accepted(seq, turn)).await;
            }
            // One that is refused or sent again is its own matter, whoever is written with it.
            let answer = writer.append(accepted(9, turn)).await;
            assert!(matches!(answer, Appended::NotWritten(_)), "{answer:?}");
            write(&mut writer, accepted(6, turn)).await;
        }
    });
    join_all(work).await;
    for (name, turn) in names.iter().zip(1..) {
        let session = session_id(name);
        let entries: Vec<Entry> = (1..=6).map(|seq| accepted(seq, turn)).collect();
        assert_eq!(lab.entries_from(&session, Seq(1)).await, entries, "{name}");
    }
    Ok(())
}
