//! The corpus of server behaviors (laws M1 to M6, cases C40 to C51): each file of `servers/` is a test of its own, and each stream
//! in it gives the same events however it is cut.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod corpus;

use std::collections::BTreeSet;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let corpus = corpus::corpus();
    let mut trials = vec![Trial::test(
        "the_corpus_covers_every_case",
        covers_every_case,
    )];
    for (name, behavior) in corpus {
        if let Ok(behavior) = behavior.clone()
            && corpus::bodies(&behavior).is_some()
        {
            let cut = name.clone();
            trials.push(Trial::test(format!("{name}::cut_anywhere"), move || {
                Ok(corpus::cut_anywhere(&cut, &behavior)?)
            }));
        }
        trials.push(Trial::test(name.clone(), move || {
            Ok(corpus::play(&name, &behavior?)?)
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// What must be in the corpus, whoever changes it.
fn covers_every_case() -> Result<(), Failed> {
    let mut proved = BTreeSet::new();
    let mut count = 0;
    for (name, behavior) in corpus::corpus() {
        // A file that can't be read fails by its own name.
        let Ok(behavior) = behavior else { continue };
        count += 1;
        if behavior.about.is_empty() || behavior.source.is_empty() || behavior.proves.is_empty() {
            return Err(format!("{name} says too little of itself").into());
        }
        proved.extend(behavior.proves);
    }
    let cases = (40..=51).map(|case| format!("C{case}"));
    let laws = (1..=6).map(|law| format!("M{law}"));
    let missing: Vec<String> = cases
        .chain(laws)
        .filter(|wanted| !proved.contains(wanted))
        .collect();
    if missing.is_empty() && count >= 80 {
        return Ok(());
    }
    Err(format!("{count} behaviors; none proves {missing:?}").into())
}
