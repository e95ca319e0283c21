//! Writes that the system takes a part of, by a limit on the size of files: what was written of an entry is set aside or taken back, and
//! the same writer goes on (S2, S7).

use chat_conformance::limits::program_past_file_size;
use chat_core::Durability;

use super::{
    backend::Backend,
    lab::{Lab, Outcome, ensure},
    no_room,
    task::Part,
};

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    let folder = lab.empty_folder()?;
    let place = backend.place(folder.path());
    let task = no_room::task(lab, backend, Part::ShortWrites, &place, Durability::Full);
    let counts = no_room::run(lab, &task, program_past_file_size())?;
    ensure(counts.cut + counts.refused > 0, || {
        "no write was cut short".to_owned()
    })?;
    Ok(format!(
        "{counts}, each `store-full`, then the same writer went on"
    ))
}
