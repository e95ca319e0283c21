//! R1 to R3: what responders say is read once and in order, what they ask is answered once, and what they see is the context.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use chat_core::{
    AnswerError, ApprovalId, ApprovalOutcome, ChatEvent, ContextPolicy, Decision, Reply,
    ResponderEvent, TurnStatus,
};

use crate::kit::{Lab, all, idle, kind, kinds, request_approval, text};

#[tokio::test(start_paused = true)]
async fn r1_what_is_said_is_read_once_and_in_order() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    let mut expected = String::new();
    for piece in 0..1000 {
        let piece = format!("{piece},");
        expected.push_str(&piece);
        call.text(piece);
        if expected.len().is_multiple_of(7) {
            idle().await;
        }
    }
    call.end_events();
    call.text("after the end");
    call.reply(Reply::streamed());
    assert_eq!(&*turn.await.unwrap().text, expected);
    assert_eq!(text(&all(events).await), expected);
}

#[tokio::test(start_paused = true)]
async fn r1_a_reply_of_its_own_text_stands_whatever_streamed() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    call.text("thinking aloud");
    call.finish(Reply::text("the reply"));
    assert_eq!(&*turn.await.unwrap().text, "the reply");
    assert_eq!(lab.session.messages()[1].to_text(), "the reply");
}

#[tokio::test(start_paused = true)]
async fn r2_what_is_pending_is_answered_once_and_the_events_say_so() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    let ids: [ApprovalId; 3] = ["a1".into(), "a2".into(), "a3".into()];
    for id in &ids {
        request_approval(&call, id.as_str());
    }
    idle().await;
    let pending: Vec<_> = turn
        .requests()
        .iter()
        .map(|request| request.id.clone())
        .collect();
    assert_eq!(pending, ids);

    turn.deny(&ids[1], "not today").unwrap();
    turn.approve(&ids[0]).unwrap();
    let denied = Decision::Deny(Some("not today".into()));
    assert_eq!(call.answered().await, (ids[1].clone(), denied));
    assert_eq!(call.answered().await, (ids[0].clone(), Decision::Approve));
    let answered = AnswerError::Answered(ids[0].clone());
    assert_eq!(turn.approve(&ids[0]), Err(answered.clone()));
    assert_eq!(turn.deny(&ids[0], ()), Err(answered));
    let unknown: ApprovalId = "a9".into();
    assert_eq!(turn.approve(&unknown), Err(AnswerError::Unknown(unknown)));
    call.event(ResponderEvent::ApprovalWithdrawn {
        id: ids[2].clone(),
        reason: None,
    });
    idle().await;
    assert_eq!(
        turn.approve(&ids[2]),
        Err(AnswerError::Withdrawn(ids[2].clone()))
    );
    assert!(turn.requests().is_empty());

    call.finish(Reply::text("ok"));
    turn.result().await.unwrap();
    let ended = AnswerError::NotRunning(turn.id().clone());
    assert_eq!(turn.approve(&ids[0]), Err(ended));
    assert!(call.try_answered().is_none(), "each once");
    let events = all(events).await;
    let outcomes: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ChatEvent::ApprovalResolved { outcome, .. } => Some(*outcome),
            _ => None,
        })
        .collect();
    use ApprovalOutcome::{Approved, Denied, Withdrawn};
    assert_eq!(outcomes, [Denied, Approved, Withdrawn]);
}

#[tokio::test(start_paused = true)]
async fn r2_c61_a_second_request_of_one_id_fails_the_turn() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    request_approval(&call, "a1");
    request_approval(&call, "a1");
    assert_eq!(kind(turn.await), "duplicate-approval");
    call.dropped().await;
    lab.is_usable().await;
}

/// An answer and a cancel at the same time: the answer is taken and reaches the responder once, or it is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r2_an_answer_can_t_race_a_cancel() {
    for _ in 0..200 {
        let mut lab = Lab::new().await;
        let turn = lab.session.send("hi");
        let mut events = turn.events().unwrap();
        let call = lab.script.next_call().await;
        request_approval(&call, "a1");
        while events.next().await.unwrap().kind() != "approval-request" {}
        let id = "a1".into();
        let canceler = tokio::spawn({
            let turn = turn.clone();
            async move { turn.cancel(()) }
        });
        let answered = turn.approve(&id);
        canceler.await.unwrap();
        let outcome = match events.next().await {
            Some(ChatEvent::ApprovalResolved { outcome, .. }) => outcome,
            other => panic!("it is resolved once: {other:?}"),
        };
        match answered {
            Ok(()) => assert_eq!(outcome, ApprovalOutcome::Approved),
            Err(_) => assert_eq!(outcome, ApprovalOutcome::Withdrawn),
        }
        assert_eq!(events.next().await.unwrap().kind(), "turn-end");
    }
}

#[tokio::test(start_paused = true)]
async fn r3_a_responder_sees_the_chats_context_and_a_turn_may_have_its_own() {
    let mut lab = Lab::with(|chat| chat.context(ContextPolicy::LastTurns(1))).await;
    for input in ["one", "two", "three"] {
        lab.answered(input).await;
    }
    let failed = lab.session.send("failed");
    lab.script.next_call().await.fail(crate::kit::oops());
    failed.await.unwrap_err();

    let counted = Arc::new(AtomicUsize::new(0));
    let count = {
        let counted = counted.clone();
        ContextPolicy::token_budget(2, move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            1
        })
    };
    // Each case is a turn more in the conversation.
    let cases = [
        (None, 1),
        (Some(ContextPolicy::Whole), 4),
        (Some(count.clone()), 2),
        (Some(count), 2),
    ];
    for (context, expected) in cases {
        let lazy = lab.session.turn("next");
        let turn = match context {
            Some(context) => lazy.context(context).start(),
            None => lazy.start(),
        };
        let mut call = lab.script.next_call().await;
        let seen: Vec<_> = call.request().messages.turns().collect();
        assert_eq!(seen.len(), expected);
        assert!(seen.iter().all(|turn| turn.status == TurnStatus::Completed));
        call.finish(Reply::text("ok"));
        turn.await.unwrap();
    }
    assert_eq!(counted.load(Ordering::SeqCst), 4, "once for each turn");
}

/// A counter is caller's code: it may use the session it counts for.
#[tokio::test(start_paused = true)]
async fn r3_no_lock_is_held_while_the_context_is_built() {
    let mut lab = Lab::new().await;
    lab.answered("hi").await;
    let session = lab.session.clone();
    let policy = ContextPolicy::token_budget(100, move |_| {
        let queued = session.send("from the counter");
        queued.cancel(());
        session.turns().len() as u64
    });
    let turn = lab.session.turn("count").context(policy).start();
    lab.script.next_call().await.finish(Reply::text("ok"));
    turn.await.unwrap();
    assert_eq!(lab.session.turns().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn r_the_request_names_its_session_and_turn_and_its_provenance_is_recorded() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    assert_eq!(call.request().session_id, *lab.session.id());
    assert_eq!(call.request().turn_id, *turn.id());
    assert_eq!(call.request().root_turn_id, *turn.id());
    assert_eq!(call.request().conversation().len(), 1);
    call.finish(Reply::text("ok"));
    let reply = turn.result().await.unwrap();
    assert_eq!(reply.session_id, *lab.session.id());
    assert_eq!(reply.metadata.responder.unwrap().kind.as_ref(), "custom");
    assert_eq!(kinds(&all(turn.events().unwrap()).await).len(), 2);
}
