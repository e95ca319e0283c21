//! Workers killed at any moment, over and over: nothing acknowledged is lost or changed, nothing is invented, every journal opens (S1,
//! S2, S3, S5, S6).

use std::time::{Duration, Instant};

use chat_core::Durability;
use fastrand::Rng;

use super::{
    backend::Backend,
    lab::{Lab, Outcome, Unproved, ensure},
    lines::Doing,
    scene::Scene,
    task::Part,
};

/// How long the killing goes on before everything is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// How many kills a minute comes to, at least.
const KILLS: usize = 500;
/// How many a second comes to while there is no looking.
const A_SECOND: u32 = 16;

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    let folder = lab.empty_folder()?;
    let mut scene = Scene::new(
        lab,
        backend,
        Part::Turns,
        backend.place(folder.path()),
        lab.rng("kills", backend),
    );
    scene.set_up(Durability::Full)?;
    let time = lab.time(Duration::from_secs(lab.seconds) / lab.backends.len() as u32);
    let (mut looks, mut looked_at) = (0, 0);
    while let Some(left) = time.left() {
        kill_for(&mut scene, lab, left.min(BETWEEN_LOOKS))?;
        let findings = scene.judge(Durability::Full)?;
        looks += 1;
        looked_at += findings.entries;
        lab.progress(format_args!(
            "kills {}: {} kills, {} acknowledged; {findings}",
            backend.name(),
            scene.deaths.killed,
            scene.ledger.acknowledged
        ));
        findings.sound().map_err(Unproved::Failed)?;
        ensure(scene.failures.is_empty(), || scene.failures.join("; "))?;
        scene.make_room(Durability::Full)?;
    }
    lab.go_on()?;
    let deaths = &scene.deaths;
    if lab.is_long() {
        let wanted = KILLS / lab.backends.len();
        ensure(deaths.killed >= wanted, || {
            format!("{} kills, {wanted} were to be", deaths.killed)
        })?;
    }
    let own = |doing: Doing| deaths.own.get(&doing).copied().unwrap_or_default();
    Ok(format!(
        "{} kills, {} more by own hand ({} in acquire, {} of them recovering, {} in create, {} in delete, {} in append); {} acknowledged, {} \
         turns, {} torn tails set aside; {looks} looks at {looked_at} entries: 0 lost, 0 changed, 0 invented",
        deaths.killed,
        deaths.own.values().sum::<usize>(),
        own(Doing::Acquiring),
        deaths.recovering,
        own(Doing::Creating),
        own(Doing::Deleting),
        own(Doing::Appending),
        scene.ledger.acknowledged,
        scene.ledger.turns,
        scene.torn_tails,
    ))
}

/// Kills one worker after the other for so long, then all of them.
pub(crate) fn kill_for(scene: &mut Scene<'_>, lab: &Lab, wait: Duration) -> Outcome<()> {
    let (time, started, before) = (lab.time(wait), Instant::now(), scene.deaths.killed);
    while let Some(left) = time.left() {
        // The weaker promise is enough for a killed process, and quicker.
        scene.fill(|rng: &mut Rng| {
            if rng.u8(..3) == 0 {
                Durability::Os
            } else {
                Durability::Full
            }
        })?;
        let (acknowledged, pause) = (scene.rng.u64(1..50), scene.rng.u64(..20_000));
        // On a machine that has much else to do, fewer of them are waited for.
        let due = before + (started.elapsed() * A_SECOND).as_secs() as usize;
        let longest = if scene.deaths.killed < due { 10 } else { 80 };
        scene.hear(left.min(Duration::from_millis(longest)), Some(acknowledged))?;
        scene.hear(Duration::from_micros(pause), None)?;
        scene.kill_one();
        scene.hear(Duration::from_millis(200), None)?;
    }
    scene.kill_all()
}
