//! One random script, asked of the store in memory, of files and of SQLite: every answer is the same, in what can be read, in
//! the lists, and in the kinds of errors (S8).
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod actor;
mod script;
#[path = "../common/mod.rs"]
mod stores;

use std::sync::Arc;

use actor::Actor;
use chat_conformance::StoreFactory;
use chat_core::Store;
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use proptest::prelude::*;
use script::{Ask, script};

/// Opens a store again, whatever its type.
type Again = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn Store>>>;

async fn actor<F: StoreFactory>(name: &'static str, factory: F) -> Actor {
    let factory = Arc::new(factory);
    let first = Arc::new(factory.make().await);
    let store: Arc<dyn Store> = first.clone();
    let again: Again = Box::new(move || {
        let (factory, first) = (factory.clone(), first.clone());
        async move {
            // A store in memory is gone with its process: opening it again is nothing.
            if first.capabilities().persistent {
                Arc::new(factory.reopen(&first).await) as Arc<dyn Store>
            } else {
                first
            }
        }
        .boxed()
    });
    Actor::new(name, store, again)
}

async fn check(script: Vec<Ask>) {
    let mut actors = vec![
        actor("memory", stores::Memory).await,
        actor("file", stores::Files::new()).await,
        actor("sqlite", stores::Databases::new()).await,
    ];
    // What is there in the end is asked of all, whatever the script has looked at.
    let last = [Ask::List(2), Ask::Reopen, Ask::List(100)];
    for (place, ask) in script.into_iter().chain(last).enumerate() {
        let said = join_all(actors.iter_mut().map(|actor| actor.answer(place, &ask))).await;
        compare(place, &ask, &actors, &said);
    }
    let said = join_all(actors.iter().map(Actor::everything)).await;
    compare(usize::MAX, &Ask::Reopen, &actors, &said);
}

fn compare(place: usize, ask: &Ask, actors: &[Actor], said: &[Vec<String>]) {
    for (actor, answer) in actors.iter().zip(said) {
        for (n, (here, there)) in answer.iter().zip(&said[0]).enumerate() {
            assert_eq!(
                here, there,
                "ask {place}, {ask:?}: answer {n} of {} is not that of {}",
                actor.name, actors[0].name
            );
        }
        assert_eq!(answer.len(), said[0].len(), "ask {place}, {ask:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 400, ..ProptestConfig::default() })]
    #[test]
    fn s8_every_store_answers_the_same(script in script(1..=24)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(check(script));
    }
}
