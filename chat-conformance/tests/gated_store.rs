//! The gate does what a test plans, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

use chat_conformance::{Fault, Gate, GatedStore, Op, StoreFactory};
use chat_core::{
    Acquired, Appended, Entry, EntryBody, EntryId, JournalPart, JournalWriter, ListRequest,
    MemoryStore, Seq, SessionId, Store, StoreError, Timestamp,
};
use futures_util::{StreamExt as _, future::poll_immediate};

struct Gated;

impl StoreFactory for Gated {
    type Store = GatedStore<MemoryStore>;

    async fn make(&self) -> Self::Store {
        GatedStore::new(MemoryStore::new()).0
    }

    async fn reopen(&self, _: &Self::Store) -> Self::Store {
        unreachable!("it claims neither to be shared nor to outlive its process")
    }
}

/// With nothing planned it is as sound as the store behind it.
mod unplanned {
    chat_conformance::store_laws!(super::Gated);
}

fn entry(seq: u64) -> Entry {
    let body = match seq {
        0 => EntryBody::SessionCreated { labels: None },
        _ => EntryBody::Unknown {
            kind: "note".into(),
        },
    };
    Entry::new(
        Seq(seq),
        EntryId::parse(format!("e{seq}")).unwrap(),
        Timestamp::UNIX_EPOCH,
        body,
    )
}

fn session() -> SessionId {
    SessionId::parse("s").unwrap()
}

async fn bench() -> (GatedStore<MemoryStore>, Gate) {
    let (store, gate) = GatedStore::new(MemoryStore::new());
    store
        .inner()
        .create(&session(), vec![entry(0)])
        .await
        .unwrap();
    (store, gate)
}

async fn writer(store: &impl Store) -> Box<dyn JournalWriter> {
    let Acquired { writer, .. } = store.acquire(&session(), Seq(1)).await.unwrap();
    writer
}

/// What is really in the store.
async fn places(store: &GatedStore<MemoryStore>) -> Vec<u64> {
    let mut parts = store.inner().read(&session(), Seq::ZERO);
    let mut places = Vec::new();
    while let Some(part) = parts.next().await {
        match part.unwrap() {
            JournalPart::Entries(entries) => {
                places.extend(entries.iter().map(|entry| entry.seq().0))
            }
            JournalPart::Torn(torn) => panic!("{torn:?}"),
        }
    }
    places
}

#[tokio::test]
async fn what_is_planned_for_a_write_is_its_answer_and_its_effect() {
    for op in [Op::Append, Op::AppendLast] {
        for (fault, word, written) in [
            (Fault::NotWritten, "not written", false),
            (
                Fault::Fails(StoreError::backend("mine")),
                "not written",
                false,
            ),
            (Fault::UnknownWritten, "unknown", true),
            (Fault::UnknownNotWritten, "unknown", false),
            (Fault::Fenced, "fenced", false),
        ] {
            let (store, gate) = bench().await;
            gate.next(op).answer(fault);
            let mut writer = writer(&store).await;
            let answer = match op {
                Op::AppendLast => writer.append_last(entry(1)).await,
                _ => writer.append(entry(1)).await,
            };
            let answered = match answer {
                Appended::Written => "written",
                Appended::NotWritten(_) => "not written",
                Appended::Unknown(_) => "unknown",
                Appended::Fenced => "fenced",
            };
            assert_eq!(
                (answered, places(&store).await.len() == 2),
                (word, written),
                "{op}"
            );
            if word == "unknown" {
                let misused = writer.append(entry(1)).await;
                assert!(
                    matches!(misused, Appended::NotWritten(StoreError::Misuse { .. })),
                    "{misused:?}"
                );
                let recovered = writer.recover(Seq(1)).await.unwrap();
                assert_eq!(recovered.entries.len(), usize::from(written));
            }
            if word != "fenced" {
                assert!(
                    store.inner().is_held(&session()).await.unwrap(),
                    "the hold stays after anything but written"
                );
                assert!(matches!(writer.append(entry(1)).await, Appended::Written));
            }
        }
    }
}

#[tokio::test]
async fn plans_for_one_kind_are_served_in_order_and_pass_the_others_by() {
    let (store, gate) = bench().await;
    gate.nth(Op::Append, 3).answer(Fault::NotWritten);
    gate.next(Op::Append).answer(Fault::NotWritten);
    gate.next(Op::Append)
        .answer(Fault::Fails(StoreError::backend("second")));
    let mut writer = writer(&store).await;
    let mut failed = Vec::new();
    for _ in 0..4 {
        match writer.append(entry(1)).await {
            Appended::NotWritten(error) => failed.push(error.to_string()),
            other => assert!(matches!(other, Appended::Written), "{other:?}"),
        }
    }
    assert_eq!(failed.len(), 3);
    assert!(failed[1].contains("second"), "{failed:?}");
    assert_eq!(places(&store).await, [0, 1]);
}

#[tokio::test]
async fn a_pause_waits_before_the_store_and_a_paused_answer_behind_it() {
    let (store, gate) = bench().await;
    let mut writer = writer(&store).await;

    let before = gate.pause(Op::Append);
    let mut append = writer.append(entry(1));
    assert!(poll_immediate(&mut append).await.is_none());
    before.reached().await;
    assert_eq!(places(&store).await, [0]);
    before.release();
    assert!(matches!(append.await, Appended::Written));

    let after = gate.next(Op::Append).pause_answer();
    let mut append = writer.append(entry(2));
    assert!(poll_immediate(&mut append).await.is_none());
    assert!(after.is_reached());
    assert_eq!(places(&store).await, [0, 1, 2]);
    after.answer(Fault::UnknownWritten);
    assert!(matches!(append.await, Appended::Unknown(_)));
    assert_eq!(writer.recover(Seq(2)).await.unwrap().entries, [entry(2)]);
}

#[tokio::test]
async fn a_pause_can_end_in_a_fault_and_a_dropped_one_in_nothing() {
    let (store, gate) = bench().await;
    let mut writer = writer(&store).await;
    let pause = gate.pause(Op::Append);
    let mut append = writer.append(entry(1));
    assert!(poll_immediate(&mut append).await.is_none());
    pause.answer(Fault::NotWritten);
    assert!(matches!(append.await, Appended::NotWritten(_)));

    drop(gate.pause(Op::Append));
    assert!(matches!(writer.append(entry(1)).await, Appended::Written));
}

#[tokio::test]
async fn a_dropped_future_is_seen_and_leaves_its_write_unknown() {
    let (store, gate) = bench().await;
    let mut writer = writer(&store).await;
    let pause = gate.pause(Op::Append);
    assert!(poll_immediate(writer.append(entry(1))).await.is_none());
    pause.given_up().await;
    assert!(matches!(
        writer.append(entry(1)).await,
        Appended::NotWritten(StoreError::Misuse { .. })
    ));
    assert_eq!(writer.recover(Seq(1)).await.unwrap().entries, []);
    assert!(matches!(writer.append(entry(1)).await, Appended::Written));

    let pause = gate.pause(Op::Acquire);
    assert!(
        poll_immediate(store.acquire(&session(), Seq(1)))
            .await
            .is_none()
    );
    pause.given_up().await;
}

#[tokio::test]
async fn s5_a_lost_hold_is_told_fences_the_writer_and_frees_the_session() {
    let (store, gate) = bench().await;
    let mut writer = writer(&store).await;
    let mut lost = writer.lost();
    assert!(poll_immediate(&mut lost).await.is_none());
    gate.lose_hold(&SessionId::parse("another").unwrap());
    assert!(poll_immediate(&mut lost).await.is_none());
    gate.lose_hold(&session());
    lost.await;
    assert!(matches!(writer.append(entry(1)).await, Appended::Fenced));
    assert!(matches!(
        writer.recover(Seq(1)).await,
        Err(StoreError::HoldLost { .. })
    ));
    let mut other = store
        .inner()
        .acquire(&session(), Seq(1))
        .await
        .unwrap()
        .writer;
    assert!(matches!(other.append(entry(1)).await, Appended::Written));
}

#[tokio::test]
async fn t13_a_write_the_store_has_done_stands_when_the_hold_is_lost_after_it() {
    let (store, gate) = bench().await;
    let mut writer = writer(&store).await;
    let pause = gate.next(Op::Append).pause_answer();
    let mut append = writer.append(entry(1));
    assert!(poll_immediate(&mut append).await.is_none());
    gate.lose_hold(&session());
    pause.release();
    assert!(matches!(append.await, Appended::Written));
    assert!(matches!(writer.append(entry(2)).await, Appended::Fenced));
    assert_eq!(places(&store).await, [0, 1]);
}

#[tokio::test]
async fn every_kind_of_operation_can_be_failed() {
    let (store, gate) = bench().await;
    let id = session();
    for op in [
        Op::Create,
        Op::Read,
        Op::Acquire,
        Op::List,
        Op::Delete,
        Op::IsHeld,
        Op::Salvage,
    ] {
        gate.next(op).answer(Fault::NotWritten);
    }
    let other = SessionId::parse("other").unwrap();
    assert!(store.create(&other, vec![entry(0)]).await.is_err());
    assert!(store.read(&id, Seq::ZERO).next().await.unwrap().is_err());
    assert!(store.acquire(&id, Seq::ZERO).await.is_err());
    assert!(store.list(ListRequest::default()).await.is_err());
    assert!(store.delete(&id).await.is_err());
    assert!(store.is_held(&id).await.is_err());
    assert!(store.salvage(&id).await.is_err());
    assert_eq!(
        store
            .inner()
            .list(ListRequest::default())
            .await
            .unwrap()
            .sessions
            .len(),
        1,
        "nothing was done"
    );

    gate.next(Op::Create).answer(Fault::UnknownWritten);
    assert!(store.create(&other, vec![entry(0)]).await.is_err());
    assert_eq!(
        store
            .inner()
            .list(ListRequest::default())
            .await
            .unwrap()
            .sessions
            .len(),
        2,
        "done all the same"
    );

    let mut writer = writer(&store).await;
    gate.next(Op::Append).answer(Fault::UnknownWritten);
    gate.next(Op::Recover).answer(Fault::NotWritten);
    assert!(matches!(
        writer.append(entry(1)).await,
        Appended::Unknown(_)
    ));
    assert!(writer.recover(Seq(1)).await.is_err());
    assert!(
        matches!(
            writer.append(entry(2)).await,
            Appended::NotWritten(StoreError::Misuse { .. })
        ),
        "still unknown"
    );
    assert_eq!(
        writer.recover(Seq(1)).await.unwrap().entries,
        [entry(1)],
        "it may be asked again"
    );
}

#[tokio::test]
async fn what_is_seen_is_recorded_and_can_be_waited_for() {
    let (store, gate) = bench().await;
    let reached = tokio::spawn({
        let gate = gate.clone();
        async move { gate.reached(Op::AppendLast, 1).await }
    });
    let mut writer = writer(&store).await;
    assert_eq!(gate.holds(), 1);
    assert!(matches!(writer.append(entry(1)).await, Appended::Written));
    assert!(matches!(
        writer.append_last(entry(2)).await,
        Appended::Written
    ));
    reached.await.unwrap();
    let released = tokio::spawn({
        let gate = gate.clone();
        async move { gate.all_released().await }
    });
    drop(writer);
    released.await.unwrap();
    assert_eq!(gate.holds(), 0);
    let seen: Vec<_> = gate
        .seen()
        .into_iter()
        .map(|seen| (seen.op, seen.from, seen.entry))
        .collect();
    assert_eq!(
        seen,
        [
            (Op::Acquire, Some(Seq(1)), None),
            (Op::Append, None, Some(entry(1))),
            (Op::AppendLast, None, Some(entry(2))),
        ]
    );
    assert_eq!((gate.count(Op::Append), gate.count(Op::Recover)), (1, 0));
}
