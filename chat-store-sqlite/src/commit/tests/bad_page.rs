//! One session's page makes no sense: the others of its group are none the worse.

use std::fs;

use chat_core::{Appended, Damage, Seq, Store as _, StoreError};

use super::{
    Lab,
    common::{accepted, created, read, session},
};
use crate::SqliteStore;

const PAGE: usize = 4096;

#[tokio::test]
async fn s1_s3_a_session_on_a_bad_page_takes_nobody_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.db");
    let store = SqliteStore::open(&path).unwrap();
    // About one page each.
    for n in 0..4_u64 {
        let mut entries = vec![created()];
        for turn in 1..16 {
            entries.push(accepted(turn, &format!("s{n}-{turn}")));
        }
        store
            .create(&session(&format!("s{n}")), entries)
            .await
            .unwrap();
    }
    drop(store);
    let sound = fs::read(&path).unwrap();
    let last = b"ask s1-15";
    let page = sound
        .chunks(PAGE)
        .position(|page| page[0] == 0x0a && page.windows(last.len()).any(|text| text == last))
        .unwrap();

    // What a page says of itself: its free blocks, its rows, where they begin, its gaps.
    let mut damaged = 0;
    for (byte, value) in (1..8).flat_map(|byte| [0x02, 0x10, 0x94, 0xff].map(|value| (byte, value)))
    {
        let mut bytes = sound.clone();
        bytes[page * PAGE + byte] = value;
        fs::write(&path, bytes).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        let mut writers = Vec::new();
        for n in 0..4_u64 {
            // From behind the end: not all of it is read.
            let acquired = store.acquire(&session(&format!("s{n}")), Seq(16)).await;
            writers.extend(acquired.map(|acquired| (n, acquired.writer)));
        }
        let (held, writers): (Vec<_>, _) = writers.into_iter().unzip();
        let mut lab = Lab {
            _folder: tempfile::tempdir().unwrap(),
            store,
            writers,
        };
        let checkpoints = lab.checkpoints();
        let answers = lab
            .in_one_group(held.iter().map(|_| accepted(16, "more")).collect())
            .await;
        for (n, answer) in held.iter().zip(answers) {
            let id = session(&format!("s{n}"));
            match answer {
                Appended::Written => {
                    let error = read(&lab.store, &id).await.error;
                    assert!(
                        error.is_none() || (*n).abs_diff(1) <= 1,
                        "{byte} {value:#x}: {error:?}"
                    );
                }
                Appended::NotWritten(StoreError::Damaged(Damage { session, .. })) => {
                    assert!(
                        session == id && (*n).abs_diff(1) <= 1,
                        "{byte} {value:#x}: {session}"
                    );
                    damaged += 1;
                }
                answer => panic!("{byte} {value:#x}: s{n}: {answer:?}"),
            }
        }
        assert_eq!(lab.checkpoints(), checkpoints.max(1), "nothing is in doubt");
    }
    assert!(damaged > 5, "{damaged}");
}
