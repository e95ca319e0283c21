//! S2: what is known of a write whose answer nobody has, and who finds it out.

use chat_core::{Acquired, Appended, Entry, Seq};
use futures_util::future::poll_immediate;

use crate::store::{
    Outcome,
    entries::{accepted, completed, created, dropped_after, script, write},
    lab::Lab,
};

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
                // Neither simply tried again, nor gone on with.
                for next in [entry.clone(), accepted(seq + 1, seq + 1)] {
                    let answer = writer.append(next).await;
                    assert!(
                        matches!(answer, Appended::NotWritten(_)),
                        "only `recover` may come after unknown: {answer:?}"
                    );
                }
                let recovered = writer
                    .recover(Seq(1))
                    .await
                    .expect("a sound journal can be recovered");
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
    assert_eq!(
        places(&lab.entries(&session).await),
        (0..=16).collect::<Vec<_>>()
    );
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
        // Whoever comes next finds the entry or does not; it can't come later. A write that stopped with its future may be torn.
        let Acquired {
            mut writer,
            entries,
            torn: _,
        } = lab.acquire(&session, Seq(next)).await;
        assert!(entries.len() <= 1, "{entries:?}");
        next += entries.len() as u64;
        write(&mut writer, completed(next, round)).await;
        next += 1;
    }
    assert_eq!(
        places(&lab.entries(&session).await),
        (0..next).collect::<Vec<_>>()
    );
    Ok(())
}

pub(in crate::store) async fn s2_recovery_after_a_dropped_append_is_truthful(lab: Lab) -> Outcome {
    lab.reopened().await?;
    for polls in 0..6 {
        let session = lab.session(&format!("s2-{polls}")).await;
        let (mut writer, _) = lab.hold(&session, Seq(1)).await;
        write(&mut writer, accepted(1, 1)).await;
        drop(dropped_after(writer.append(completed(2, 1)), polls).await);
        let recovered = writer
            .recover(Seq::ZERO)
            .await
            .expect("a sound journal can be recovered");
        drop(writer);
        // What it said is what is there: nothing less, and nothing that comes later.
        let again = lab.reopened().await?;
        assert_eq!(again.entries(&session).await, recovered.entries);
        let all = [created(), accepted(1, 1), completed(2, 1)];
        assert!(
            recovered.entries == all || recovered.entries == all[..2],
            "{:?}",
            recovered.entries
        );
        let next = recovered.entries.len() as u64;
        let (mut writer, _) = again.hold(&session, Seq(next)).await;
        write(&mut writer, completed(next, 1)).await;
    }
    Ok(())
}

pub(in crate::store) async fn s2_recovery_may_be_asked_at_any_time_and_again(lab: Lab) -> Outcome {
    let script = script();
    let session = lab.session_of("s2", script.clone()).await;
    let (mut writer, _) = lab.hold(&session, Seq(9)).await;
    for from in (0..=script.len()).chain([0, 0]) {
        let recovered = writer.recover(Seq(from as u64)).await;
        let recovered = recovered.expect("a sound journal can be recovered");
        assert_eq!(recovered.entries, script[from..], "from {from}");
        assert_eq!(recovered.torn, None, "nothing was torn");
    }
    write(&mut writer, completed(9, 4)).await;
    let recovered = writer
        .recover(Seq(9))
        .await
        .expect("a sound journal can be recovered");
    assert_eq!(recovered.entries, [completed(9, 4)]);
    Ok(())
}

fn places(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.seq().0).collect()
}
