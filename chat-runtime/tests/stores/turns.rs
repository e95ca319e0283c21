//! T2, T3, T10 and S7, between two chats that share nothing but the place of their store.

use chat_core::{ChatEvent, EntryBody, Reply, StoreError, TurnStatus};
use futures_util::future::join_all;

use crate::kit::{assert_one_at_a_time, create, id, open, places};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_two_chats_on_one_store_answer_one_at_a_time_and_see_each_others_replies() {
    const EACH: usize = 20;
    for place in places() {
        let (here, there) = (place.echo(), place.echo());
        let (first, second) = (open(&here).await, open(&there).await);
        let turns =
            (0..EACH).flat_map(|n| [first.ask(format!("a{n}")), second.ask(format!("b{n}"))]);
        for answered in join_all(turns).await {
            answered.unwrap();
        }
        let journal = place.journal().await;
        assert_eq!(journal.len(), 1 + 4 * EACH, "{}", place.name);
        assert_one_at_a_time(&journal);
        // Each chat's own in the order sent.
        for name in ["a", "b"] {
            let inputs = journal.iter().filter_map(|entry| match entry.body() {
                EntryBody::TurnAccepted { input, .. } => input.strip_prefix(name),
                _ => None,
            });
            let numbers: Vec<usize> = inputs.map(|input| input.parse().unwrap()).collect();
            assert_eq!(numbers, (0..EACH).collect::<Vec<_>>(), "{}", place.name);
        }
        for session in [first, second] {
            session.refresh().await.unwrap();
            assert_eq!(session.turns().len(), 2 * EACH);
        }
    }
}

#[tokio::test]
async fn t2_what_others_wrote_is_in_the_context_of_the_next_turn() {
    for place in places() {
        let (mut here, mut there) = (place.lab().await, place.lab().await);
        here.answered("one").await;
        let turn = there.session.send("two");
        let mut call = there.script.next_call().await;
        let said: Vec<_> = call
            .request()
            .messages
            .iter()
            .map(|said| said.to_text())
            .collect();
        assert_eq!(said, ["one", "ONE"], "{}", place.name);
        call.finish(Reply::text("TWO"));
        turn.await.unwrap();
        here.session.refresh().await.unwrap();
        assert_eq!(here.session.messages().len(), 4);
    }
}

#[tokio::test]
async fn t3_whatever_is_seen_is_in_the_store_for_everyone() {
    for place in places() {
        let mut lab = place.lab().await;
        let turn = lab.session.send("hi");
        turn.accepted().await.unwrap();
        assert_eq!(place.kinds().await, ["turn.accepted"], "{}", place.name);
        let mut call = lab.script.next_call().await;
        let steered = lab.session.steer("and more");
        assert!(call.steer_offered().await.take());
        steered.await.unwrap();
        assert_eq!(place.kinds().await, ["turn.accepted", "turn.steered"]);
        let mut events = turn.events().unwrap();
        call.finish(Reply::text("hello"));
        while let Some(event) = events.next().await {
            if let ChatEvent::TurnEnd { .. } = event {
                let kinds = place.kinds().await;
                assert_eq!(kinds, ["turn.accepted", "turn.steered", "turn.completed"]);
            }
        }
        assert!(turn.is_done());
    }
}

#[test]
fn t10_an_open_turn_runs_elsewhere_until_its_process_is_gone_and_is_interrupted_then() {
    for place in places() {
        let runtime = || {
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_time()
                .build()
                .unwrap()
        };
        let (theirs, ours) = (runtime(), runtime());
        let (mut there, turn) = theirs.block_on(async {
            let there = place.lab().await;
            let turn = there.session.send("hi");
            turn.accepted().await.unwrap();
            (there, turn)
        });
        let call = theirs.block_on(there.script.next_call());
        let here = place.echo();
        let session = ours.block_on(open(&here));
        let status = || session.turns().last().unwrap().status;
        assert_eq!(status(), TurnStatus::Running, "{}", place.name);
        // It waits for the hold, and decides then.
        let retry = ours.block_on(async { session.retry(turn.id()) });
        theirs.shutdown_background();
        drop((there, call));
        ours.block_on(async {
            assert_eq!(&*retry.await.unwrap().text, "hi");
            assert_eq!(
                session.find(turn.id()).unwrap().status,
                TurnStatus::Interrupted
            );
            assert!(!here.store().is_held(&id()).await.unwrap());
            let kinds = place.kinds().await;
            assert_eq!(kinds, ["turn.accepted", "turn.accepted", "turn.completed"]);
        });
    }
}

#[tokio::test]
async fn s7_a_session_made_anew_elsewhere_is_told_and_never_mixed_with_the_old_one() {
    for (known, anew) in [(0, 0), (0, 1), (2, 0), (2, 2), (2, 3)] {
        for place in places() {
            let mut lab = place.lab().await;
            for _ in 0..known {
                lab.answered("old").await;
            }
            let elsewhere = place.echo();
            elsewhere.delete_session(&id()).await.unwrap();
            let session = create(&elsewhere).await;
            for _ in 0..anew {
                session.ask("anew").await.unwrap();
            }
            let journal = place.journal().await;
            let name = place.name;
            let refreshed = lab.session.refresh().await;
            assert!(
                matches!(refreshed, Err(StoreError::Replaced { .. })),
                "{name}: {refreshed:?}"
            );
            // As a handle that was not refreshed: the hold shows it.
            let mut late = place.lab().await;
            elsewhere.delete_session(&id()).await.unwrap();
            create(&elsewhere).await.ask("once more").await.unwrap();
            for lab in [&mut lab, &mut late] {
                let refused = lab.session.ask("more").await.unwrap_err();
                assert_eq!(
                    refused.kind(),
                    "session-replaced",
                    "{name}, {known}, {anew}"
                );
            }
            assert_eq!(lab.session.messages().len(), 2 * known);
            assert_eq!(late.session.messages().len(), 2 * anew);
            assert_eq!(journal.len(), 1 + 2 * anew, "nothing was written into it");
            assert_eq!(place.kinds().await, ["turn.accepted", "turn.completed"]);
            lab.session = lab.chat.open_session(&id()).await.unwrap();
            lab.answered("and on").await;
            assert_one_at_a_time(&place.journal().await);
        }
    }
}
