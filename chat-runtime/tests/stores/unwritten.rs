//! T11: what can't be written, and what may have been, with the fault between the chat and a real store.

use chat_conformance::{Fault, Op};
use chat_core::{Reply, TurnStatus};

use crate::kit::{Lab, Place, places};

/// Answers whatever is asked until a turn has ended.
async fn ended(lab: &mut Lab, input: &str) -> Result<(), String> {
    let turn = lab.session.send(input);
    let result = turn.result();
    tokio::pin!(result);
    loop {
        tokio::select! {
            result = &mut result => return result.map(drop).map_err(|error| error.kind().to_owned()),
            mut call = lab.script.next_call() => call.finish(Reply::text("hello")),
        }
    }
}

async fn check(place: &Place, op: Op, fault: Fault, kinds: &[&str], status: Option<TurnStatus>) {
    let mut lab = place.lab().await;
    lab.gate.next(op).answer(fault.clone());
    let result = ended(&mut lab, "hi").await;
    let about = format!("{} {op} {fault:?}", place.name);
    assert_eq!(
        result.is_ok(),
        status == Some(TurnStatus::Completed),
        "{about}"
    );
    let shown = lab.session.turns().last().map(|turn| turn.status);
    assert_eq!(shown, status, "{about}");
    lab.gate.all_released().await;
    assert_eq!(place.kinds().await, kinds, "{about}");

    // The session is sound, here and for whoever opens it.
    ended(&mut lab, "next").await.expect(&about);
    let elsewhere = place.lab().await;
    assert!(
        elsewhere
            .session
            .turns()
            .iter()
            .eq(lab.session.turns().iter()),
        "S8 {about}"
    );
    let retried = elsewhere.session.turns().len();
    assert_eq!(retried, usize::from(status.is_some()) + 1);
}

#[tokio::test]
async fn t11_an_accept_that_is_not_written_was_never_and_one_that_may_be_is_found_out() {
    const WHOLE: &[&str] = &["turn.accepted", "turn.completed"];
    for (fault, kinds, status) in [
        (Fault::NotWritten, &[][..], None),
        (Fault::UnknownNotWritten, &[], None),
        (Fault::Fenced, &[], None),
        (Fault::UnknownWritten, WHOLE, Some(TurnStatus::Completed)),
    ] {
        for place in places() {
            check(&place, Op::Append, fault.clone(), kinds, status).await;
        }
    }
}

#[tokio::test]
async fn t11_c26_an_outcome_that_is_not_written_interrupts_and_one_that_may_be_is_found_out() {
    const OPEN: &[&str] = &["turn.accepted"];
    for (fault, kinds, status) in [
        (Fault::NotWritten, OPEN, TurnStatus::Interrupted),
        (Fault::UnknownNotWritten, OPEN, TurnStatus::Interrupted),
        (Fault::Fenced, OPEN, TurnStatus::Interrupted),
        (
            Fault::UnknownWritten,
            &["turn.accepted", "turn.completed"],
            TurnStatus::Completed,
        ),
    ] {
        for place in places() {
            check(&place, Op::AppendLast, fault.clone(), kinds, Some(status)).await;
        }
    }
}

#[tokio::test]
async fn t11_where_recovery_fails_the_next_hold_decides() {
    for (fault, is_there) in [
        (Fault::UnknownWritten, true),
        (Fault::UnknownNotWritten, false),
    ] {
        for place in places() {
            let mut lab = place.lab().await;
            lab.gate.next(Op::AppendLast).answer(fault.clone());
            lab.gate.next(Op::Recover).answer(Fault::NotWritten);
            ended(&mut lab, "hi").await.unwrap_err();
            let status = |lab: &Lab| lab.session.turns().get(0).unwrap().status;
            assert_eq!(status(&lab), TurnStatus::Interrupted);
            ended(&mut lab, "next").await.unwrap();
            let found = if is_there {
                TurnStatus::Completed
            } else {
                TurnStatus::Interrupted
            };
            assert_eq!(status(&lab), found, "{}", place.name);
            assert_eq!(status(&place.lab().await), found, "S8");
        }
    }
}
