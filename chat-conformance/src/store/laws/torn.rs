//! S3: a torn tail, which is what a crash leaves. Kept are the whole entries before it.

use chat_core::{Acquired, Entry, Seq, StoreError};

use crate::store::{
    Harm, Outcome,
    entries::{accepted, completed, created, write},
    lab::Lab,
};

/// A journal of three entries.
fn three() -> Vec<Entry> {
    vec![created(), accepted(1, 1), completed(2, 1)]
}

/// Cuts of the last of three entries: its first byte, all but its last, and some between.
fn cuts() -> Vec<usize> {
    let len = completed(2, 1).encode().len();
    let mut cuts = vec![1, 2, 3, 5, 8, 13, 21, 34, 55, 89, len - 1];
    cuts.retain(|cut| *cut < len);
    cuts
}

pub(in crate::store) async fn s3_c20_a_cut_entry_is_set_aside_and_the_next_append_is_sound(
    mut lab: Lab,
) -> Outcome {
    for keep in cuts() {
        let session = lab.session_of(&format!("s3-{keep}"), three()).await;
        lab = lab.harmed(&session, Harm::CutLastEntry { keep }).await?;
        let Acquired {
            mut writer,
            entries,
            torn,
        } = lab.acquire(&session, Seq::ZERO).await;
        assert_eq!(entries, three()[..2], "cut after {keep} bytes");
        let torn = torn.unwrap_or_else(|| {
            panic!("cut after {keep} bytes: acquire says nothing of the torn tail")
        });
        assert_eq!(torn.bytes, keep as u64, "the whole tail is told of");
        // Another entry than the one that was cut: nothing of that one may show in it.
        write(&mut writer, accepted(2, 2)).await;
        drop(writer);
        let whole = [created(), accepted(1, 1), accepted(2, 2)];
        assert_eq!(lab.entries(&session).await, whole, "cut after {keep} bytes");
        lab = lab.reopened().await?;
        assert_eq!(
            lab.hold(&session, Seq::ZERO).await.1,
            whole,
            "set aside once and for all"
        );
        assert_eq!(lab.entries(&session).await, whole, "cut after {keep} bytes");
    }
    Ok(())
}

pub(in crate::store) async fn s3_reading_stops_before_a_torn_tail_and_changes_nothing(
    lab: Lab,
) -> Outcome {
    let session = lab.session_of("s3", three()).await;
    let lab = lab
        .harmed(&session, Harm::CutLastEntry { keep: 21 })
        .await?;
    let stored = lab.stored(&session).await;
    for from in [0, 1, 2, 3, 0] {
        let read = lab.read(&session, Seq(from)).await;
        assert!(read.error.is_none(), "{:?}", read.error);
        let whole = &three()[..2];
        assert_eq!(read.entries, whole[whole.len().min(from as usize)..]);
        let torn = read.torn.unwrap_or_else(|| {
            panic!("read from {from}: nobody holds it, and the torn tail is not told of")
        });
        assert_eq!((torn.bytes, torn.set_aside), (21, None), "read from {from}");
    }
    lab.salvage(&session).await;
    assert!(!lab.store.is_held(&session).await.expect("it can be asked"));
    assert_eq!(lab.summary(&session).await.turns, 1);
    assert_eq!(
        lab.stored(&session).await,
        stored,
        "reading, listing and salvaging change nothing"
    );
    // What may change something still finds it.
    let torn = lab.acquire(&session, Seq(2)).await.torn;
    assert_eq!(torn.map(|torn| torn.bytes), Some(21));
    Ok(())
}

pub(in crate::store) async fn s3_a_tail_of_nuls_is_torn(mut lab: Lab) -> Outcome {
    for bytes in [1, 80, 5000] {
        let session = lab.session_of(&format!("s3-{bytes}"), three()).await;
        lab = lab.harmed(&session, Harm::NulTail { bytes }).await?;
        let read = lab.read(&session, Seq::ZERO).await;
        assert_eq!(read.entries, three(), "{bytes} NULs");
        assert_eq!(
            read.torn.map(|torn| torn.bytes),
            Some(bytes as u64),
            "{:?}",
            read.error
        );
        let Acquired {
            mut writer,
            entries,
            torn,
        } = lab.acquire(&session, Seq::ZERO).await;
        assert_eq!(entries, three(), "{bytes} NULs");
        assert_eq!(torn.map(|torn| torn.bytes), Some(bytes as u64));
        write(&mut writer, accepted(3, 2)).await;
        drop(writer);
        lab = lab.reopened().await?;
        assert_eq!(lab.entries_from(&session, Seq(3)).await, [accepted(3, 2)]);
    }
    Ok(())
}

pub(in crate::store) async fn s3_a_torn_tail_is_not_told_of_while_someone_holds(
    lab: Lab,
) -> Outcome {
    let session = lab.session_of("s3", three()).await;
    let (writer, _) = lab.hold(&session, Seq(3)).await;
    // What a reader sees of a holder's write that is under way.
    lab.harm(&session, Harm::NulTail { bytes: 80 }).await?;
    assert_eq!(lab.entries(&session).await, three());
    if let Ok(other) = lab.another_process().await {
        assert_eq!(other.entries(&session).await, three());
    }
    drop(writer);
    let read = lab.read(&session, Seq::ZERO).await;
    assert_eq!(
        read.torn.map(|torn| torn.bytes),
        Some(80),
        "nobody holds it any more"
    );
    Ok(())
}

pub(in crate::store) async fn s2_recovery_sets_a_torn_tail_aside_and_says_so(lab: Lab) -> Outcome {
    let session = lab.session_of("s2", three()).await;
    let (mut writer, _) = lab.hold(&session, Seq(3)).await;
    // As a write of this holder's that failed half-way leaves it.
    lab.harm(&session, Harm::NulTail { bytes: 80 }).await?;
    let recovered = writer.recover(Seq(2)).await;
    let recovered = recovered.expect("a journal with a torn tail can be recovered");
    assert_eq!(recovered.entries, [completed(2, 1)]);
    assert_eq!(
        recovered.torn.map(|torn| torn.bytes),
        Some(80),
        "what was set aside is told of"
    );
    write(&mut writer, accepted(3, 2)).await;
    drop(writer);
    let lab = lab.reopened().await?;
    assert_eq!(lab.entries_from(&session, Seq(2)).await.len(), 2);
    Ok(())
}

pub(in crate::store) async fn s3_a_cut_first_entry_is_damage(lab: Lab) -> Outcome {
    let session = lab.session("s3").await;
    let lab = lab
        .harmed(&session, Harm::CutLastEntry { keep: 21 })
        .await?;
    // A journal is created whole: no crash explains this.
    let error = lab.read(&session, Seq::ZERO).await.error;
    assert!(matches!(error, Some(StoreError::Damaged(_))), "{error:?}");
    let error = lab.store.acquire(&session, Seq::ZERO).await;
    assert!(matches!(error, Err(StoreError::Damaged(_))), "{error:?}");
    let listed = lab.summary(&session).await.error;
    assert!(matches!(listed, Some(StoreError::Damaged(_))), "{listed:?}");
    Ok(())
}

pub(in crate::store) async fn s6_a_torn_tail_is_not_in_the_list(lab: Lab) -> Outcome {
    let entries = vec![created(), completed(1, 1), accepted(2, 1)];
    let session = lab.session_of("s6", entries).await;
    let lab = lab
        .harmed(&session, Harm::CutLastEntry { keep: 55 })
        .await?;
    let summary = lab.summary(&session).await;
    assert!(summary.error.is_none(), "a torn tail is no damage");
    assert_eq!((summary.turns, summary.title), (0, None));
    assert_eq!(summary.last_activity, Some(completed(1, 1).at()));
    Ok(())
}
