//! What using the crates reads like, as a stranger would write it: a whole chat, watching, steering, canceling, retrying,
//! responders of one's own, approvals, rows for a UI. (A store author's test file is `chat-store-file/tests/laws.rs`.)
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

use std::{error::Error, sync::Arc};

use chat_conformance::{ScriptedModel, ScriptedResponder, ScriptedServer};
use chat_core::{
    ApprovalRequest, ChatEvent, Decision, Execution, MemoryStore, Reply, Responder, ResponderEvent,
    Timestamp, TurnError, TurnRequest,
};
use chat_responder_agent::{Agent, AgentResponder, Step};
use chat_responder_model::{ModelResponder, OpenAi};
use chat_runtime::{Chat, responder_fn};
use chat_store_file::FileStore;
use chat_store_sqlite::SqliteStore;
use chat_trace::{ProjectOptions, RowChange, TraceRow, TraceView};

type Tested = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn a_whole_chat() -> Tested {
    let (server, folder) = (ScriptedServer::start().await, tempfile::tempdir()?);

    let chat = Chat::new(
        ModelResponder::new(OpenAi::new(server.url())?.model("gpt-5-mini"))
            .instructions("You explain software briefly and plainly."),
        FileStore::open(folder.path().join(".chat"))?,
    );
    let session = chat.create_session().await?;
    let asked = session.ask("What is a turn?");

    let mut exchange = server.next().await;
    exchange.respond_events().await;
    let answer = r#"{"choices":[{"delta":{"content":"One input."},"finish_reason":"stop"}]}"#;
    exchange.event(answer).await;
    exchange.event("[DONE]").await;
    assert_eq!(&*asked.await?, "One input.");
    Ok(())
}

#[tokio::test]
async fn watching_it_being_written_then_taking_the_reply() -> Tested {
    let chat = Chat::new(responder_fn(shout_word_by_word), MemoryStore::default());
    let session = chat.create_session().await?;
    let mut seen = String::new();

    let turn = session.send("And a journal?");
    let mut events = turn.events()?;
    while let Some(event) = events.next().await {
        if let ChatEvent::TextDelta { text, .. } = event {
            seen.push_str(&text);
        }
    }
    let reply = turn.await?; // Err says failed (why), canceled (reason), interrupted
    assert_eq!(reply.metadata.usage, None, "unknown is absent");

    assert_eq!(
        (&*seen, &*reply.text),
        ("AND A JOURNAL? ", "AND A JOURNAL? ")
    );
    Ok(())
}

#[tokio::test]
async fn steering_canceling_retrying() -> Tested {
    let (responder, mut script) = ScriptedResponder::new();
    let chat = Chat::new(responder, MemoryStore::default());
    let session = chat.create_session().await?;

    let turn = session.send("Draft the migration plan.");
    let mut call = script.next_call().await;
    let steered = session.steer("Assume we can't take downtime.");
    assert!(call.steer_offered().await.take());
    steered.await?; // Ok: in the journal. Err: the input is handed back.
    turn.cancel("changed my mind");
    let ended = turn.await.unwrap_err();
    assert!(
        matches!(ended, TurnError::Canceled { reason } if reason.as_deref() == Some("changed my mind"))
    );

    let answers = tokio::spawn(async move {
        script.next_call().await.finish(Reply::text("Here it is."));
    });
    for turn in session
        .turns()
        .iter()
        .filter(|turn| turn.status.can_retry())
    {
        assert_eq!(&*session.retry(&turn.id).await?.text, "Here it is.");
    }
    answers.await?;
    assert_eq!(
        session.turns().len(),
        2,
        "the one that was canceled, and its retry"
    );
    Ok(())
}

async fn shout_word_by_word(
    request: TurnRequest,
    out: chat_runtime::Out,
) -> Result<Reply, chat_core::ResponderError> {
    for word in request.input.to_uppercase().split(' ') {
        out.text(format!("{word} "));
    }
    Ok(Reply::streamed()) // the text is what streamed
}

struct Shout;

impl Responder for Shout {
    fn respond(&self, request: TurnRequest) -> Execution {
        let text = request.input.to_uppercase();
        Execution::new(async move { Ok(Reply::text(text)) })
    }
}

#[tokio::test]
async fn a_responder_of_ones_own_a_closure_or_the_trait() -> Tested {
    let shout = responder_fn(|request, out| async move {
        for word in request.input.to_uppercase().split(' ') {
            out.text(format!("{word} "));
        }
        Ok(Reply::streamed())
    });
    let closure = Chat::new(shout, MemoryStore::default());
    assert_eq!(
        &*closure.create_session().await?.ask("hi you").await?,
        "HI YOU "
    );

    let of_trait = Chat::new(Shout, MemoryStore::default());
    assert_eq!(
        &*of_trait.create_session().await?.ask("hi you").await?,
        "HI YOU"
    );
    Ok(())
}

#[tokio::test]
async fn another_store_nothing_else_changes() -> Tested {
    let folder = tempfile::tempdir()?;
    let (responder, mut script) = ScriptedResponder::new();

    let chat = Chat::new(responder, SqliteStore::open(folder.path().join("chat.db"))?);
    let session = chat.create_session().await?;
    let asked = session.ask("What is a turn?");

    script.next_call().await.finish(Reply::text("One input."));
    assert_eq!(&*asked.await?, "One input.");
    let again = SqliteStore::open(folder.path().join("chat.db"))?;
    let kept = chat_core::Journal::read(&again, session.id()).await?;
    assert_eq!(kept.entries.len(), 3);
    Ok(())
}

#[tokio::test]
async fn approvals() -> Tested {
    let (responder, mut script) = ScriptedResponder::new();
    let chat = Chat::new(responder, MemoryStore::default());
    let session = chat.create_session().await?;
    let turn = session.send("Deploy it.");
    let mut call = script.next_call().await;
    for (id, env) in [("a1", "staging"), ("a2", "prod")] {
        call.event(ResponderEvent::ApprovalRequest(Arc::new(ApprovalRequest {
            id: id.into(),
            call_id: id.into(),
            tool_name: "deploy".into(),
            input: Arc::new(serde_json::json!({ "env": env })),
            step: "reply".into(),
            requested_at: Timestamp::UNIX_EPOCH,
        })));
    }

    let mut events = turn.events()?;
    for _ in 0..3 {
        let event = events.next().await.unwrap();
        if let ChatEvent::ApprovalRequest { request, .. } = event {
            match request.tool_name.as_str() {
                "deploy" if request.input["env"] != "prod" => turn.approve(&request.id)?,
                _ => turn.deny(&request.id, "Only non-prod deploys from chat")?,
            }
        }
    }

    assert_eq!(call.answered().await.1, Decision::Approve);
    let denied = Decision::Deny(Some("Only non-prod deploys from chat".into()));
    assert_eq!(call.answered().await.1, denied);
    call.finish(Reply::text("Done."));
    assert_eq!(&*turn.await?.text, "Done.");
    Ok(())
}

/// A user interface of one's own: it holds the rows as they stand.
#[derive(Default)]
struct Ui(Vec<Arc<TraceRow>>);

impl Ui {
    fn apply(&mut self, change: RowChange) {
        change.apply(&mut self.0);
    }
}

#[tokio::test]
async fn rows_for_a_ui() -> Tested {
    let (model, mut script) = ScriptedModel::new();
    let responder = AgentResponder::new("engineer", move |_| {
        Agent::new(model.clone()).then(Step::new("reply").prompt("Hello"))
    });
    let chat = Chat::new(responder.stream("reply"), MemoryStore::default());
    let turn = chat.create_session().await?.send("Hello");
    let (mut events, mut ui) = (turn.events()?, Ui::default());
    script.next_call().await.answer("Hi.");

    let mut trace = TraceView::new(ProjectOptions::default());
    while let Some(event) = events.next().await {
        if let ChatEvent::RunUpdate { tree, .. } = event {
            for change in trace.update(&tree, &turn.requests()) {
                ui.apply(change);
            }
        }
    }

    let titles: Vec<_> = ui.0.iter().map(|row| &*row.title).collect();
    assert_eq!(titles, ["reply done", "scripted answered"]);
    Ok(())
}
