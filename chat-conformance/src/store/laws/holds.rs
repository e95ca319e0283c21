//! S5: the hold.

use std::sync::Arc;

use chat_core::{Seq, Store};
use futures_util::{StreamExt as _, stream::FuturesUnordered};

use crate::store::{
    Outcome,
    factory::{Lab, accepted, completed, entries, waits, write},
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
            if futures_util::future::poll_immediate(&mut acquire)
                .await
                .is_some()
            {
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
    assert_eq!(
        lab.store
            .salvage(&session)
            .await
            .expect("a sound journal")
            .len(),
        2
    );
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
    if let Ok(other) = lab.another_process().await {
        assert!(
            other.is_held(&session).await.expect("it can be asked"),
            "another process sees the holder"
        );
    }
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

pub(in crate::store) async fn s5_holders_of_two_handles_take_turns(lab: Lab) -> Outcome {
    const EACH: u64 = 20;
    let session = lab.session("s5").await;
    let other = lab.another_process().await?;
    let turns = |store: Arc<dyn Store>, name: u64| {
        let session = session.clone();
        tokio::spawn(async move {
            let mut next = Seq::ZERO;
            for turn in 0..EACH {
                let mut acquired = store
                    .acquire(&session, next)
                    .await
                    .expect("the session becomes free");
                next = acquired
                    .entries
                    .last()
                    .map_or(next, |entry| entry.seq().next());
                write(&mut acquired.writer, accepted(next.0, name * 1000 + turn)).await;
                next = next.next();
            }
        })
    };
    let (one, two) = (turns(lab.store.clone(), 1), turns(other.clone(), 2));
    one.await.expect("the first handle's turns");
    two.await.expect("the second handle's turns");
    for store in [&lab.store, &other] {
        let places: Vec<_> = entries(&**store, &session, Seq::ZERO)
            .await
            .iter()
            .map(|entry| entry.seq().0)
            .collect();
        assert_eq!(places, (0..=2 * EACH).collect::<Vec<_>>());
    }
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
