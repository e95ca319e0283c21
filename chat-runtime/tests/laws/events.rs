//! "Events": one reader, every event from the start, however late; bounded memory; nothing lost that can't be.

use chat_core::{ChatEvent, Reply, ResponderEvent, UNREAD_CAP, Usage};
use chat_runtime::EventsTaken;
use futures_util::StreamExt;

use crate::kit::{Lab, all, end, idle, is_pending, kinds, text};

#[tokio::test(start_paused = true)]
async fn events_law_there_is_one_reader_and_a_second_is_refused() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    assert_eq!(turn.clone().events().unwrap_err(), EventsTaken);
    assert_eq!(turn.text().unwrap_err(), EventsTaken);
    drop(events);
    assert_eq!(
        turn.events().unwrap_err(),
        EventsTaken,
        "nor a second one later"
    );
    lab.script.next_call().await.finish(Reply::text("ok"));
    turn.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn events_law_however_late_they_are_read_they_are_all_there() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    for piece in ["a", "b", "c"] {
        call.text(piece);
        idle().await;
    }
    call.finish(Reply::streamed());
    turn.result().await.unwrap();
    let events = all(turn.events().unwrap()).await;
    assert_eq!(
        kinds(&events),
        [
            "turn-start",
            "text-delta",
            "text-delta",
            "text-delta",
            "turn-end"
        ]
    );
    let places: Vec<_> = events.iter().map(ChatEvent::seq).collect();
    assert_eq!(places, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn events_law_each_event_is_there_as_soon_as_it_is_said() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut words = turn.text().unwrap();
    let mut call = lab.script.next_call().await;
    for piece in ["a", "b", "c"] {
        idle().await;
        assert!(is_pending(words.next()));
        call.text(piece);
        assert_eq!(&*words.next().await.unwrap(), piece);
    }
    call.finish(Reply::streamed());
    assert_eq!(words.next().await, None);
    assert_eq!(&*turn.await.unwrap().text, "abc");
}

#[tokio::test(start_paused = true)]
async fn events_law_a_read_that_is_given_up_loses_nothing() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    let mut seen = Vec::new();
    for piece in 0..10 {
        while let Some(event) = futures_util::FutureExt::now_or_never(events.next()) {
            seen.extend(event);
        }
        call.text(format!("{piece}"));
        idle().await;
    }
    call.finish(Reply::streamed());
    seen.extend(events.collect::<Vec<_>>().await);
    assert_eq!(text(&seen), "0123456789");
    assert_eq!(seen.len(), 12);
    turn.await.unwrap();
}

/// A reader that never reads while 200,000 deltas come: what it reads then is all the text, in few events.
#[tokio::test(start_paused = true)]
async fn c11_a_reader_that_never_reads_costs_the_text() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    let mut expected = String::new();
    for piece in 0..200_000 {
        let piece = format!("{piece} ");
        expected.push_str(&piece);
        call.text(piece);
    }
    call.finish(Reply::streamed());
    assert_eq!(&*turn.await.unwrap().text, expected);
    let events = all(events).await;
    assert!(events.len() <= UNREAD_CAP + 2, "{}", events.len());
    assert_eq!(text(&events), expected);
    assert_eq!(
        events[events.len() - 2].seq(),
        200_000,
        "the last one's place"
    );
    assert_eq!(events.last().unwrap().seq(), 200_001);
}

#[tokio::test(start_paused = true)]
async fn events_law_once_nobody_can_read_them_they_are_not_kept() {
    let mut lab = Lab::new().await;
    let (read, unread) = (lab.session.send("read"), lab.session.send("unread"));
    let events = read.events().unwrap();
    let mut call = lab.script.next_call().await;
    let piece: std::sync::Arc<str> = "piece".into();
    call.text(piece.clone());
    idle().await;
    assert_eq!(
        std::sync::Arc::strong_count(&piece),
        2,
        "kept for the reader"
    );
    drop(events);
    assert_eq!(
        std::sync::Arc::strong_count(&piece),
        1,
        "nobody can read it"
    );
    call.text(piece.clone());
    idle().await;
    assert_eq!(std::sync::Arc::strong_count(&piece), 1);
    call.finish(Reply::streamed());
    read.await.unwrap();

    let mut call = lab.script.next_call().await;
    call.text(piece.clone());
    idle().await;
    assert_eq!(std::sync::Arc::strong_count(&piece), 2, "someone may ask");
    let result = unread.into_future();
    assert_eq!(
        std::sync::Arc::strong_count(&piece),
        1,
        "only its result is awaited"
    );
    call.finish(Reply::text("ok"));
    result.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn t12_usage_known_so_far_is_kept_on_failed_and_canceled_turns() {
    let used = Usage {
        output_tokens: Some(7),
        ..Usage::default()
    };
    for fails in [true, false] {
        let mut lab = Lab::new().await;
        let turn = lab.session.send("hi");
        let call = lab.script.next_call().await;
        let earlier = Usage {
            output_tokens: Some(3),
            ..used
        };
        call.event(ResponderEvent::Usage(earlier.into()));
        call.event(ResponderEvent::Usage(used.into()));
        idle().await;
        if fails {
            call.fail(crate::kit::oops());
        } else {
            turn.cancel(());
        }
        turn.result().await.unwrap_err();
        let record = lab.session.find(turn.id()).unwrap();
        assert_eq!(record.metadata.usage, Some(used));
        assert_eq!(end(&all(turn.events().unwrap()).await), &record);
        // Unknown is absent, never 0.
        let turn = lab.session.send("hi");
        lab.script.next_call().await.fail(crate::kit::oops());
        turn.result().await.unwrap_err();
        assert_eq!(lab.session.find(turn.id()).unwrap().metadata.usage, None);
    }
}

#[tokio::test(start_paused = true)]
async fn t7_what_streamed_before_a_failure_is_never_a_reply() {
    let mut lab = Lab::new().await;
    lab.answered("first").await;
    for cancels in [true, false] {
        let turn = lab.session.send("second");
        let call = lab.script.next_call().await;
        call.text("half a rep");
        idle().await;
        if cancels {
            turn.cancel(());
        } else {
            call.fail(crate::kit::oops());
        }
        turn.result().await.unwrap_err();
        assert_eq!(text(&all(turn.events().unwrap()).await), "half a rep");
        assert_eq!(lab.session.find(turn.id()).unwrap().output, None);
    }
    assert_eq!(lab.session.messages().len(), 2);
    let turn = lab.session.send("third");
    let mut call = lab.script.next_call().await;
    assert_eq!(call.request().messages.iter().count(), 2, "C7, C13");
    call.finish(Reply::text("ok"));
    turn.await.unwrap();
    for entry in lab.journal().await {
        assert!(!format!("{entry:?}").contains("half a rep"));
    }
}
