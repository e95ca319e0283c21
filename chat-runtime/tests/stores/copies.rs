//! J2 and S8 for copies between stores of different kinds.

use std::sync::Arc;

use chat_core::{
    CopyError, Entry, Journal, MemoryStore, Store, StoreError, copy_all, copy_session,
};

use crate::kit::{id, open, places};

/// An entry of a type that nobody knows, written as no program here writes.
const UNKNOWN: &str = r#"{"v":1, "later":1e400,"seq":3,"id":"u","at":"2026-01-31T09:30:00.000Z","type":"turn.praised","text":"\u0041"}"#;

async fn lines(store: &dyn Store) -> Vec<Arc<str>> {
    Journal::read(store, &id()).await.unwrap().lines().collect()
}

#[tokio::test]
async fn j2_s8_a_session_is_the_same_in_every_store_it_is_copied_through() {
    for place in places() {
        let session = open(&place.echo()).await;
        session.ask("hi").await.unwrap();
        drop(session);
        let source = place.open();
        let unknown = Entry::decode(UNKNOWN).unwrap();
        let mut acquired = source.acquire(&id(), unknown.seq()).await.unwrap();
        acquired.writer.append_last(unknown).await;
        drop(acquired);
        let before = lines(&*source).await;
        assert_eq!(&*before[3], UNKNOWN, "{}", place.name);

        let there = MemoryStore::new();
        let copied = copy_all(&*source, &there).await.unwrap();
        assert!(matches!(&copied[..], [(_, Ok(copied))] if copied.entries == 4));
        for back in places() {
            let back = back.open();
            copy_session(&there, &*back, &id()).await.unwrap();
            assert_eq!(lines(&*back).await, before);
            let again = copy_session(&*source, &*back, &id()).await;
            assert!(matches!(
                again,
                Err(CopyError::Write(StoreError::Taken { .. }))
            ));
        }
    }
}
