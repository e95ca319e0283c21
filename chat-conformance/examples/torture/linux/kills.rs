//! Workers killed at any moment, over and over: nothing acknowledged is lost or changed, nothing is invented, every journal opens (S1,
//! S2, S3, S5, S6).

use std::time::Duration;

use chat_core::Durability;
use fastrand::Rng;

use super::{
    backend::Backend,
    lab::{Lab, Outcome, Unproved, ensure},
    lines::Doing,
    scene::Scene,
    task::Part,
};

/// How many kills a minute comes to, at least.
const KILLS: usize = 500;

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
    while time.left().is_some() {
        kill_for(&mut scene, lab, Duration::from_secs(4))?;
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
    let time = lab.time(wait);
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
        scene.hear(left.min(Duration::from_millis(80)), acknowledged)?;
        scene.hear(Duration::from_micros(pause), u64::MAX / 2)?;
        scene.kill_one();
        scene.hear(Duration::from_millis(200), u64::MAX / 2)?;
    }
    scene.kill_all()
}
