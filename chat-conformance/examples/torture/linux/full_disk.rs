//! A disk that fills up in the middle of appends and creates: a typed error, nothing lost, and sound again with the same writer as soon
//! as there is room (S7, C25, C34).

use std::process::Command;

use chat_core::Durability;

use super::{
    backend::Backend,
    crew::Crew,
    lab::{Lab, Outcome, ensure},
    mounts::Mounted,
    no_room::{self, Counts},
    task::Part,
};

/// More than all that is written in a long run, SQLite's log included.
const DISK: usize = 32 << 20;

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    let folder = lab.empty_folder()?;
    let disk = Mounted::tmpfs(lab, folder.path(), DISK)?;
    let place = backend.place(folder.path());
    let task = no_room::task(lab, backend, Part::FullDisk, &place, Durability::Full);
    let command = Command::new(Crew::program()?);
    let counts = no_room::run(lab, &task, command)?;
    disk.unmount()?;
    let Counts {
        cut,
        refused,
        not_created,
        ..
    } = counts;
    ensure(cut + refused > 0, || "the disk was never full".to_owned())?;
    ensure(not_created > 0, || "no create met a full disk".to_owned())?;
    Ok(format!(
        "{counts}, each `store-full`, then the same writer went on"
    ))
}
