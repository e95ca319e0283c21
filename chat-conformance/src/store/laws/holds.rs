//! S5: the hold, within one process.

use chat_core::{Seq, StoreError};
use futures_util::{StreamExt as _, future::poll_immediate, stream::FuturesUnordered};

use crate::store::{
    Outcome,
    entries::{accepted, completed, waits, write},
    lab::Lab,
};

pub(in crate::store) async fn s5_an_acquire_waits_for_the_holder(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    let mut second = lab.store.acquire(&session, Seq(1));
    assert!(waits(&mut second).await, "two holders at once");
    write(&mut writer, accepted(1, 1)).await;
    assert!(waits(&mut second).await, "two holders at once");
    write(&mut writer, completed(2, 1)).await;
    drop(writer);
    let acquired = second.await.expect("the session is free");
    assert_eq!(
        acquired.entries,
        [accepted(1, 1), completed(2, 1)],
        "with the hold comes what was written before"
    );
    Ok(())
}

pub(in crate::store) async fn s5_first_come_first_served(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let (writer, _) = lab.hold(&session, Seq(1)).await;
    let mut waiting = FuturesUnordered::new();
    for place in 0..8 {
        let mut acquire = lab.store.acquire(&session, Seq(1));
        assert!(waits(&mut acquire).await, "two holders at once");
        waiting.push(async move { (place, acquire.await.expect("the session is free")) });
    }
    drop(writer);
    let mut served = Vec::new();
    while let Some((place, acquired)) = waiting.next().await {
        served.push(place);
        drop(acquired);
    }
    assert_eq!(served, (0..8).collect::<Vec<_>>());
    Ok(())
}

pub(in crate::store) async fn s5_dropping_an_acquire_gives_up_the_place(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let (writer, _) = lab.hold(&session, Seq(1)).await;
    let mut first = lab.store.acquire(&session, Seq(1));
    let mut second = lab.store.acquire(&session, Seq(1));
    assert!(
        waits(&mut first).await && waits(&mut second).await,
        "two holders at once"
    );
    drop(first);
    drop(writer);
    drop(second.await.expect("the place before it was given up"));
    // Given up in any moment: right away, or while it is being served.
    for polls in 0..8 {
        let mut acquire = lab.store.acquire(&session, Seq(1));
        for _ in 0..polls {
            if poll_immediate(&mut acquire).await.is_some() {
                break;
            }
            // Something else of the store's in between, so that its work has time to go on.
            assert_eq!(lab.entries(&session).await.len(), 1);
        }
        drop(acquire);
        drop(lab.hold(&session, Seq(1)).await);
    }
    Ok(())
}

pub(in crate::store) async fn s5_reading_and_listing_never_wait_for_a_writer(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    write(&mut writer, accepted(1, 1)).await;
    let mut waiting = lab.store.acquire(&session, Seq(1));
    assert!(waits(&mut waiting).await, "two holders at once");
    assert_eq!(lab.entries(&session).await.len(), 2);
    assert_eq!(lab.list(10).await.len(), 1);
    assert_eq!(lab.salvage(&session).await.len(), 2);
    write(&mut writer, completed(2, 1)).await;
    assert_eq!(lab.entries(&session).await.len(), 3);
    Ok(())
}

pub(in crate::store) async fn s5_is_held_tells_holder_from_none(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let held = || async { lab.store.is_held(&session).await.expect("it can be asked") };
    assert!(!held().await, "nobody took it");
    let (writer, _) = lab.hold(&session, Seq(1)).await;
    assert!(held().await);
    drop(writer);
    assert!(!held().await, "it was let go of");
    drop(lab.hold(&session, Seq(1)).await);
    Ok(())
}

pub(in crate::store) async fn s5_a_hold_is_not_lost_while_it_is_held(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    let mut lost = writer.lost();
    assert!(waits(&mut lost).await, "lost while it is held");
    write(&mut writer, accepted(1, 1)).await;
    assert!(waits(&mut lost).await, "lost while it is held");
    drop(writer);
    assert!(waits(&mut lost).await, "let go of is not lost");
    Ok(())
}

pub(in crate::store) async fn s5_one_session_does_not_wait_for_another(lab: Lab) -> Outcome {
    let mut writers = Vec::new();
    for n in 0..32 {
        let session = lab.session(&format!("s5-{n}")).await;
        writers.push(lab.hold(&session, Seq(1)).await.0);
    }
    for writer in &mut writers {
        write(writer, accepted(1, 1)).await;
    }
    Ok(())
}

pub(in crate::store) async fn s5_512_waiters_are_in_nobodys_way(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    let mut waiting: Vec<_> = (0..512)
        .map(|_| lab.store.acquire(&session, Seq(9)))
        .collect();
    for seq in 1..=8 {
        for acquire in &mut waiting {
            assert!(
                poll_immediate(acquire).await.is_none(),
                "two holders at once"
            );
        }
        write(&mut writer, accepted(seq, seq)).await;
        assert_eq!(lab.entries(&session).await.len() as u64, 1 + seq);
    }
    let busy = lab.store.delete(&session).await;
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    // Three of four give up, the one in front among them.
    let mut served: FuturesUnordered<_> = waiting
        .into_iter()
        .enumerate()
        .filter(|(place, _)| place % 4 == 3)
        .map(|(place, acquire)| async move { (place, acquire.await.expect("the session is free")) })
        .collect();
    drop(writer);
    let mut order = Vec::new();
    while let Some((place, acquired)) = served.next().await {
        order.push(place);
        drop(acquired);
    }
    assert_eq!(order, (0..512).filter(|n| n % 4 == 3).collect::<Vec<_>>());
    Ok(())
}

pub(in crate::store) async fn s5_a_reader_is_not_disturbed_by_a_writer(lab: Lab) -> Outcome {
    read_while_writing(&lab, &lab).await
}

/// Reads over and over while another writes: what was acknowledged before a reading began is in it, in order, and whole.
pub(super) async fn read_while_writing(lab: &Lab, reader: &Lab) -> Outcome {
    const ENTRIES: u64 = 40;
    let session = lab.session("s5").await;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    let written = std::sync::atomic::AtomicU64::new(1);
    let order = std::sync::atomic::Ordering::SeqCst;
    let writing = async {
        for seq in 1..=ENTRIES {
            write(&mut writer, accepted(seq, seq)).await;
            written.store(1 + seq, order);
            tokio::task::yield_now().await;
        }
    };
    let reading = async {
        loop {
            let before = written.load(order);
            let read = reader.entries(&session).await;
            let places: Vec<u64> = read.iter().map(|entry| entry.seq().0).collect();
            assert_eq!(places, (0..read.len() as u64).collect::<Vec<_>>());
            assert!(
                read.len() as u64 >= before,
                "{before} entries were acknowledged, and {} are read",
                read.len()
            );
            if before > ENTRIES {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    futures_util::future::join(writing, reading).await;
    Ok(())
}
