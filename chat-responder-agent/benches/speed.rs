//! What runs cost, each figure as a ratio within one run: the machines this runs on are noisy.
//!
//! Both sides of a ratio take turns, round after round; the median of each side is compared, and the spread is shown.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use chat_core::{
    ChatEvent, Execution, FinishReason, LanguageModel, MemoryStore, ModelEvent, ModelRef,
    ModelRequest, Reply, Responder, ResponderError, ResponderEvent, TurnRequest,
};
use chat_responder_agent::{Agent, AgentResponder, Node, Parallel, RunIds, RunOptions, Step};
use chat_runtime::{Chat, Session};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};

fn main() {
    // `cargo test` runs benchmarks too, unoptimized: figures of that would mislead.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        for pace in [Pace::Bursts, Pace::OneAWake] {
            long_answers(pace).await;
        }
        text_behind_reasoning().await;
        for pace in [Pace::Bursts, Pace::OneAWake] {
            beside_a_plain_responder(pace).await;
        }
        steps_of_a_turn().await;
        steps_of_a_run().await;
    });
}

/// How a model says its pieces.
#[derive(Clone, Copy)]
enum Pace {
    /// As fast as they are read.
    Bursts,
    /// One, and the next when it is woken: each is a commit of its own.
    OneAWake,
}

impl Pace {
    fn name(self) -> &'static str {
        match self {
            Self::Bursts => "in bursts",
            Self::OneAWake => "one a wake",
        }
    }

    fn play<T: Send + 'static>(self, said: Vec<T>) -> BoxStream<'static, T> {
        let said = stream::iter(said);
        match self {
            Self::Bursts => said.boxed(),
            Self::OneAWake => said
                .then(|piece| async {
                    tokio::task::yield_now().await;
                    piece
                })
                .boxed(),
        }
    }
}

/// What is said next, made before the clock runs, which it starts.
struct Script<T> {
    pace: Pace,
    said: Arc<Mutex<(Vec<T>, Instant)>>,
}

impl<T: Send + 'static> Script<T> {
    fn new(pace: Pace) -> Self {
        let said = Arc::new(Mutex::new((Vec::new(), Instant::now())));
        Self { pace, said }
    }

    fn set(&self, said: Vec<T>) {
        self.said.lock().expect("nobody panics").0 = said;
    }

    fn started(&self) -> Instant {
        self.said.lock().expect("nobody panics").1
    }

    fn play(&self) -> BoxStream<'static, T> {
        let mut script = self.said.lock().expect("nobody panics");
        script.1 = Instant::now();
        self.pace.play(std::mem::take(&mut script.0))
    }
}

impl<T> Clone for Script<T> {
    fn clone(&self) -> Self {
        Self {
            pace: self.pace,
            said: self.said.clone(),
        }
    }
}

type FromModel = Result<ModelEvent, ResponderError>;
type FromResponder = Result<ResponderEvent, ResponderError>;

impl LanguageModel for Script<FromModel> {
    fn model(&self) -> ModelRef {
        ModelRef::new("bench", "script")
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, FromModel> {
        self.play()
    }
}

impl Responder for Script<FromResponder> {
    fn respond(&self, _: TurnRequest) -> Execution {
        Execution::new(async { Ok(Reply::streamed()) }).with_events(self.play())
    }
}

/// A text of its own for each piece, as a server's would be.
fn pieces(count: usize) -> impl Iterator<Item = Arc<str>> {
    (0..count).map(|_| "8 bytes.".into())
}

/// A session whose turns are answered by one step, which streams what the script says.
async fn streaming(script: &Script<FromModel>) -> Session {
    let model = script.clone();
    let responder = AgentResponder::new("bench", move |turn| {
        Agent::new(model.clone()).then(Step::new("reply").prompt(turn.input.clone()))
    });
    session(responder.stream("reply")).await
}

async fn session(responder: impl Responder) -> Session {
    let chat = Chat::new(responder, MemoryStore::default());
    chat.create_session().await.expect("created")
}

/// Nanoseconds a piece, from the moment the model is asked to the turn's last event, read live by another task.
async fn stream_through_agent(session: &Session, script: &Script<FromModel>, count: usize) -> f64 {
    let finish = ModelEvent::Finish(FinishReason::Stop);
    let said = pieces(count).map(ModelEvent::Text).chain([finish]);
    script.set(said.map(Ok).collect());
    read(session, count).await;
    nanos_each(script.started(), count)
}

/// Sends a turn and reads it as it streams.
async fn read(session: &Session, count: usize) {
    let turn = session.send("go");
    let mut events = turn.events().expect("nobody else reads");
    let reader = tokio::spawn(async move {
        let mut bytes = 0;
        while let Some(event) = events.next().await {
            if let ChatEvent::TextDelta { text, .. } = event {
                bytes += text.len();
            }
        }
        bytes
    });
    assert_eq!(reader.await.expect("the reader ends"), 8 * count);
}

fn nanos_each(started: Instant, count: usize) -> f64 {
    started.elapsed().as_secs_f64() * 1e9 / count as f64
}

/// A piece of an answer of 100,000, against one of an answer of 1,000.
async fn long_answers(pace: Pace) {
    let script = Script::new(pace);
    let session = streaming(&script).await;
    let long = async || stream_through_agent(&session, &script, 100_000).await;
    let short = async || {
        let mut sum = 0.0;
        for _ in 0..100 {
            sum += stream_through_agent(&session, &script, 1_000).await;
        }
        sum / 100.0
    };
    let what = format!(
        "a delta of a step that streams 100,000, against one of 1,000, {}",
        pace.name()
    );
    ratio(&what, Some(1.2), 15, long, short).await;
}

/// A piece of text that stands behind as many pieces of reasoning, each with data that the provider wants back, against one behind
/// a tenth of them.
async fn text_behind_reasoning() {
    let script = Script::new(Pace::Bursts);
    let session = streaming(&script).await;
    let behind = async |count: usize| {
        let reasoning = ModelEvent::Reasoning {
            text: "hm".into(),
            kind: None,
            data: Some(Arc::new(1.into())),
        };
        let text = pieces(count).map(ModelEvent::Text);
        let said = std::iter::repeat_n(reasoning, count).chain(text);
        let finish = ModelEvent::Finish(FinishReason::Stop);
        script.set(said.chain([finish]).map(Ok).collect());
        read(&session, count).await;
        nanos_each(script.started(), count)
    };
    ratio(
        "a delta behind 10,000 pieces of reasoning with data, against one behind 1,000",
        Some(1.2),
        15,
        async || behind(10_000).await,
        async || {
            let mut sum = 0.0;
            for _ in 0..10 {
                sum += behind(1_000).await;
            }
            sum / 10.0
        },
    )
    .await;
}

/// A piece through a step, with its updates of the trace, against one through a responder that has none.
async fn beside_a_plain_responder(pace: Pace) {
    const DELTAS: usize = 50_000;
    let (agents, plain) = (Script::new(pace), Script::new(pace));
    let (agents_session, plain_session) = (streaming(&agents).await, session(plain.clone()).await);
    let agent = async || stream_through_agent(&agents_session, &agents, DELTAS).await;
    let plain = async || {
        let deltas = pieces(DELTAS).map(|text| Ok(ResponderEvent::TextDelta { text, step: None }));
        plain.set(deltas.collect());
        read(&plain_session, DELTAS).await;
        nanos_each(plain.started(), DELTAS)
    };
    let what = format!(
        "a delta through an agent, against one through a plain responder, {}",
        pace.name()
    );
    ratio(&what, None, 15, agent, plain).await;
}

/// Says a word once it was waited for, so that all steps of a run are open at once.
#[derive(Clone)]
struct Brief;

impl LanguageModel for Brief {
    fn model(&self) -> ModelRef {
        ModelRef::new("bench", "brief")
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, FromModel> {
        let word = ModelEvent::Text("8 bytes.".into());
        let finish = ModelEvent::Finish(FinishReason::Stop);
        Pace::OneAWake.play(vec![Ok(word), Ok(finish)])
    }
}

fn side_by_side(steps: usize) -> Agent {
    let steps: Parallel = (0..steps)
        .map(|step| Step::new(format!("step-{step}")).prompt("go"))
        .collect();
    Agent::new(Brief).then(steps)
}

/// A step of a turn that runs 1,000 side by side, against one of 10, its events read live.
async fn steps_of_a_turn() {
    let turns = async |session: &Session, steps: usize| {
        let started = Instant::now();
        for _ in 0..1_000 / steps {
            read(session, 0).await;
        }
        nanos_each(started, 1_000)
    };
    let of = async |steps: usize| {
        let responder = AgentResponder::new("bench", move |_| side_by_side(steps));
        session(responder.reply(|_| "done")).await
    };
    let (many, few) = (of(1_000).await, of(10).await);
    ratio(
        "a step of a turn that runs 1,000 side by side, against one of 10",
        Some(1.5),
        41,
        async || turns(&many, 1_000).await,
        async || turns(&few, 10).await,
    )
    .await;
}

/// The same without a chat around it, whose share weighs more in the short turns. What is left to grow is the way to a node of
/// the trace: one level for each 16 times as many nodes.
async fn steps_of_a_run() {
    let runs = async |steps: usize| {
        let started = Instant::now();
        for _ in 0..1_000 / steps {
            let ids = RunIds {
                session_id: "bench".parse().expect("a good id"),
                turn_id: "bench".parse().expect("a good id"),
                root_turn_id: "bench".parse().expect("a good id"),
            };
            let workflow = Node::from(side_by_side(steps));
            let run = workflow.start(RunOptions::default(), ids);
            let run = run.expect("a valid workflow");
            let events = run.events();
            let (result, count) = tokio::join!(run, events.count());
            assert!(result.is_ok() && count > steps * 4);
        }
        nanos_each(started, 1_000)
    };
    ratio(
        "a step of a run of 1,000 side by side, against one of 10, without a chat",
        Some(1.5),
        41,
        async || runs(1_000).await,
        async || runs(10).await,
    )
    .await;
}

/// Measures both by turns, so that whatever else the machine does hits both alike. Each gives nanoseconds of one piece of its work.
async fn ratio(
    what: &str,
    aim: Option<f64>,
    rounds: usize,
    one: impl AsyncFn() -> f64,
    two: impl AsyncFn() -> f64,
) {
    // Once without counting, to warm up.
    one().await;
    two().await;
    let (mut ones, mut twos) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ones.push(one().await);
        twos.push(two().await);
    }
    let [(one, ones), (two, twos)] = [&mut ones, &mut twos].map(|nanos| {
        nanos.sort_unstable_by(f64::total_cmp);
        let (least, median, most) = (nanos[0], nanos[rounds / 2], nanos[rounds - 1]);
        (median, format!("{median:.0} ns ({least:.0} to {most:.0})"))
    });
    let aim = aim.map_or("no aim".to_owned(), |aim| format!("aim: {aim} or less"));
    println!("{what}: {:.2} ({aim})", one / two);
    println!("    {ones} against {twos}");
}
