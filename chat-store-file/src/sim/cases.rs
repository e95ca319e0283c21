//! What the simulation found once, and what is about one operation: each a case of its own.

use chat_core::{Appended, Durability, Seq, StoreError};

use super::{
    client::{Attempted, Client},
    fault::{Fault, Plan},
    model::Session,
    run::{Run, Step},
    world::World,
};
use crate::{
    create::{Created, clean_up, create},
    hold::try_lock,
};

/// Steps of processes on one session.
struct Case {
    steps: &'static [(usize, Step)],
    /// What goes wrong: in which step, at the first operation of a kind.
    faults: &'static [(usize, &'static str, Fault)],
}

impl Case {
    /// Plays the steps once for each seed: what a loss of power leaves is a matter of chance.
    fn check(&self) {
        for seed in 0..200 {
            let mut run = Run::new(seed, Durability::Full, Plan::NEVER, None);
            run.set_up(2, 1);
            run.world.start_trace();
            let mut play = || {
                for (at, (client, step)) in self.steps.iter().enumerate() {
                    let fault = self.faults.iter().find(|(step, _, _)| *step == at);
                    run.world.set_plan(match fault {
                        Some((_, operation, fault)) => Plan::Next(vec![(*operation, *fault)]),
                        None => Plan::NEVER,
                    });
                    run.step(*client, 0, *step)?;
                }
                run.finish()
            };
            if let Err(wrong) = play() {
                let told = run.world.take_trace().join("\n");
                panic!("{told}\nseed {seed}: {wrong}");
            }
        }
    }
}

#[test]
fn s2_the_name_of_an_acquired_journal_is_durable_though_its_creator_was_killed() {
    Case {
        steps: &[
            (0, Step::Create),
            (1, Step::Acquire),
            (1, Step::Append),
            (0, Step::PowerLoss),
            (0, Step::Acquire),
        ],
        faults: &[(0, "sync folder", Fault::Kill)],
    }
    .check();
}

/// Where a sync has failed, another that goes well says nothing of what was written before the first.
#[test]
fn s2_all_that_a_failed_sync_left_in_doubt_is_written_again() {
    for (seed, knows_an_end, failures) in
        (0..200).flat_map(|seed| [(seed, false, 1), (seed, true, 1), (seed, true, 3)])
    {
        let mut model = Session::new("a");
        let mut rng = fastrand::Rng::with_seed(seed);
        let entries: Vec<_> = (0..6).map(|seq| model.issue(Seq(seq), &mut rng)).collect();
        let world = World::new(seed, Plan::NEVER, None);
        world.keep_pages();
        let [mut undurable, mut durable] =
            [Durability::Os, Durability::Full].map(|durability| Client::new(&world, durability));
        durable.create(&model.id, &entries[..1]).unwrap();
        if knows_an_end {
            durable.acquire(&model.id, Seq::ZERO).unwrap();
            durable.writers.clear();
        }
        undurable.acquire(&model.id, Seq::ZERO).unwrap();
        let writer = undurable.writers.get_mut(&model.id).unwrap();
        for entry in &entries[1..] {
            assert!(matches!(writer.append(entry), Appended::Written));
        }
        undurable.writers.clear();
        world.set_plan(Plan::Next(vec![("sync data", Fault::Fail); failures]));
        for _ in 0..failures {
            assert!(durable.acquire(&model.id, Seq::ZERO).is_err());
        }
        let acquired = durable.acquire(&model.id, Seq::ZERO).unwrap();
        let Attempted::Done(found) = acquired else {
            panic!("nobody holds it")
        };
        assert_eq!(found.entries, entries);
        world.lose_power();
        let mut later = Client::new(&world, Durability::Full);
        let again = later.acquire(&model.id, Seq::ZERO).unwrap();
        let Attempted::Done(found) = again else {
            panic!("nobody holds it")
        };
        assert_eq!(found.entries, entries, "seed {seed}");
    }
}

#[test]
fn s2_what_is_written_again_is_what_was_read() {
    // The cache may let go of the line between the two, and the disk not have it.
    Case {
        steps: &[
            (0, Step::Create),
            (0, Step::Acquire),
            (0, Step::Append),
            (0, Step::Append),
            (0, Step::Append),
            (0, Step::PowerLoss),
            (0, Step::Acquire),
        ],
        faults: &[(2, "sync data", Fault::Fail)],
    }
    .check();
}

#[test]
fn s2_the_end_of_a_line_is_never_durable_without_its_beginning() {
    for fault in [Fault::PowerLoss, Fault::Fail] {
        for seed in 0..400 {
            let mut run = Run::new(seed, Durability::Full, Plan::NEVER, None);
            run.set_up(1, 1);
            run.step(0, 0, Step::Create).unwrap();
            run.step(0, 0, Step::Acquire).unwrap();
            run.world.set_plan(Plan::Next(vec![
                ("write", Fault::Short),
                ("sync data", fault),
            ]));
            run.step(0, 0, Step::Append).unwrap();
            run.step(0, 0, Step::PowerLoss).unwrap();
            run.finish().unwrap();
        }
    }
}

#[test]
fn s7_a_delete_that_failed_half_way_is_done_again_and_then_final() {
    for (operation, fault) in [("sync folder", Fault::Fail), ("remove", Fault::FailDone)] {
        for seed in 0..200 {
            let mut run = Run::new(seed, Durability::Full, Plan::NEVER, None);
            run.set_up(1, 1);
            run.step(0, 0, Step::Create).unwrap();
            run.world.set_plan(Plan::Next(vec![(operation, fault)]));
            run.step(0, 0, Step::Delete).unwrap();
            run.world.set_plan(Plan::NEVER);
            run.step(0, 0, Step::Delete).unwrap();
            run.step(0, 0, Step::PowerLoss).unwrap();
            run.step(0, 0, Step::Acquire).unwrap();
            run.finish().unwrap();
        }
    }
}

#[test]
fn s5_a_lock_file_that_can_not_be_looked_at_is_no_lost_hold() {
    Case {
        steps: &[(0, Step::Create), (0, Step::Acquire), (0, Step::Append)],
        faults: &[(2, "look at", Fault::Fail)],
    }
    .check();
}

#[test]
fn s7_a_create_that_fails_leaves_nothing_unless_it_says_so() {
    let mut model = Session::new("a");
    let entries = [model.issue(Seq::ZERO, &mut fastrand::Rng::with_seed(0))];
    let mut seen = [0; 3];
    for at in 0..20 {
        for fault in [Fault::Fail, Fault::FailDone, Fault::Short, Fault::Full] {
            let world = World::new(at, Plan::At(vec![(at, fault)]), None);
            let client = Client::new(&world, Durability::Full);
            let created = client.create(&model.id, &entries);
            let names = world.names();
            let is_there = names.contains(&"a.jsonl".to_owned());
            match created {
                Ok(()) => {
                    assert!(is_there, "{fault:?} at {at}: {names:?}");
                    seen[0] += 1;
                }
                Err(error) if error.to_string().contains("it is there") => {
                    assert!(is_there, "{fault:?} at {at}: {names:?}");
                    seen[1] += 1;
                }
                Err(error) => {
                    assert!(!is_there, "{fault:?} at {at}: {error}, {names:?}");
                    assert!(!matches!(error, StoreError::Taken { .. }));
                    client.create(&model.id, &entries).unwrap();
                    seen[2] += 1;
                }
            }
            world.set_plan(Plan::NEVER);
            clean_up(client.folder()).unwrap();
            assert_eq!(world.names(), ["a.jsonl", "a.lock"], "{fault:?} at {at}");
        }
    }
    assert!(seen[0] > 0 && seen[2] > 0, "{seen:?}");
}

#[test]
fn s7_nobody_holds_a_session_that_may_be_taken_back() {
    let mut model = Session::new("a");
    let entries = [model.issue(Seq::ZERO, &mut fastrand::Rng::with_seed(0))];
    let world = World::new(0, Plan::NEVER, None);
    let (creator, other) = (
        Client::new(&world, Durability::Full),
        Client::new(&world, Durability::Full),
    );
    let lock = try_lock(&other.process, &other.paths(&model.id).lock()).unwrap();
    let paths = creator.paths(&model.id);
    let create = || create(&model.id, &paths, Durability::Full, &entries).unwrap();
    assert!(matches!(create(), Created::Again));
    assert_eq!(world.names(), ["a.lock"]);
    drop(lock);
    assert!(matches!(create(), Created::Done));
}

#[test]
fn s7_what_a_killed_creator_left_is_cleaned_up_and_a_living_ones_is_not() {
    let model = Session::new("a");
    let world = World::new(0, Plan::NEVER, None);
    let (creator, other) = (
        Client::new(&world, Durability::Full),
        Client::new(&world, Durability::Full),
    );
    let temporary = creator.paths(&model.id).temporary();
    let file = try_lock(&creator.process, &temporary).unwrap().unwrap();
    clean_up(other.folder()).unwrap();
    assert_eq!(world.names().len(), 1, "its creator is writing it");
    creator.process.kill();
    clean_up(other.folder()).unwrap();
    assert_eq!(world.names(), [""; 0]);
    drop(file);
}
