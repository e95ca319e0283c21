//! S1 and S2: what is written, when, and what is known of it.

use chat_core::{Appended, Entry, EntryBody, EntryId, Seq, Timestamp};
use futures_util::future::poll_immediate;

use crate::store::{
    Outcome,
    factory::{Lab, accepted, completed, created, entries, script, write},
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
            entries(&*lab.store, &session, place).await,
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

pub(in crate::store) async fn s2_a_dropped_append_is_unknown_until_recovered(lab: Lab) -> Outcome {
    dropped_write(&lab, false).await;
    Ok(())
}

pub(in crate::store) async fn s2_a_dropped_last_append_is_unknown_until_recovered(
    lab: Lab,
) -> Outcome {
    dropped_write(&lab, true).await;
    Ok(())
}

/// A store may answer at once, and then nothing is unknown; or it is dropped in the middle, and then everything is.
async fn dropped_write(lab: &Lab, last: bool) {
    let session = lab.session("s2").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    for seq in 1..=16 {
        let entry = accepted(seq, seq);
        let write_it = if last {
            writer.append_last(entry.clone())
        } else {
            writer.append(entry.clone())
        };
        match poll_immediate(write_it).await {
            Some(answer) => {
                assert!(matches!(answer, Appended::Written), "{answer:?}");
                if last {
                    drop(writer);
                    (writer, _) = lab.hold(&session, Seq(1)).await;
                }
                continue;
            }
            None => {
                let answer = writer.append(accepted(seq + 1, seq + 1)).await;
                assert!(
                    matches!(answer, Appended::NotWritten(_)),
                    "only `recover` may come after unknown: {answer:?}"
                );
                let recovered = writer
                    .recover(Seq(1))
                    .await
                    .expect("a sound journal can be recovered");
                assert_eq!(recovered.torn, None, "nothing was torn");
                let written = usize::try_from(seq).expect("small") - 1;
                assert!(
                    recovered.entries.len() == written || recovered.entries.last() == Some(&entry),
                    "recovery tells whether the entry was written, and nothing else was: {:?}",
                    recovered.entries
                );
                // Sent again whichever it was: it is written once.
                write(&mut writer, entry).await;
            }
        }
    }
    let places: Vec<_> = lab
        .entries(&session)
        .await
        .iter()
        .map(|entry| entry.seq().0)
        .collect();
    assert_eq!(places, (0..=16).collect::<Vec<_>>());
}

pub(in crate::store) async fn s2_a_dropped_writer_frees_the_session_once_its_write_has_ended(
    lab: Lab,
) -> Outcome {
    let session = lab.session("s2").await;
    let mut next = 1;
    for round in 0..16 {
        let (mut writer, _) = lab.hold(&session, Seq(next)).await;
        drop(poll_immediate(writer.append(accepted(next, round))).await);
        drop(writer);
        // Whoever comes next finds the entry or does not; it can't come later.
        let (mut writer, since) = lab.hold(&session, Seq(next)).await;
        assert!(since.len() <= 1, "{since:?}");
        next += since.len() as u64;
        write(&mut writer, completed(next, round)).await;
        next += 1;
    }
    let places: Vec<_> = lab
        .entries(&session)
        .await
        .iter()
        .map(|entry| entry.seq().0)
        .collect();
    assert_eq!(places, (0..next).collect::<Vec<_>>());
    Ok(())
}
