//! A disk of this run's own whose power can be taken away: ext4 in an image. What is on it is a section's.

use std::path::PathBuf;

use tempfile::TempDir;

use super::{
    lab::{Lab, Outcome, Unproved, system},
    mounts::Mounted,
    switch::Switch,
};

const IMAGE: u64 = 512 << 20;

/// A disk with a file system in an image.
pub(crate) struct Disk {
    folder: TempDir,
}

impl Disk {
    pub(crate) fn make(lab: &Lab) -> Outcome<Self> {
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

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    pub(crate) fn mount_point(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }

    pub(crate) fn mount(&self, lab: &Lab) -> Outcome<Mounted> {
        Mounted::image(lab, &self.image(), &self.mount_point())
    }

    /// The switch of this disk, ready to be used.
    pub(crate) fn switch(&self) -> Outcome<Switch> {
        Switch::of(&self.mount_point()).map_err(Unproved::Failed)
    }
}
