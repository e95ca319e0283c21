//! T2: one turn at a time, in the order sent, each seeing the reply before it; never two at once over one store.

use chat_conformance::Op;
use chat_core::{Reply, Role, Store, StoreError, TurnStatus};
use chat_runtime::{Chat, NewSession, responder_fn};

use crate::kit::{Lab, idle, kind, oops};

#[tokio::test(start_paused = true)]
async fn t2_turns_run_in_the_order_sent_over_all_handles_each_seeing_the_reply_before_it() {
    let mut lab = Lab::new().await;
    let again = lab.chat.open_session(lab.session.id()).await.unwrap();
    let turns = [
        lab.session.send("one"),
        again.send("two"),
        lab.session.clone().send("three"),
    ];
    for (before, turn) in turns.iter().enumerate() {
        let mut call = lab.script.next_call().await;
        idle().await;
        assert!(lab.script.try_next_call().is_none(), "one at a time");
        assert_eq!(call.request().turn_id, *turn.id());
        let said: Vec<_> = call
            .request()
            .messages
            .iter()
            .map(|message| (message.role, message.to_text()))
            .collect();
        let expected: Vec<_> = ["one", "two", "three"][..before]
            .iter()
            .flat_map(|input| {
                let reply = (Role::Assistant, input.to_uppercase());
                [(Role::User, (*input).to_owned()), reply]
            })
            .collect();
        assert_eq!(said, expected);
        let reply = call.request().input.to_uppercase();
        call.finish(Reply::text(reply));
        turn.result().await.unwrap();
    }
    assert_eq!(lab.gate.count(Op::Acquire), 3, "the hold never passes on");
    lab.gate.all_released().await;
}

#[tokio::test(start_paused = true)]
async fn t2_opening_an_open_session_gives_the_same_session() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let _call = lab.script.next_call().await;
    let again = lab.chat.open_session(lab.session.id()).await.unwrap();
    assert_eq!(again.turns().last().unwrap().status, TurnStatus::Running);
    assert_eq!(lab.gate.count(Op::Read), 0, "nothing was read again");
    turn.cancel(());
    turn.result().await.unwrap_err();
    assert_eq!(again.turns().last().unwrap().status, TurnStatus::Canceled);
}

#[tokio::test(start_paused = true)]
async fn t2_a_session_stays_the_same_while_a_turn_runs_though_no_handle_is_left() {
    let mut lab = Lab::new().await;
    let id = lab.session.id().clone();
    drop(lab.session.send("hi"));
    let mut call = lab.script.next_call().await;
    let session = std::mem::replace(&mut lab.session, lab.chat.create_session().await.unwrap());
    drop(session);
    let again = lab.chat.open_session(&id).await.unwrap();
    let queued = again.send("next");
    idle().await;
    assert_eq!(queued.status(), TurnStatus::Queued);
    call.finish(Reply::text("hello"));
    let mut call = lab.script.next_call().await;
    assert_eq!(call.request().messages.iter().count(), 2);
    call.finish(Reply::text("again"));
    queued.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn t2_two_chats_over_one_store_never_answer_at_once_and_see_each_others_replies() {
    let mut here = Lab::new().await;
    let mut there = here.elsewhere().await;
    let first = here.session.send("here");
    let mut call = here.script.next_call().await;
    let second = there.session.send("there");
    idle().await;
    assert_eq!(there.gate.count(Op::Acquire), 1, "it waits for the hold");
    assert_eq!(second.status(), TurnStatus::Queued);
    assert!(there.session.turns().is_empty(), "nothing was read yet");
    let third = here.session.send("here again");

    call.finish(Reply::text("HERE"));
    first.result().await.unwrap();
    let mut call = there.script.next_call().await;
    let said: Vec<_> = call
        .request()
        .messages
        .iter()
        .map(|m| m.to_text())
        .collect();
    assert_eq!(said, ["here", "HERE"]);
    idle().await;
    assert!(here.script.try_next_call().is_none(), "never two at once");
    assert_eq!(third.status(), TurnStatus::Queued);
    call.finish(Reply::text("THERE"));
    second.result().await.unwrap();

    let mut call = here.script.next_call().await;
    assert_eq!(call.request().messages.iter().count(), 4);
    call.finish(Reply::text("HERE AGAIN"));
    third.result().await.unwrap();
    assert_eq!(here.session.turns().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn t2_refresh_reads_what_others_wrote_and_takes_nothing() {
    let mut here = Lab::new().await;
    let mut there = here.elsewhere().await;
    here.answered("hi").await;
    assert!(there.session.turns().is_empty());
    there.session.refresh().await.unwrap();
    assert_eq!(there.session.messages().len(), 2);
    assert_eq!(there.gate.count(Op::Acquire), 0);
    there.answered("and you?").await;
    here.session.refresh().await.unwrap();
    assert_eq!(here.session.turns().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn t2_refresh_changes_nothing_while_this_session_has_the_hold() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    lab.session.refresh().await.unwrap();
    assert_eq!(turn.status(), TurnStatus::Running);
    assert_eq!(
        lab.session.turns().last().unwrap().status,
        TurnStatus::Running
    );
    call.finish(Reply::text("hello"));
    turn.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn c2_every_queued_turn_settles_when_the_running_one_fails() {
    let mut lab = Lab::new().await;
    let first = lab.session.send("first");
    let queued: Vec<_> = (0..3).map(|n| lab.session.send(format!("{n}"))).collect();
    let call = lab.script.next_call().await;
    call.fail(oops());
    assert_eq!(kind(first.await), "oops");
    for turn in queued {
        lab.script.next_call().await.finish(Reply::text("ok"));
        assert_eq!(&*turn.await.unwrap().text, "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn c10_a_turn_sent_while_another_runs_is_queued_with_its_real_id() {
    let mut lab = Lab::new().await;
    let first = lab.session.send("first");
    let mut call = lab.script.next_call().await;
    let second = lab.session.send("second");
    assert_ne!(first.id(), second.id());
    assert_eq!(second.status(), TurnStatus::Queued);
    assert!(lab.session.find(second.id()).is_none());
    call.finish(Reply::text("1"));
    let mut call = lab.script.next_call().await;
    assert_eq!(call.request().turn_id, *second.id());
    call.finish(Reply::text("2"));
    second.result().await.unwrap();
    assert_eq!(lab.session.turns().last().unwrap().id, *second.id());
}

#[tokio::test(start_paused = true)]
async fn s7_a_handle_of_a_deleted_session_gets_missing_whoever_takes_its_id() {
    let lab = Lab::new().await;
    let id = lab.session.id().clone();
    let elsewhere = lab.elsewhere().await.chat;
    let echo = responder_fn(|request, _| async move { Ok(Reply::text(request.input)) });
    let chat = Chat::new(echo, lab.store.clone());
    let mut open = chat.open_session(&id).await.unwrap();
    for deletes in [&chat, &elsewhere] {
        let before = open;
        before.ask("old").await.unwrap();
        deletes.delete_session(&id).await.unwrap();
        let new = NewSession {
            id: Some(id.clone()),
            ..NewSession::default()
        };
        open = chat.create_session_with(new).await.unwrap();
        assert!(open.turns().is_empty(), "it is a new session");
        // As long as the old one: its handle would find what it expects.
        assert_eq!(&*open.ask("new").await.unwrap(), "new");
        assert_eq!(kind(before.ask("more").await), "session-missing");
        assert!(matches!(
            before.refresh().await,
            Err(StoreError::Missing { .. })
        ));
        let again = chat.open_session(&id).await.unwrap();
        assert_eq!(again.turns().len(), 1, "it is the one that is open now");
        assert_eq!(open.messages().len(), 2);
    }
}

/// A session whose store another chat deletes, and makes anew with so many turns, while `lab` has it open.
async fn made_anew(lab: &Lab, turns: usize) -> Vec<chat_core::Entry> {
    let echo = responder_fn(|request, _| async move { Ok(Reply::text(request.input)) });
    let elsewhere = Chat::new(echo, lab.store.clone());
    let id = lab.session.id();
    elsewhere.delete_session(id).await.unwrap();
    let new = NewSession {
        id: Some(id.clone()),
        ..NewSession::default()
    };
    let session = elsewhere.create_session_with(new).await.unwrap();
    for turn in 0..turns {
        session.ask(format!("anew {turn}")).await.unwrap();
    }
    lab.journal().await
}

#[tokio::test(start_paused = true)]
async fn s7_a_session_made_anew_elsewhere_is_told_and_never_mixed_with_the_old_one() {
    // Of no turn and of two; the new one shorter, as long and longer.
    for (known, anew) in [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2), (2, 3)] {
        for refreshes in [false, true] {
            let mut lab = Lab::new().await;
            for _ in 0..known {
                lab.answered("old").await;
            }
            let old = lab.session.messages();
            let journal = made_anew(&lab, anew).await;
            if refreshes {
                let refreshed = lab.session.refresh().await;
                assert!(matches!(refreshed, Err(StoreError::Replaced { .. })));
            }
            let turns = [lab.session.send("one"), lab.session.send("two")];
            for turn in turns {
                let ended = turn.await.unwrap_err();
                assert_eq!(ended.kind(), "session-replaced", "{known}, then {anew}");
                assert!(ended.to_string().contains("open it again"), "{ended}");
            }
            assert!(lab.session.refresh().await.is_err());
            assert_eq!(lab.session.messages(), old, "what is known stays");
            assert_eq!(lab.journal().await, journal, "nothing is written");
            assert!(!lab.store.is_held(lab.session.id()).await.unwrap());
            assert!(lab.script.try_next_call().is_none());

            // As the error says.
            lab.session = lab.chat.open_session(lab.session.id()).await.unwrap();
            assert_eq!(lab.session.turns().len(), anew);
            lab.is_usable().await;
        }
    }
}
