//! S1 and S2 over a loss of power: what was answered stays, and what was cut off is whole or not there.

use chat_core::{Appended, Seq, StoreError};

use crate::store::{
    Outcome,
    entries::{accepted, completed, created, dropped_after, script, session_id, write},
    lab::Lab,
};

pub(in crate::store) async fn s1_what_was_written_survives_a_loss_of_power(
    mut lab: Lab,
) -> Outcome {
    let session = lab.session("s1").await;
    let script = script();
    for (place, entry) in script.iter().enumerate().skip(1) {
        let (mut writer, before) = lab.hold(&session, Seq::ZERO).await;
        assert_eq!(before, script[..place]);
        write(&mut writer, entry.clone()).await;
        // Its holder is gone with the power, and so is the hold.
        lab = lab.after_power_loss().await?;
        drop(writer);
        assert_eq!(lab.entries(&session).await, script[..=place]);
    }
    Ok(())
}

pub(in crate::store) async fn s1_a_last_entry_survives_a_loss_of_power(lab: Lab) -> Outcome {
    let session = lab.session("s1").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    write(&mut writer, accepted(1, 1)).await;
    let answer = writer.append_last(completed(2, 1)).await;
    assert!(matches!(answer, Appended::Written), "{answer:?}");
    let lab = lab.after_power_loss().await?;
    assert_eq!(
        lab.entries(&session).await,
        [created(), accepted(1, 1), completed(2, 1)]
    );
    Ok(())
}

pub(in crate::store) async fn s1_a_created_session_survives_a_loss_of_power(lab: Lab) -> Outcome {
    let session = lab.session_of("s1", script()).await;
    let lab = lab.after_power_loss().await?;
    assert_eq!(lab.entries(&session).await, script());
    assert_eq!(lab.ids(10).await, ["s1"]);
    Ok(())
}

pub(in crate::store) async fn s7_a_deleted_session_stays_deleted_over_a_loss_of_power(
    lab: Lab,
) -> Outcome {
    let session = lab.session_of("s7", script()).await;
    lab.session("other").await;
    lab.store.delete(&session).await.expect("nobody holds it");
    let lab = lab.after_power_loss().await?;
    assert_eq!(lab.ids(10).await, ["other"]);
    let gone = lab.store.acquire(&session, Seq::ZERO).await;
    assert!(matches!(gone, Err(StoreError::Missing { .. })), "{gone:?}");
    Ok(())
}

pub(in crate::store) async fn s2_what_an_acquire_returned_survives_a_loss_of_power(
    lab: Lab,
) -> Outcome {
    after_a_dropped_append(lab, Asked::Acquire).await
}

pub(in crate::store) async fn s2_what_a_recovery_returned_survives_a_loss_of_power(
    lab: Lab,
) -> Outcome {
    after_a_dropped_append(lab, Asked::Recover).await
}

#[derive(Clone, Copy)]
enum Asked {
    Acquire,
    Recover,
}

/// An append that stopped half-way may have left what shows as written and is not durable yet.
async fn after_a_dropped_append(mut lab: Lab, asked: Asked) -> Outcome {
    for polls in 1..6 {
        let session = lab.session(&format!("s2-{polls}")).await;
        let (mut writer, _) = lab.hold(&session, Seq(1)).await;
        drop(dropped_after(writer.append(accepted(1, 1)), polls).await);
        let returned = match asked {
            Asked::Recover => {
                let recovered = writer.recover(Seq::ZERO).await;
                recovered.expect("a sound journal can be recovered").entries
            }
            Asked::Acquire => {
                drop(writer);
                lab.acquire(&session, Seq::ZERO).await.entries
            }
        };
        lab = lab.after_power_loss().await?;
        assert_eq!(
            lab.entries(&session).await,
            returned,
            "what was returned is durable (dropped after {polls} polls)"
        );
    }
    Ok(())
}

pub(in crate::store) async fn s3_a_loss_of_power_amid_an_append_leaves_what_was_written(
    mut lab: Lab,
) -> Outcome {
    for polls in 0..6 {
        let session = lab.session(&format!("s3-{polls}")).await;
        let (mut writer, _) = lab.hold(&session, Seq(1)).await;
        write(&mut writer, accepted(1, 1)).await;
        drop(dropped_after(writer.append(completed(2, 1)), polls).await);
        lab = lab.after_power_loss().await?;
        drop(writer);
        let mut acquired = lab.acquire(&session, Seq::ZERO).await;
        let all = [created(), accepted(1, 1), completed(2, 1)];
        assert!(
            acquired.entries == all || acquired.entries == all[..2],
            "{:?}",
            acquired.entries
        );
        // Sent again whichever it was.
        write(&mut acquired.writer, completed(2, 1)).await;
        assert_eq!(lab.entries(&session).await, all);
    }
    Ok(())
}

pub(in crate::store) async fn s7_c34_a_create_cut_off_is_whole_or_not_there(
    mut lab: Lab,
) -> Outcome {
    lab.reopened().await?;
    for polls in 0..12 {
        let session = session_id(&format!("s7-{polls}"));
        let answer = dropped_after(lab.store.create(&session, script()), polls).await;
        // Where power can't be lost, the process can.
        lab = match lab.after_power_loss().await {
            Ok(lab) => lab,
            Err(_) => lab.reopened().await?,
        };
        let is_listed = async || lab.ids(100).await.contains(&session.to_string());
        // A create that goes on without its future may end at any time from now on.
        let before = is_listed().await;
        let read = lab.read(&session, Seq::ZERO).await;
        match read.error {
            None => {
                assert_eq!(read.entries, script(), "whole, or not there");
                assert!(is_listed().await, "it is there, and not listed");
            }
            Some(StoreError::Missing { .. }) => {
                assert!(answer.is_none(), "it was created, and is gone: {answer:?}");
                assert!(!before, "it was listed, and is not there");
                match lab.store.create(&session, script()).await {
                    Ok(()) | Err(StoreError::Taken { .. }) => {}
                    Err(error) => panic!("what a cut-off create left is in the way: {error}"),
                }
                assert_eq!(lab.entries(&session).await, script());
            }
            Some(error) => panic!("neither whole nor missing: {error}"),
        }
    }
    Ok(())
}
