//! The torture can fail: workers that acknowledge too early, write what they did not announce, or announce other texts than they
//! write are all caught. A run in which one of them passes proves nothing.

use std::time::Duration;

use chat_core::Durability;

use super::{
    backend::Backend,
    kills::kill_for,
    lab::{Lab, Outcome, failed},
    scene::Scene,
    task::Part,
};

const LIARS: &[(Part, &str)] = &[
    (Part::TurnsSaidTooEarly, "acknowledged too early"),
    (Part::TurnsNotAnnounced, "not announced"),
    (Part::TurnsSaidWrong, "other texts"),
];

/// In so many looks each of them is caught; most are in the first.
const LOOKS: usize = 20;

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    let mut figures = Vec::new();
    for (part, name) in LIARS {
        let folder = lab.empty_folder()?;
        let place = backend.place(folder.path());
        let rng = lab.rng(name, backend);
        let mut scene = Scene::new(lab, backend, *part, place, rng);
        scene.set_up(Durability::Full)?;
        let mut caught = None;
        for look in 1..=LOOKS {
            lab.go_on()?;
            kill_for(&mut scene, lab, Duration::from_millis(300))?;
            let findings = scene.judge(Durability::Full)?;
            if !findings.is_sound() {
                caught = Some((look, findings));
                break;
            }
        }
        let Some((look, findings)) = caught else {
            return failed(format!("workers of the kind {name:?} were not caught"));
        };
        figures.push(format!("{name}: caught in look {look} ({findings})"));
    }
    Ok(figures.join("; "))
}
