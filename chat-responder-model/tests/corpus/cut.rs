//! A stream gives the same events however its bytes are cut into chunks.

use chat_core::{ModelEvent, RecordedError};

use super::{
    behavior::{Answer, Behavior, End, Step},
    run,
    watchdog::watchdog,
};

/// The longest body that is sent byte by byte.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// Compares what comes of a behavior with what comes of it byte by byte, and cut at any places.
pub(crate) fn cut_anywhere(name: &str, behavior: &Behavior) -> Result<(), String> {
    let _watchdog = watchdog(format!("{name}::cut_anywhere"));
    let bodies = bodies(behavior).unwrap_or_default();
    let whole = events(behavior, &bodies, |_| Vec::new());
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..6 {
        let cut = events(behavior, &bodies, |body| {
            if round == 0 {
                return (1..body.len()).collect();
            }
            let mut places: Vec<usize> = (0..8).map(|_| random.usize(0..=body.len())).collect();
            places.sort_unstable();
            places
        });
        if cut != whole {
            return Err(format!("cut, it gives {cut:#?}\nand whole {whole:#?}"));
        }
    }
    Ok(())
}

/// A behavior's bodies, where they are all there is to it: without waits, and not too long.
pub(crate) fn bodies(behavior: &Behavior) -> Option<Vec<Vec<u8>>> {
    let body = |answer: &Answer| {
        let steps = answer
            .send
            .iter()
            .filter(|step| !matches!(step, Step::Given { .. }));
        let body: Vec<u8> = steps.map(Step::bytes).collect::<Option<Vec<_>>>()?.concat();
        let is_all = answer.head && answer.end != End::Never && body.len() <= MAX_BODY_BYTES;
        is_all.then_some(body)
    };
    behavior.answers.iter().map(body).collect()
}

/// What comes of a behavior whose bodies are cut at these places.
fn events(
    behavior: &Behavior,
    bodies: &[Vec<u8>],
    mut cuts: impl FnMut(&[u8]) -> Vec<usize>,
) -> (Vec<ModelEvent>, Option<String>) {
    let mut behavior = behavior.clone();
    for (answer, body) in behavior.answers.iter_mut().zip(bodies) {
        let mut places = cuts(body);
        places.insert(0, 0);
        places.push(body.len());
        let pieces = places.windows(2).map(|cut| body[cut[0]..cut[1]].to_vec());
        answer.send = vec![Step::Pieces(pieces.collect())];
    }
    let (read, _) = run(&behavior);
    let events = read.events.into_iter().map(|event| match event {
        // How long the reader waits is partly chance, and each server has a port of its own.
        ModelEvent::Retry { attempt, error, .. } => ModelEvent::Retry {
            attempt,
            delay_ms: 0,
            error: RecordedError::of("", &error.kind, error.retryable),
        },
        other => other,
    });
    let error = read.error.map(|error| error.kind().to_owned());
    (events.collect(), error)
}
