//! Mounts, all of them in a namespace of this run's own: whatever way it ends, nothing stays mounted. Each goes with its guard, too, so
//! that sections don't meet.

use std::{
    ffi::OsString,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use super::lab::{Lab, Outcome, Unproved, failed, system};

/// Says that this process is in a namespace of its own already.
const IN_NAMESPACE: &str = "CHAT_TORTURE_IN_NAMESPACE";

/// Ways to get one: as root, or as root of a user namespace, who may not mount everything.
const WAYS: &[&[&str]] = &[
    &["--mount", "--propagation", "private"],
    &[
        "--user",
        "--map-root-user",
        "--mount",
        "--propagation",
        "private",
    ],
];

/// Runs this program again in a mount namespace of its own, in place of this one.
///
/// # Errors
/// Why there is none.
pub(crate) fn enter_own_namespace(args: &[OsString]) -> Result<(), String> {
    if std::env::var_os(IN_NAMESPACE).is_some() {
        return Ok(());
    }
    let mut why = String::new();
    for way in WAYS {
        let probe = way.iter().copied().chain(["true"]);
        match system("unshare", probe) {
            Ok(_) => {
                let program = std::env::current_exe().map_err(|error| error.to_string())?;
                let error = Command::new("unshare")
                    .args(*way)
                    .arg(program)
                    .args(args)
                    .env(IN_NAMESPACE, "1")
                    .exec();
                return Err(error.to_string());
            }
            Err(error) => why = error,
        }
    }
    Err(format!("no mount namespace: {why}"))
}

/// Something mounted. Dropping it unmounts it.
#[must_use]
pub(crate) struct Mounted {
    path: PathBuf,
    is_mounted: bool,
}

impl Mounted {
    /// A disk in memory, of so many bytes.
    pub(crate) fn tmpfs(lab: &Lab, path: &Path, bytes: usize) -> Outcome<Self> {
        let size = format!("size={bytes}");
        Self::mount(lab, path, &["-t", "tmpfs", "-o", &size, "chat-torture"])
    }

    /// A folder seen at another place, where it can't be written.
    pub(crate) fn read_only(lab: &Lab, folder: &Path, path: &Path) -> Outcome<Self> {
        let folder = folder.to_string_lossy();
        let mounted = Self::mount(lab, path, &["--bind", &folder])?;
        system("mount", ["-o", "remount,bind,ro", &path.to_string_lossy()])
            .map_err(Unproved::Skipped)?;
        Ok(mounted)
    }

    /// The file system in an image. Its loop device goes when it is unmounted.
    pub(crate) fn image(lab: &Lab, image: &Path, path: &Path) -> Outcome<Self> {
        Self::mount(lab, path, &["-o", "loop", &image.to_string_lossy()])
    }

    fn mount(lab: &Lab, path: &Path, args: &[&str]) -> Outcome<Self> {
        if let Some(why) = &lab.no_mounts {
            return Err(Unproved::Skipped(why.clone()));
        }
        let path_text = path.to_string_lossy();
        let args = args.iter().copied().chain([&*path_text]);
        system("mount", args).map_err(Unproved::Skipped)?;
        Ok(Self {
            path: path.to_owned(),
            is_mounted: true,
        })
    }

    /// Unmounts it, waiting a little for whoever still has a file open.
    pub(crate) fn unmount(mut self) -> Outcome<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match system("umount", [&self.path]) {
                Ok(_) => {
                    self.is_mounted = false;
                    return Ok(());
                }
                Err(error) if Instant::now() > deadline => return failed(error),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_mounted {
            // Lazily: it goes when the last file in it is closed.
            let _ = system("umount", ["--lazy".as_ref(), self.path.as_os_str()]);
        }
    }
}
