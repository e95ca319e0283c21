//! R, and what T asks of a responder.

use chat_core::ApprovalId;
use futures_util::FutureExt as _;

use super::{Lab, watched::Watched};

pub(super) async fn r1_the_events_end_and_the_result_comes(lab: Lab) {
    let (mut execution, _) = Watched::begin(&*lab.answering, "hello");
    let (text, _) = execution.finish().await;
    assert!(!text.is_empty(), "it streams what it says");
}

pub(super) async fn r1_turns_that_are_answered_at_once_do_not_mix(lab: Lab) {
    let (mut endless, trace) = Watched::begin(&*lab.endless, "one");
    endless.say_something().await;
    let inputs = ["one", "three", "five more"];
    let alone = async |input| Watched::begin(&*lab.answering, input).0.finish().await.0;
    let together = futures_util::future::join_all(inputs.map(&alone)).await;
    for (input, text) in inputs.into_iter().zip(together) {
        assert_eq!(alone(input).await, text, "as where it is answered alone");
    }
    drop(endless);
    trace.gone().await;
}

pub(super) async fn r1_who_answers_stays_the_same(lab: Lab) {
    let before = lab.answering.info();
    assert!(!before.kind.is_empty(), "a responder is of some kind");
    Watched::begin(&*lab.answering, "hello").0.finish().await;
    assert_eq!(lab.answering.info(), before);
}

pub(super) async fn r2_answers_to_what_was_never_asked_are_ignored(lab: Lab) {
    let (mut execution, _) = Watched::begin(&*lab.answering, "hello");
    if let Some(control) = execution.control.clone() {
        let never_asked = ApprovalId::from("never-asked");
        control.approve(&never_asked);
        control.deny(&never_asked, Some("for no reason".into()));
    }
    execution.finish().await;
}

pub(super) async fn t5_an_execution_that_ended_leaves_nothing_behind(lab: Lab) {
    let (mut execution, trace) = Watched::begin(&*lab.answering, "hello");
    execution.finish().await;
    drop(execution);
    trace.gone().await;
}

pub(super) async fn t6_an_execution_that_is_dropped_goes_on_with_nothing(lab: Lab) {
    let (mut execution, trace) = Watched::begin(&*lab.endless, "hello");
    execution.say_something().await;
    drop(execution);
    trace.gone().await;
}

pub(super) async fn t6_nor_does_one_that_was_never_polled(lab: Lab) {
    for responder in [lab.endless, lab.answering] {
        let (execution, trace) = Watched::begin(&*responder, "hello");
        drop(execution);
        trace.gone().await;
    }
}

pub(super) async fn t6_nor_does_one_that_was_signaled_first(lab: Lab) {
    let (mut execution, trace) = Watched::begin(&*lab.endless, "hello");
    execution.say_something().await;
    trace.cancel.cancel();
    // Whether it heeds the signal is its own affair: it may end, and need not.
    let _ = (&mut execution.result).now_or_never();
    drop(execution);
    trace.gone().await;
}

pub(super) async fn t8_an_offer_that_is_dropped_is_forgotten(lab: Lab) {
    let (mut execution, trace) = Watched::begin(&*lab.answering, "hello");
    let without = execution.finish().await.0;
    drop(execution);
    trace.gone().await;
    let (mut execution, _) = Watched::begin(&*lab.answering, "hello");
    if let Some(control) = execution.control.clone() {
        drop(control.steer("never mind".into()));
    }
    assert_eq!(execution.finish().await.0, without);
}
