//! Two processes want one session all the time: strictly one at a time, nothing lost, and neither starves. A holder that is killed frees
//! it at once (S5, C23, C24).

use std::time::{Duration, Instant};

use chat_core::{Durability, Seq, SessionId};

use super::{
    backend::Backend,
    crew::{Crew, Heard, Id, told},
    lab::{Lab, Outcome, Unproved, ensure, failed},
    ledger::Ledger,
    lines::Line,
    no_room::create,
    seen,
    task::{Part, Task},
    worker::race::SESSION,
};

const LIMIT: Duration = Duration::from_secs(180);

/// So soon has a killed holder's hold to be free, on a machine that has other things to do.
const AT_ONCE: Duration = Duration::from_secs(1);

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    let race = race(lab, backend)?;
    let killed = killed_holders(lab, backend)?;
    Ok(format!("{race}; {killed}"))
}

fn race(lab: &Lab, backend: Backend) -> Outcome {
    let folder = lab.empty_folder()?;
    let session = SessionId::parse(SESSION).expect("it is a plain word");
    let turns = if lab.is_long() { 500 } else { 50 };
    let task = |slot| Task {
        part: Part::Race,
        backend,
        durability: Durability::Full,
        place: backend.place(folder.path()),
        seed: lab.rng("fairness", backend).u64(..),
        slot,
        count: turns,
        seconds: LIMIT.as_secs(),
    };
    let mut ledger = Ledger::default();
    create(lab, &task(0), &session, &mut ledger)?;

    let started = Instant::now();
    run_both(lab, [task(0), task(1)], &mut ledger)?;
    let took = started.elapsed();

    let store = backend.open(&task(0).place, Durability::Full)?;
    let seen = lab.block_on(seen::look(&*store, ledger.sessions()))??;
    ledger.judge(&seen).sound().map_err(Unproved::Failed)?;
    let Some(found) = seen.sessions.get(&session) else {
        return failed("the session is not there");
    };
    // Who accepted each turn, in order; that nothing stands between a turn's two entries was looked at with the rest.
    let order: Vec<bool> = found
        .turns()
        .map(|turn| turn.as_str().starts_with("t-r0"))
        .collect();
    let (accepted, outcomes) = (order.len(), found.entries.len() - 1 - order.len());
    ensure((accepted, outcomes) == (2 * turns, 2 * turns), || {
        format!("{accepted} turns were accepted, and {outcomes} have an outcome")
    })?;
    // Both want the session until one of them is done.
    let done = |who: bool| order.iter().rposition(|of| *of == who).unwrap_or_default();
    let both = &order[..=done(true).min(done(false))];
    let of_one = both.iter().filter(|of| **of).count();
    let slower = of_one.min(both.len() - of_one);
    ensure(slower * 4 >= both.len(), || {
        format!("the slower one got {slower} of {} turns", both.len())
    })?;
    Ok(format!(
        "{accepted} accepted and {outcomes} outcomes, one turn at a time, in {:.1} s; the slower process got {slower} of the first {} \
         turns",
        took.as_secs_f32(),
        both.len()
    ))
}

fn run_both(lab: &Lab, tasks: [Task; 2], ledger: &mut Ledger) -> Outcome<()> {
    let mut crew = Crew::new();
    let workers: Vec<Id> = tasks
        .iter()
        .map(|task| crew.start(task))
        .collect::<Outcome<_>>()?;
    let time = lab.time(LIMIT);
    let mut ready = 0;
    while !crew.is_empty() {
        time.check()?;
        match crew.hear(Duration::from_millis(200))? {
            Some((_, Heard::Line(Line::Said(_)))) => {
                ready += 1;
                if ready == workers.len() {
                    workers.iter().for_each(|id| crew.begin(*id));
                }
            }
            Some((_, Heard::Line(Line::Failed(kind, words)))) => return Err(told(&kind, &words)),
            Some((_, Heard::Line(line))) => ledger.hear(&line),
            Some((_, Heard::End(status))) => {
                ensure(status.success(), || format!("a worker ended with {status}"))?;
            }
            None => {}
        }
    }
    Ok(())
}

fn killed_holders(lab: &Lab, backend: Backend) -> Outcome {
    let folder = lab.empty_folder()?;
    let session = SessionId::parse(SESSION).expect("it is a plain word");
    let mut task = Task {
        part: Part::Hold,
        backend,
        durability: Durability::Full,
        place: backend.place(folder.path()),
        seed: 0,
        slot: 0,
        count: 0,
        seconds: 60,
    };
    create(lab, &task, &session, &mut Ledger::default())?;
    let store = backend.open(&task.place, Durability::Full)?;
    let mut times = Vec::new();
    for round in 0..if lab.is_long() { 20 } else { 4 } {
        task.seed = round;
        let mut crew = Crew::new();
        let holder = crew.start(&task)?;
        crew.begin(holder);
        let time = lab.time(Duration::from_secs(30));
        loop {
            time.check()?;
            match crew.hear(Duration::from_millis(200))? {
                Some((_, Heard::Line(Line::Said(word)))) if word == "held" => break,
                Some((_, Heard::Line(Line::Failed(kind, words)))) => {
                    return Err(told(&kind, &words));
                }
                Some((_, Heard::End(status))) => {
                    return failed(format!("the holder ended with {status}"));
                }
                Some((_, Heard::Line(_))) | None => {}
            }
        }
        ensure(lab.block_on(store.is_held(&session))??, || {
            "a held session is not shown as held".to_owned()
        })?;
        // Someone waits already when it is killed.
        let acquire = lab.runtime.spawn(store.acquire(&session, Seq::ZERO));
        std::thread::sleep(Duration::from_millis(60));
        ensure(!acquire.is_finished(), || "two holders at once".to_owned())?;
        let killed = Instant::now();
        crew.kill(holder);
        lab.block_on(acquire)???;
        times.push(killed.elapsed());
    }
    times.sort();
    let (middle, longest) = (times[times.len() / 2], times[times.len() - 1]);
    ensure(longest <= AT_ONCE, || {
        format!(
            "a killed holder's session was free only after {} ms",
            longest.as_millis()
        )
    })?;
    Ok(format!(
        "a killed holder's session was another's after {} ms (longest of {}: {} ms)",
        middle.as_millis(),
        times.len(),
        longest.as_millis()
    ))
}
