//! A disk that is full, as one process sees it: the kernel takes what fits and refuses the rest.

use std::{fs, path::Path};

use chat_core::{Appended, ListRequest, Seq, Store, StoreError};

use super::{StorePlace, say};
use crate::{
    entries::{asked, created, read, script, session, write},
    files,
    limits::limit_file_size,
};

/// How much of an entry fits: nothing of it, less than a page and more than one.
const FITS: [u64; 3] = [0, 30, 5_000];

/// More than any of these.
const LONG: usize = 20_000;

pub(super) async fn fill(stores: &impl StorePlace, place: &Path, store: &dyn Store) {
    let (id, other) = (session("s"), session("t"));
    let text = "x".repeat(LONG);
    let (entry, long) = (asked(3, "t2", &text), vec![created(), asked(1, "t", &text)]);
    let created = store.create(&id, script()).await;
    created.expect("there is room");
    let acquired = store.acquire(&id, Seq(3)).await;
    let mut writer = acquired.expect("the session is free").writer;
    let grows = stores.grows(place, &id);
    let folder = place.parent().expect("a store stands in a folder");
    for fits in FITS {
        let before = files::all_below(folder);
        let there = fs::metadata(&grows).expect("it was written to").len();
        limit_file_size(Some(there + fits));
        // C34: a session exists whole or not at all.
        let error = store.create(&other, long.clone()).await;
        assert!(matches!(error, Err(StoreError::Full { .. })), "{error:?}");
        assert_eq!(files::all_below(folder), before, "nothing is left of it");
        let listed = store.list(ListRequest::default()).await;
        assert_eq!(listed.expect("it can be read").sessions.len(), 1);

        let answer = writer.append(entry.clone()).await;
        let is_unknown = match answer {
            Appended::NotWritten(StoreError::Full { .. }) => false,
            Appended::Unknown(StoreError::Full { .. }) => true,
            other => panic!("{fits} bytes fit, and the answer is {other:?}"),
        };
        let again = writer.append(entry.clone()).await;
        let is_right = match &again {
            Appended::NotWritten(StoreError::Misuse { .. }) => is_unknown,
            Appended::NotWritten(StoreError::Full { .. }) => !is_unknown,
            _ => false,
        };
        assert!(
            is_right,
            "{fits} bytes fit, and then the answer is {again:?}"
        );
        let recovered = writer.recover(Seq(3)).await;
        let recovered = recovered.expect("what is there can be read");
        assert_eq!(recovered.entries, []);
        if let Some(torn) = recovered.torn {
            assert!(is_unknown, "a part of it was in the file");
            assert_eq!(torn.bytes, fits);
        }
        limit_file_size(None);
    }
    write(&mut writer, entry).await;
    drop(writer);
    assert_eq!(read(store, &id).await.entries.len(), 4);
    let created = store.create(&other, long).await;
    created.expect("there is room again");
    say("done");
}
