//! The power goes: a file system of its own is shut down without writing anything back, and mounted again. What was acknowledged as
//! durable is there; under the weaker promise something is lost, or the test could not tell (S1).

use std::{path::Path, time::Duration};

use chat_core::Durability;
use tempfile::TempDir;

use super::{
    backend::Backend,
    findings::Findings,
    lab::{Lab, Outcome, Unproved, ensure, system},
    mounts::Mounted,
    scene::Scene,
    task::Part,
};

const IMAGE: u64 = 512 << 20;

/// EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH: nothing more reaches the device. An ioctl can't be asked for without unsafe code,
/// so another language asks.
const SHUTDOWNS: &[[&str; 3]] = &[
    [
        "perl",
        "-e",
        r#"open(F, "<", $ARGV[0]) or die $!; ioctl(F, 0x8004587d, pack("I", 2)) or die $!"#,
    ],
    [
        "python3",
        "-c",
        "import fcntl, os, struct, sys; fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))",
    ],
];

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    let disk = Disk::make(lab)?;
    let rounds = if lab.is_long() { 5 } else { 1 };
    let mut rng = lab.rng("power-loss", backend);

    // One store through all losses.
    let (mut acknowledged, mut torn) = (0, 0);
    let mut full = disk.scene(lab, backend, "full", rng.fork());
    for round in 0..rounds {
        let findings = disk.lose_power(lab, &mut full, Durability::Full, round == 0)?;
        lab.progress(format_args!(
            "power-loss {} {}: {findings}",
            round + 1,
            backend.name()
        ));
        findings.sound().map_err(Unproved::Failed)?;
        (acknowledged, torn) = (full.ledger.acknowledged, full.torn_tails);
    }
    // A new store for each: a lost one may be damaged, and says so.
    let (mut weak_acknowledged, mut lost, mut unopened) = (0, 0, 0);
    for round in 0..rounds {
        let mut weak = disk.scene(lab, backend, &format!("weak-{round}"), rng.fork());
        let findings = disk.lose_power(lab, &mut weak, Durability::Os, true)?;
        weak_acknowledged += weak.ledger.acknowledged;
        lost += findings.lost_entries;
        unopened += findings.unopened.len();
    }
    ensure(lost + unopened > 0, || {
        format!("Durability::Os lost nothing of {weak_acknowledged}: the test can't tell")
    })?;
    Ok(format!(
        "{rounds} losses: Full lost 0 of {acknowledged} acknowledged ({torn} torn tails set aside); Os lost {lost} of \
         {weak_acknowledged} and {unopened} sessions with more, so the test can tell"
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
        shut_down(&disk.mount_point()).map_err(Unproved::Skipped)?;
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
            scene.hear(left, u64::MAX / 2)?;
        }
        ensure(scene.failures.is_empty(), || scene.failures.join("; "))?;
        shut_down(&self.mount_point()).map_err(Unproved::Failed)?;
        // They go on for a moment, on a disk that is dead.
        let time = lab.time(Duration::from_millis(100));
        while let Some(left) = time.left() {
            scene.hear(left, u64::MAX / 2)?;
        }
        scene.kill_all()?;
        scene.failures.clear();
        mounted.unmount()?;
        let mounted = self.mount(lab)?;
        let findings = scene.judge(durability)?;
        mounted.unmount()?;
        Ok(findings)
    }
}

fn shut_down(mount_point: &Path) -> Result<(), String> {
    let mut why = String::new();
    for [program, option, words] in SHUTDOWNS {
        let args = [option.as_ref(), words.as_ref(), mount_point.as_os_str()];
        match system(program, args) {
            Ok(_) => return Ok(()),
            Err(error) => why = error,
        }
    }
    Err(why)
}
