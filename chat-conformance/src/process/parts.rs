//! The parts that the laws have another process play.

use std::{future::Future, sync::Arc};

use chat_core::{Appended, ListRequest, Seq, Store};
use futures_util::future::try_join_all;

use super::{Part, StorePlace, listen, part, say};
use crate::entries::{accepted, completed, created, read, script, session, write};

/// Plays the part that this process was started for; does nothing where it is not another process.
///
/// Brings its own runtime: call it outside of any.
///
/// # Panics
/// Where the store is wrong, or there is no such part.
pub fn play(stores: &impl StorePlace) {
    let Some(Part { name, place }) = part() else {
        return;
    };
    run(async {
        if name == "first" {
            // Whatever is there by then.
            say("ready");
            let name = listen();
            let store = stores.open(&place).expect("it can be opened at once");
            let created = store.create(&session(&name), script()).await;
            created.expect("its id is free");
            say("done");
            listen();
            return;
        }
        let store = stores.open(&place).expect("it can be opened");
        match &*name {
            "hold" => hold(&store).await,
            "write" => keep_writing(&store).await,
            "turns" => take_turns(&store).await,
            "many" => write_from_many_tasks(&store).await,
            #[cfg(unix)]
            "full" => super::full_disk::fill(stores, &place, &store).await,
            other => panic!("there is no part {other}"),
        }
    });
}

/// Runs a law or a part, on more than one thread.
pub(super) fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime
        .expect("there is room for two threads")
        .block_on(work);
}

/// Holds the session until it is told to let go.
async fn hold(store: &dyn Store) {
    let acquired = store.acquire(&session("s"), Seq::ZERO).await;
    let mut acquired = acquired.expect("the session is free");
    let next = acquired.entries.len() as u64;
    write(&mut acquired.writer, accepted(next, "held")).await;
    say("held");
    listen();
}

/// Appends until it is killed; says each entry's place once it is written.
async fn keep_writing(store: &dyn Store) {
    let acquired = store.acquire(&session("s"), Seq::ZERO).await;
    let mut acquired = acquired.expect("the session is free");
    // Bounded, should nobody kill it.
    for seq in acquired.entries.len() as u64..100_000 {
        write(&mut acquired.writer, accepted(seq, "w")).await;
        say(&seq.to_string());
    }
}

/// How many turns each of two processes takes.
pub(super) const TURNS: usize = 200;

/// Takes turns on the session, as a chat does: hold, accept, answer. It is told its name when it may begin.
async fn take_turns(store: &dyn Store) {
    say("ready");
    let name = listen();
    let mut next = Seq::ZERO;
    for turn in 0..TURNS {
        let acquired = store.acquire(&session("s"), next).await;
        let mut acquired = acquired.expect("the session becomes free");
        let last = acquired.entries.last();
        next = last.map_or(next, |entry| entry.seq().next());
        let turn = format!("{name}-{turn}");
        write(&mut acquired.writer, accepted(next.0, &turn)).await;
        next = next.next();
        let answer = acquired.writer.append_last(completed(next.0, &turn)).await;
        assert!(matches!(answer, Appended::Written), "{answer:?}");
        next = next.next();
    }
    say("done");
}

/// How many sessions a process writes at once, and how many turns of each.
pub(super) const TASKS: usize = 16;
pub(super) const EACH: u64 = 4;

/// Creates sessions and takes turns in all of them at once. It is told its name when it may begin.
async fn write_from_many_tasks(store: &Arc<dyn Store>) {
    say("ready");
    let name = listen();
    let tasks = (0..TASKS).map(|task| {
        let (store, id) = (store.clone(), session(&format!("{name}-{task}")));
        tokio::spawn(async move {
            let created = store.create(&id, vec![created()]).await;
            created.expect("its id is free");
            for turn in 0..EACH {
                let (next, name) = (2 * turn + 1, format!("t{turn}"));
                let acquired = store.acquire(&id, Seq(next)).await;
                let mut writer = acquired.expect("the session is free").writer;
                write(&mut writer, accepted(next, &name)).await;
                write(&mut writer, completed(next + 1, &name)).await;
                drop(writer);
                assert_eq!(read(&store, &id).await.entries.len() as u64, next + 2);
                let page = ListRequest {
                    after: None,
                    limit: 5,
                };
                store.list(page).await.expect("sessions can be listed");
            }
        })
    });
    try_join_all(tasks).await.expect("each task's turns");
    say("done");
}
