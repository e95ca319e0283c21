//! Plays a case: a turn of a chat over a store in memory, whose models, tools and people do one thing after the other. After each
//! the run comes to rest, and all there is to see of it has to be what the reference says.
//!
//! Of things that are done together the run may learn in any order: what is right is what is right for one of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use chat_conformance::{ModelCall, ToolCall};
use chat_core::{ChatEvent, MemoryStore, Message, Role, TurnError, TurnReply};
use chat_runtime::{Chat, Session, Turn, TurnEvents};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    checks,
    plan::{Case, Move, Person},
    reference::{Happened, Outcome, Scene, scene},
    wait::Wait,
    workshop::{self, Caught, Scripts},
};

/// Longer than any clock, in milliseconds.
const LONG: u64 = 1_000_000;

pub(crate) struct Stage<'a> {
    case: &'a Case,
    since: Instant,
    session: Session,
    turn: Turn,
    events: TurnEvents,
    caught: Caught,
    scripts: Scripts,
    seen: Vec<ChatEvent>,
    /// The calls that wait for an answer, and whether the model has written all but its end.
    models: BTreeMap<String, (ModelCall, bool)>,
    tools: BTreeMap<String, ToolCall>,
    asked: BTreeMap<String, Vec<Message>>,
    ran: BTreeMap<String, Value>,
    keys: BTreeSet<Arc<str>>,
    /// What may have happened, in all orders that fit what was seen.
    logs: Vec<Vec<Happened>>,
    /// What was done together, last.
    together: Vec<Happened>,
    looked_at: u64,
}

pub(crate) fn play(case: &Case) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut stage = Stage::new(case).await;
        stage.settle().await;
        for next in &case.moves {
            stage.step(*next).await;
        }
        stage.finish().await;
    });
}

impl<'a> Stage<'a> {
    async fn new(case: &'a Case) -> Self {
        let (responder, scripts, caught) = workshop::responder(case);
        let session = Chat::new(responder, MemoryStore::new())
            .create_session()
            .await
            .unwrap();
        let turn = session.send("Hello");
        Self {
            case,
            since: Instant::now(),
            events: turn.events().unwrap(),
            session,
            turn,
            caught,
            scripts,
            seen: Vec::new(),
            models: BTreeMap::new(),
            tools: BTreeMap::new(),
            asked: BTreeMap::new(),
            ran: BTreeMap::new(),
            keys: BTreeSet::new(),
            logs: vec![Vec::new()],
            together: Vec::new(),
            looked_at: 0,
        }
    }

    async fn step(&mut self, next: Move) {
        let scene = self.scene();
        let ready: Vec<_> = scene
            .waits
            .values()
            .filter(|wait| {
                wait.comes() && !self.together.iter().any(|done| done.what == wait.name())
            })
            .collect();
        match next {
            Move::Act(which) | Move::ActAtOnce(which) => {
                if let Some(wait) = pick(&ready, which) {
                    self.act(wait);
                }
            }
            Move::Write(which) => {
                let models: Vec<_> = ready
                    .iter()
                    .filter_map(|wait| match wait {
                        Wait::Model(step, number) => Some((*step, *number)),
                        Wait::Tool(_) | Wait::Person(_) | Wait::Task(_) => None,
                    })
                    .collect();
                if let Some((step, number)) = pick(&models, which) {
                    let (call, written) = self
                        .models
                        .get_mut(&Wait::Model(step, *number).name())
                        .unwrap();
                    if !std::mem::replace(written, true) {
                        workshop::write(call, step, *number);
                    }
                }
            }
            Move::Wait => {
                self.settle().await;
                let until = scene.alarms.iter().min().copied();
                let until = until.unwrap_or(self.looked_at + LONG);
                tokio::time::sleep_until(self.since + Duration::from_millis(until)).await;
            }
            Move::Cancel => self.cancel(),
        }
        if !matches!(next, Move::ActAtOnce(_)) || self.together.len() == 3 {
            self.settle().await;
        }
    }

    /// Lets all come that will come, and cancels what then still goes on.
    async fn finish(mut self) {
        self.settle().await;
        while !self.turn.is_done() {
            let scene = self.scene();
            if scene.waits.values().any(Wait::comes) {
                self.step(Move::Act(0)).await;
                continue;
            }
            self.step(Move::Wait).await;
            if scene.alarms.is_empty() {
                self.step(Move::Cancel).await;
            }
        }
        let scene = self.scene();
        let result = self.turn.result().now_or_never().unwrap();
        if let Ok(reply) = &result {
            let run = reply.run.as_ref().unwrap();
            assert_eq!(*reply.text, workshop::reply_of(run));
            assert_eq!(json!(run.steps), json!(scene.results));
        }
        assert!(self.models.is_empty() && self.tools.is_empty());
        for request in checks::requests(&self.seen) {
            assert!(
                self.turn.approve(&request.id).is_err(),
                "{request:?} can still be answered"
            );
        }
        let turns = self.session.turns();
        assert_eq!(turns.iter().count(), 1);
        checks::check(&self.seen, &scene.ended);
    }

    fn act(&mut self, wait: &Wait<'a>) {
        let name = wait.name();
        match wait {
            Wait::Model(step, number) => {
                let (call, written) = self.models.remove(&name).unwrap();
                if !written {
                    workshop::write(&call, step, *number);
                }
                workshop::end(call, step, *number);
            }
            Wait::Person(call) => {
                let requests = self.turn.requests();
                let request = requests
                    .iter()
                    .find(|request| request.call_id.as_str() == call.id)
                    .unwrap();
                assert_eq!(*request.input, call.input());
                let answered = match call.person {
                    Person::Denies => self.turn.deny(&request.id, "not now"),
                    Person::Approves | Person::StaysAway => self.turn.approve(&request.id),
                };
                answered.unwrap();
            }
            Wait::Tool(call) => workshop::work(self.tools.remove(&name).unwrap(), call.end),
            Wait::Task(task) => workshop::work(self.tools.remove(&name).unwrap(), task.end),
        }
        self.happened(name);
    }

    fn cancel(&mut self) {
        if !self.turn.is_done() {
            self.turn.cancel("enough");
            self.happened("cancel".into());
        }
    }

    fn happened(&mut self, what: String) {
        let at = self.now();
        self.together.push(Happened { what, at });
    }

    fn now(&self) -> u64 {
        self.since.elapsed().as_millis() as u64
    }

    /// Where things stand as far as they were looked at.
    fn scene(&self) -> Scene<'a> {
        scene(self.case, &self.logs[0], self.looked_at)
    }

    /// Lets the run do all that it can do now, and looks whether it stands where it should.
    async fn settle(&mut self) {
        self.logs = self
            .logs
            .iter()
            .flat_map(|log| orders(log, &self.together))
            .collect();
        self.together.clear();
        loop {
            idle().await;
            // A clock that ran out in the same moment may still have had to be seen.
            let now = self.now();
            let rings = self.logs.iter().any(|log| {
                scene(self.case, log, self.looked_at)
                    .alarms
                    .iter()
                    .any(|alarm| *alarm <= now)
            });
            self.looked_at = now;
            if !rings {
                break;
            }
        }
        self.look();
        let mut fits: Vec<(Vec<Happened>, Scene<'a>)> = Vec::new();
        let mut differs = None;
        for log in std::mem::take(&mut self.logs) {
            let scene = scene(self.case, &log, self.looked_at);
            match self.compare(&scene) {
                Ok(()) if fits.iter().any(|(_, other)| *other == scene) => {}
                Ok(()) => fits.push((log, scene)),
                Err(difference) => {
                    differs.get_or_insert((log, difference));
                }
            }
        }
        if fits.is_empty() {
            let (log, difference) = differs.unwrap();
            let log: Vec<_> = log
                .iter()
                .map(|happened| format!("{} at {}", happened.what, happened.at))
                .collect();
            panic!("after {log:?} at {}: {difference}", self.looked_at);
        }
        let ties = fits.iter().any(|(_, scene)| {
            let mut alarms = scene.alarms.clone();
            alarms.sort_unstable();
            alarms.windows(2).any(|two| two[0] == two[1])
        });
        self.logs = fits.into_iter().map(|(log, _)| log).collect();
        if ties && !self.turn.is_done() {
            // Which of two clocks that run out at once is first is nobody's business.
            self.cancel();
            self.logs
                .iter_mut()
                .for_each(|log| log.extend(self.together.iter().cloned()));
            self.together.clear();
            idle().await;
            self.looked_at = self.now();
            self.look();
        }
    }

    /// Takes in what has happened.
    fn look(&mut self) {
        let (model, tools) = &mut self.scripts;
        while let Some(call) = model.try_next_call() {
            let messages = call.request().messages.clone();
            let answers = messages
                .iter()
                .filter(|message| message.role == Role::Assistant);
            let name = format!("model {}/{}", messages[1].to_text(), answers.count() + 1);
            assert!(
                self.asked.insert(name.clone(), messages).is_none(),
                "{name} was asked twice"
            );
            self.models.insert(name, (call, false));
        }
        for (place, tool) in tools.iter_mut().enumerate() {
            while let Some(call) = tool.try_next_call() {
                let context = call.context();
                let kind = if place == 0 { "task" } else { "tool" };
                let name = format!("{kind} {}", context.call_id);
                assert!(context.call_id.as_str().starts_with(context.step.as_str()));
                assert!(
                    self.keys.insert(context.idempotency_key.clone()),
                    "{name} has the key of another"
                );
                assert!(
                    self.ran
                        .insert(name.clone(), call.input().clone())
                        .is_none(),
                    "{name} ran twice"
                );
                self.tools.insert(name, call);
            }
        }
        while let Some(Some(event)) = self.events.next().now_or_never() {
            self.seen.push(event);
        }
        self.models.retain(|_, (call, _)| !call.is_dropped());
        self.tools.retain(|name, call| {
            let dropped = call.is_dropped();
            let signaled = call.context().cancel.is_cancelled();
            assert_eq!(
                dropped, signaled,
                "{name} was dropped: {dropped}, and told: {signaled}"
            );
            !dropped
        });
    }

    /// What differs from what should be.
    fn compare(&self, scene: &Scene<'_>) -> Result<(), String> {
        let requests = self.turn.requests();
        let asked = requests
            .iter()
            .map(|request| format!("person {}", request.call_id));
        let waits: BTreeSet<_> = self
            .models
            .keys()
            .chain(self.tools.keys())
            .cloned()
            .chain(asked)
            .collect();
        same("waits for", &waits, &scene.waits.keys().cloned().collect())?;
        let outcome = self.turn.result().now_or_never();
        same("is over", &outcome.is_some(), &scene.outcome.is_some())?;
        if let (Some(outcome), Some(expected)) = (&outcome, &scene.outcome)
            && !is(outcome, expected)
        {
            return Err(format!("came to {outcome:?}, not to {expected:?}"));
        }
        let at_work = scene.waits.values().map(Wait::of).collect();
        same("is at work on", &checks::at_work(&self.seen), &at_work)?;
        same("ended", &checks::results(&self.seen), &scene.ended)?;
        let caught = self.caught.lock().unwrap().iter().cloned().collect();
        if scene.caught.len() != BTreeSet::len(&caught)
            || !scene
                .caught
                .iter()
                .zip(&caught)
                .all(|(begin, error)| error.starts_with(begin))
        {
            return Err(format!("caught {caught:?}, not {:?}", scene.caught));
        }
        // What began and was stopped in one breath may not have been seen.
        for (name, messages) in &self.asked {
            same(
                &format!("{name} was asked"),
                &Some(messages),
                &scene.asked.get(name),
            )?;
        }
        for (name, input) in &self.ran {
            same(&format!("{name} ran"), &Some(input), &scene.ran.get(name))?;
        }
        Ok(())
    }
}

fn is(outcome: &Result<TurnReply, TurnError>, expected: &Outcome) -> bool {
    match (outcome, expected) {
        (Ok(_), Outcome::Completed) => true,
        (Err(TurnError::Failed(error)), Outcome::Failed(begin)) => {
            error.message().starts_with(begin)
        }
        (Err(TurnError::Canceled { .. }), Outcome::Canceled) => true,
        _ => false,
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: &T, should: &T) -> Result<(), String> {
    if is == should {
        Ok(())
    } else {
        Err(format!("{what} {is:?}, not {should:?}"))
    }
}

fn pick<T>(among: &[T], which: u8) -> Option<&T> {
    among.get(usize::from(which) % among.len().max(1))
}

/// The log with all orders of what was done together.
fn orders(log: &[Happened], together: &[Happened]) -> Vec<Vec<Happened>> {
    if together.is_empty() {
        return vec![log.to_vec()];
    }
    let mut all = Vec::new();
    for place in 0..together.len() {
        let mut rest = together.to_vec();
        let first = rest.remove(place);
        let log: Vec<_> = log.iter().cloned().chain([first]).collect();
        all.extend(orders(&log, &rest));
    }
    all
}

/// Resolves once nothing else can run: a paused clock moves only then.
async fn idle() {
    let _ = tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
}
