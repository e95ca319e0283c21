//! The power goes: a file system of its own is shut down without writing anything back, and mounted again. What was acknowledged as
//! durable is there; under the weaker promise something is lost, or the test could not tell (S1).

use std::time::Duration;

use chat_core::{Appended, Durability, Seq, SessionId};

use super::{
    backend::Backend,
    disk::Disk,
    entries::Maker,
    findings::Findings,
    lab::{Lab, Outcome, Unproved, ensure, failed},
    ledger::Ledger,
    lines::{Line, Note},
    no_room,
    scene::Scene,
    seen,
    task::{Part, Task},
    worker::appends::name,
};

/// How often the weaker promise may lose nothing before that is strange.
const TRIES: usize = 6;

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    let disk = Disk::make(lab)?;
    let rounds = if lab.is_long() { 5 } else { 1 };
    let mut rng = lab.rng("power-loss", backend);

    // One store through all losses.
    let (mut acknowledged, mut late, mut late_lost) = (0, 0, 0);
    let mut full = scene(&disk, lab, backend, "full", rng.fork());
    for round in 0..rounds {
        let findings = lose_power(&disk, lab, &mut full, Durability::Full, round == 0)?;
        lab.progress(format_args!(
            "power-loss {} {}: {findings}",
            round + 1,
            backend.name()
        ));
        findings.sound().map_err(Unproved::Failed)?;
        acknowledged = full.ledger.acknowledged;
        (late, late_lost) = (full.ledger.late, full.ledger.late_lost);
    }
    // A new store for each: a lost one may be damaged, and says so. A sync of something else can save it all, so there are tries.
    let (mut weak, mut lost, mut unopened, mut tries) = (0, 0, 0, 0);
    while tries < rounds || (lost + unopened == 0 && tries < TRIES) {
        let mut scene = scene(&disk, lab, backend, &format!("weak-{tries}"), rng.fork());
        let findings = lose_power(&disk, lab, &mut scene, Durability::Os, true)?;
        tries += 1;
        weak += scene.ledger.acknowledged;
        lost += findings.lost_entries;
        unopened += findings.unopened.len();
    }
    ensure(lost + unopened > 0, || {
        format!("Durability::Os lost nothing of {weak} in {tries} losses: the test can't tell")
    })?;
    let sure = made_sure(&disk, lab, backend, &mut rng)?;
    let answered_late = if late > 0 {
        format!(" ({late} more were answered while the power went, {late_lost} of them are gone)")
    } else {
        String::new()
    };
    Ok(format!(
        "{rounds} losses: Full lost 0 of {acknowledged} acknowledged{answered_late}; {tries} losses: Os lost {lost} of {weak}, and {unopened} sessions don't open: \
         the test can tell; {sure} entries that nobody had synced were kept, since acquire returned them"
    ))
}

fn scene<'a>(
    disk: &Disk,
    lab: &'a Lab,
    backend: Backend,
    name: &str,
    rng: fastrand::Rng,
) -> Scene<'a> {
    let place = backend.place(&disk.mount_point().join(name));
    Scene::new(lab, backend, Part::TurnsUnhurt, place, rng)
}

/// Lets workers write, takes the power from under them, and looks at what is there when it is back.
fn lose_power(
    disk: &Disk,
    lab: &Lab,
    scene: &mut Scene<'_>,
    durability: Durability,
    is_new: bool,
) -> Outcome<Findings> {
    lab.go_on()?;
    let mounted = disk.mount(lab)?;
    if is_new {
        if let Some(folder) = scene.place.parent() {
            std::fs::create_dir_all(folder)?;
        }
        scene.set_up(durability)?;
    }
    scene.fill(|_| durability)?;
    let time = lab.time(Duration::from_millis(scene.rng.u64(700..2_000)));
    while let Some(left) = time.left() {
        scene.hear(left, None)?;
    }
    ensure(scene.failures.is_empty(), || scene.failures.join("; "))?;
    let switch = disk.switch()?;
    // All that was heard by now has to be there: what is heard later, nobody would have heard had the power gone.
    scene.hear_what_was_said()?;
    scene.ledger.power_goes();
    switch.off().map_err(Unproved::Failed)?;
    // They go on for a moment, on a disk that is dead.
    let time = lab.time(Duration::from_millis(100));
    while let Some(left) = time.left() {
        scene.hear(left, None)?;
    }
    scene.kill_all()?;
    scene.ledger.power_is_back();
    scene.failures.clear();
    mounted.unmount()?;
    let mounted = disk.mount(lab)?;
    let findings = scene.judge(durability)?;
    mounted.unmount()?;
    Ok(findings)
}

/// How many sessions it is tried with.
const SESSIONS: usize = 8;

/// Entries that one wrote without a sync are durable once another has acquired their session: acquire makes sure of what it returns
/// (S2).
fn made_sure(disk: &Disk, lab: &Lab, backend: Backend, rng: &mut fastrand::Rng) -> Outcome<usize> {
    let mounted = disk.mount(lab)?;
    let folder = disk.mount_point().join("sure");
    std::fs::create_dir_all(&folder)?;
    let mut ledger = Ledger::default();
    let mut task = Task {
        part: Part::Appends,
        backend,
        durability: Durability::Full,
        place: backend.place(&folder),
        seed: rng.u64(..),
        slot: 0,
        count: 0,
        seconds: 0,
    };
    let sessions: Vec<SessionId> = (0..SESSIONS).map(name).collect();
    for session in &sessions {
        no_room::create(lab, &task, session, &mut ledger)?;
    }
    task.durability = Durability::Os;
    let weak = backend.open(&task.place, task.durability)?;
    let mut maker = Maker::new("s", rng.fork());
    for session in &sessions {
        let acquired = lab.block_on(weak.acquire(session, Seq::ZERO))??;
        let (mut writer, mut next) = (acquired.writer, Seq(1));
        for _ in 0..maker.rng.usize(1..4) {
            let turn = maker.turn();
            match lab.block_on(writer.append(maker.accepted(next, &turn)))? {
                Appended::Written => next = next.next(),
                other => return failed(format!("an append is answered {other:?}")),
            }
        }
    }
    let full = backend.open(&task.place, Durability::Full)?;
    for session in &sessions {
        let entries = lab.block_on(full.acquire(session, Seq::ZERO))??.entries;
        let journal = entries.first().map(|first| first.id().clone());
        for entry in &entries {
            let journal = journal.as_ref().unwrap_or(entry.id());
            ledger.hear(&Line::Written(Note::of(session, journal, entry)));
        }
    }
    disk.switch()?.off().map_err(Unproved::Failed)?;
    // Not before: closing one in good order may sync, and one whose process is killed does not.
    drop((weak, full));
    mounted.unmount()?;
    let mounted = disk.mount(lab)?;
    let store = backend.open(&task.place, Durability::Full)?;
    let seen = lab.block_on(seen::look(&*store, ledger.sessions()))??;
    drop(store);
    let findings = ledger.judge(&seen);
    mounted.unmount()?;
    findings.sound().map_err(Unproved::Failed)?;
    Ok(findings.entries - SESSIONS)
}
