//! Runs by the thousand, each known by its seed. One alone, with all that it did: `CHAT_SIM_SEED=17 cargo test -p chat-store-file
//! s2_nothing_acknowledged -- --nocapture`. More of them: `CHAT_SIM_SEEDS=1000000`.

use std::{ops::Range, time::Instant};

use super::{fault::Bug, model::Wrong, run::Run};

/// As many as take a few seconds.
const SEEDS: u64 = if cfg!(debug_assertions) {
    3_000
} else {
    20_000
};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// A run of a seed.
type Seeded = fn(u64, Option<Bug>) -> Run;

fn run_seed(seed: u64, bug: Option<Bug>) -> Result<(), Wrong> {
    Run::of_seed(seed, bug).play()
}

/// A seed's run, told step by step.
fn tell(seeded: Seeded, seed: u64) -> String {
    let mut run = seeded(seed, None);
    run.world.start_trace();
    let ended = run.play();
    let mut told = run.world.take_trace().join("\n");
    told += &format!("\nseed {seed}: {ended:?}");
    told
}

#[test]
fn s2_nothing_acknowledged_is_ever_lost_and_nothing_invented() {
    check(Run::of_seed, SEEDS);
}

/// A store that makes durable what it answers, beside one that doesn't.
#[test]
fn s2_nothing_is_called_durable_because_another_wrote_it() {
    check(Run::mixed_of_seed, SEEDS / 2);
}

fn check(seeded: Seeded, seeds: u64) {
    if let Some(seed) = number("CHAT_SIM_SEED") {
        println!("{}", tell(seeded, seed));
        seeded(seed, None).play().unwrap();
        return;
    }
    let seeds = number("CHAT_SIM_SEEDS").unwrap_or(seeds);
    let started = Instant::now();
    let halves: [Range<u64>; 2] = [0..seeds / 2, seeds / 2..seeds];
    let wrong: Vec<u64> = std::thread::scope(|scope| {
        let halves = halves.map(|seeds| {
            scope.spawn(|| {
                let wrong = seeds.filter(|seed| seeded(*seed, None).play().is_err());
                wrong.collect::<Vec<_>>()
            })
        });
        halves
            .into_iter()
            .flat_map(|half| half.join().unwrap())
            .collect()
    });
    let took = started.elapsed().as_secs_f64();
    println!("{seeds} seeds, {:.0} a second", seeds as f64 / took);
    if let Some(seed) = wrong.first() {
        panic!(
            "{} of {seeds} seeds are wrong: {wrong:?}\n{}",
            wrong.len(),
            tell(seeded, *seed)
        );
    }
}

/// What a small chat does, one fault at a time: each operation of it fails in each way, and, in turn, each operation of what
/// comes after that.
mod every_operation {
    use chat_core::Durability;

    use super::super::{
        fault::{Fault, Plan},
        model::Wrong,
        run::{Run, Step},
    };

    const SCRIPT: [(usize, Step); 11] = [
        (0, Step::Create),
        (0, Step::Acquire),
        (0, Step::Append),
        (0, Step::Append),
        (0, Step::Release),
        (1, Step::Acquire),
        (1, Step::Append),
        (0, Step::Read),
        (1, Step::Release),
        (0, Step::Acquire),
        (0, Step::Release),
    ];

    /// Plays the script, the faults at their operations; gives how many operations it took.
    fn play(run: &mut Run) -> Result<u64, Wrong> {
        run.set_up(2, 1);
        for (client, step) in SCRIPT {
            run.step(client, 0, step)?;
            // Whoever died in the middle goes on, as far as the script still makes sense.
            if matches!(step, Step::Append) && !run.holds(client, 0) {
                run.step(client, 0, Step::Acquire)?;
                run.step(client, 0, Step::Append)?;
            }
        }
        let operations = run.world.operations();
        run.finish()?;
        Ok(operations)
    }

    fn check(seed: u64, durability: Durability, faults: &[(u64, Fault)]) -> u64 {
        let run = || Run::new(seed, durability, Plan::At(faults.to_vec()), None);
        play(&mut run()).unwrap_or_else(|wrong| {
            let mut run = run();
            run.world.start_trace();
            let _ = play(&mut run);
            let told = run.world.take_trace().join("\n");
            panic!("{told}\nseed {seed}, {durability:?}, {faults:?}: {wrong}")
        })
    }

    #[test]
    fn s2_one_fault_at_every_operation() {
        for durability in [Durability::Full, Durability::Os] {
            let operations = check(0, durability, &[]);
            for at in 0..operations {
                for fault in Fault::ALL {
                    // What a crash leaves is a matter of chance.
                    let seeds = match durability {
                        Durability::Full => 0..2,
                        Durability::Os | Durability::Memory => 0..1,
                    };
                    for seed in seeds {
                        check(seed, durability, &[(at, fault)]);
                    }
                }
            }
        }
    }

    /// A recovery that is killed is done again, and killed again.
    #[test]
    fn s2_faults_in_the_recovery_from_faults() {
        let operations = check(0, Durability::Full, &[]);
        for at in 0..operations {
            for first in [Fault::Fail, Fault::Full, Fault::Kill, Fault::PowerLoss] {
                for after in (1..24).step_by(4) {
                    let second =
                        [Fault::Fail, Fault::Kill, Fault::PowerLoss][(at + after) as usize % 3];
                    let faults = [(at, first), (at + after, second), (at + after + 9, second)];
                    check(at ^ after, Durability::Full, &faults);
                }
            }
        }
    }
}

/// A simulation that finds nothing proves something only where it would have found what is wrong.
#[test]
fn each_lie_of_the_disk_is_noticed() {
    for bug in Bug::ALL {
        let seen = (0..2_000).find_map(|seed| Some((seed, run_seed(seed, Some(bug)).err()?)));
        let (seed, wrong) = seen.unwrap_or_else(|| panic!("{bug:?} goes unnoticed"));
        println!("{bug:?}: seed {seed}: {wrong}");
    }
}
