//! S8 and J: what is read is what was written.

use chat_core::{Entry, JournalPart, Seq, Transcript, TurnStatus};
use futures_util::StreamExt as _;

use crate::store::{
    Outcome,
    entries::{accepted, completed, created, script, steered, write},
    lab::Lab,
};

pub(in crate::store) async fn s8_a_reopened_store_reads_the_same(lab: Lab) -> Outcome {
    lab.reopened().await?;
    let session = lab.session_of("s8", script()).await;
    let (mut writer, _) = lab.hold(&session, Seq(9)).await;
    write(&mut writer, completed(9, 4)).await;
    drop(writer);
    let before = lab.entries(&session).await;
    let list = lab.list(10).await;

    let again = lab.reopened().await?;
    assert_eq!(again.entries(&session).await, before);
    assert_eq!(format!("{list:?}"), format!("{:?}", again.list(10).await));
    assert_eq!(again.hold(&session, Seq(8)).await.1, before[8..]);
    Ok(())
}

pub(in crate::store) async fn s8_the_transcript_is_that_of_the_script(lab: Lab) -> Outcome {
    let session = lab.session_of("s8", script()).await;
    let replay = |entries: &[Entry]| {
        let mut transcript = Transcript::default();
        entries.iter().for_each(|entry| transcript.apply(entry));
        transcript.turns().iter().cloned().collect::<Vec<_>>()
    };
    let turns = replay(&lab.entries(&session).await);
    assert_eq!(turns, replay(&script()));
    let status: Vec<_> = turns.iter().map(|turn| turn.status).collect();
    use TurnStatus::{Canceled, Completed, Interrupted};
    assert_eq!(status, [Completed, Completed, Canceled, Interrupted]);
    Ok(())
}

pub(in crate::store) async fn j2_what_is_not_known_is_kept_to_the_byte(lab: Lab) -> Outcome {
    let texts = [
        r#"{"v":1,"seq":0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"session.created","mood":"calm"}"#,
        r#"{"v":1,"seq":1,"id":"e1","at":"2026-01-31T09:30:00.000Z","type":"turn.rated","stars":4.50,"crc":"x","input":7}"#,
        r#"{"v":1,"seq":2,"id":"e2","at":"2026-01-31T09:30:00.000Z","type":"turn.accepted","turnId":"t","input":"a\u00e9\/b","n":1E400}"#,
        r#"{ "v": 1, "seq": 3,  "id":"e3","at":"2026-01-31T10:30:00+01:00","type":"x","deep":{"a":[1.0,10000000000000000000000]} }"#,
        r#"{"v":1,"seq":4,"id":"e4","at":"2026-01-31T09:30:00.000Z","type":"turn.steered","turnId":"t","input":"","z":null,"nul":"\u0000"}"#,
    ];
    let decoded: Vec<_> = texts
        .iter()
        .map(|text| Entry::decode(text).expect("these are entries"))
        .collect();
    let session = lab.session_of("j2", decoded[..2].to_vec()).await;
    let (mut writer, _) = lab.hold(&session, Seq(2)).await;
    for entry in &decoded[2..] {
        write(&mut writer, entry.clone()).await;
    }
    drop(writer);
    let check = |read: &[Entry]| {
        let read: Vec<_> = read
            .iter()
            .map(|entry| entry.encode().to_string())
            .collect();
        assert_eq!(read, texts);
    };
    check(&lab.entries(&session).await);
    check(&lab.hold(&session, Seq::ZERO).await.1);
    if let Ok(again) = lab.reopened().await {
        check(&again.entries(&session).await);
    }
    Ok(())
}

pub(in crate::store) async fn j5_a_turn_costs_two_entries_and_one_per_steering(
    lab: Lab,
) -> Outcome {
    let session = lab.session("j5").await;
    for (turn, steerings) in [(1, 0), (2, 1), (3, 3)] {
        let before = lab.entries(&session).await.len() as u64;
        let (mut writer, _) = lab.hold(&session, Seq(before)).await;
        write(&mut writer, accepted(before, turn)).await;
        for n in 1..=steerings {
            write(&mut writer, steered(before + n, turn)).await;
        }
        let answer = writer
            .append_last(completed(before + steerings + 1, turn))
            .await;
        assert!(matches!(answer, chat_core::Appended::Written), "{answer:?}");
        drop(writer);
        assert_eq!(
            lab.entries(&session).await.len() as u64,
            before + 2 + steerings
        );
    }
    Ok(())
}

pub(in crate::store) async fn c27_a_long_journal_is_read_in_batches(lab: Lab) -> Outcome {
    let mut script = vec![created()];
    for turn in 0..1000 {
        script.push(accepted(2 * turn + 1, turn));
        script.push(completed(2 * turn + 2, turn));
    }
    let session = lab.session_of("c27", script.clone()).await;
    let mut parts = lab.store.read(&session, Seq(1));
    let mut read = Vec::new();
    let mut batches = 0;
    while let Some(part) = parts.next().await {
        match part.expect("a sound journal can be read") {
            JournalPart::Entries(entries) => {
                assert!(!entries.is_empty(), "a batch holds something");
                read.extend(entries);
                batches += 1;
            }
            JournalPart::Torn(torn) => panic!("a torn tail in a sound journal: {torn:?}"),
        }
    }
    assert_eq!(read, script[1..]);
    assert!(
        batches > 1 || !lab.store.capabilities().persistent,
        "a long journal in one piece"
    );
    // A reader that stops early costs nobody anything.
    drop(lab.store.read(&session, Seq::ZERO).next().await);
    drop(lab.hold(&session, Seq(2001)).await);
    Ok(())
}
