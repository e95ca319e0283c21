//! The power goes: a file system of its own is shut down without writing anything back, and mounted again. What was acknowledged as
//! durable is there; under the weaker promise something is lost, or the test could not tell (S1).

use std::time::Duration;

use chat_core::Durability;
use tempfile::TempDir;

use super::{
    backend::Backend,
    findings::Findings,
    lab::{Lab, Outcome, Unproved, ensure, system},
    mounts::Mounted,
    scene::Scene,
    switch::Switch,
    task::Part,
};

const IMAGE: u64 = 512 << 20;

/// How often the weaker promise may lose nothing before that is strange.
const TRIES: usize = 6;

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    let disk = Disk::make(lab)?;
    let rounds = if lab.is_long() { 5 } else { 1 };
    let mut rng = lab.rng("power-loss", backend);

    // One store through all losses.
    let (mut acknowledged, mut late, mut late_lost) = (0, 0, 0);
    let mut full = disk.scene(lab, backend, "full", rng.fork());
    for round in 0..rounds {
        let findings = disk.lose_power(lab, &mut full, Durability::Full, round == 0)?;
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
        let mut scene = disk.scene(lab, backend, &format!("weak-{tries}"), rng.fork());
        let findings = disk.lose_power(lab, &mut scene, Durability::Os, true)?;
        tries += 1;
        weak += scene.ledger.acknowledged;
        lost += findings.lost_entries;
        unopened += findings.unopened.len();
    }
    ensure(lost + unopened > 0, || {
        format!("Durability::Os lost nothing of {weak} in {tries} losses: the test can't tell")
    })?;
    let answered_late = if late > 0 {
        format!(" ({late} more were answered while the power went, {late_lost} of them are gone)")
    } else {
        String::new()
    };
    Ok(format!(
        "{rounds} losses: Full lost 0 of {acknowledged} acknowledged{answered_late}; {tries} losses: Os lost {lost} of {weak}, and {unopened} sessions don't open: the test can tell"
    ))
}

/// A disk with a file system in an image.
struct Disk {
    folder: TempDir,
}

impl Disk {
    fn make(lab: &Lab) -> Outcome<Self> {
        let disk = Self {
            folder: lab.empty_folder()?,
        };
        std::fs::File::create(disk.image())?.set_len(IMAGE)?;
        std::fs::create_dir(disk.mount_point())?;
        system(
            "mkfs.ext4",
            ["-q".as_ref(), "-F".as_ref(), disk.image().as_os_str()],
        )
        .map_err(Unproved::Skipped)?;
        // Whether all of it can be played here.
        let mounted = disk.mount(lab)?;
        let switch = Switch::of(&disk.mount_point()).map_err(Unproved::Skipped)?;
        switch.off().map_err(Unproved::Skipped)?;
        mounted.unmount()?;
        Ok(disk)
    }

    fn image(&self) -> std::path::PathBuf {
        self.folder.path().join("image")
    }

    fn mount_point(&self) -> std::path::PathBuf {
        self.folder.path().join("mounted")
    }

    fn mount(&self, lab: &Lab) -> Outcome<Mounted> {
        Mounted::image(lab, &self.image(), &self.mount_point())
    }

    fn scene<'a>(
        &self,
        lab: &'a Lab,
        backend: Backend,
        name: &str,
        rng: fastrand::Rng,
    ) -> Scene<'a> {
        let place = backend.place(&self.mount_point().join(name));
        Scene::new(lab, backend, Part::TurnsUnhurt, place, rng)
    }

    /// Lets workers write, takes the power from under them, and looks at what is there when it is back.
    fn lose_power(
        &self,
        lab: &Lab,
        scene: &mut Scene<'_>,
        durability: Durability,
        is_new: bool,
    ) -> Outcome<Findings> {
        lab.go_on()?;
        let mounted = self.mount(lab)?;
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
        let switch = Switch::of(&self.mount_point()).map_err(Unproved::Failed)?;
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
        let mounted = self.mount(lab)?;
        let findings = scene.judge(durability)?;
        mounted.unmount()?;
        Ok(findings)
    }
}
