//! Runs a law and says what came of it.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;

use super::{Law, NotClaimed, factory::StoreFactory, lab::Lab};

/// What came of a law.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The store keeps it.
    Passed,
    /// The store breaks it: what was expected, and what happened.
    Failed(String),
    /// It is about something the store does not claim.
    NotClaimed(&'static str),
}

/// One line of a [`Report`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LawReport {
    /// The law and the case, such as `s5_first_come_first_served`.
    pub name: &'static str,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of all laws. Its `Display` is a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The laws, in order.
    pub laws: Vec<LawReport>,
}

impl Report {
    /// Whether no law is broken.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The laws that are broken, each with why.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.laws.iter().filter_map(|law| match &law.verdict {
            Verdict::Failed(why) => Some((law.name, why.as_str())),
            Verdict::Passed | Verdict::NotClaimed(_) => None,
        })
    }
}

impl FromIterator<LawReport> for Report {
    fn from_iter<I: IntoIterator<Item = LawReport>>(laws: I) -> Self {
        Self {
            laws: laws.into_iter().collect(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .laws
            .iter()
            .map(|law| law.name.len())
            .max()
            .unwrap_or(0);
        for LawReport { name, verdict } in &self.laws {
            match verdict {
                Verdict::Passed => writeln!(f, "{name:width$}  passed")?,
                Verdict::Failed(why) => writeln!(f, "{name:width$}  FAILED: {why}")?,
                Verdict::NotClaimed(why) => writeln!(f, "{name:width$}  not claimed: {why}")?,
            }
        }
        let passed = self
            .laws
            .iter()
            .filter(|law| law.verdict == Verdict::Passed)
            .count();
        let failed = self.failures().count();
        write!(
            f,
            "{passed} passed, {failed} failed, {} not claimed",
            self.laws.len() - passed - failed
        )
    }
}

/// Runs one law on a runtime of its own, with more than one thread so that no law passes by luck of scheduling.
pub(super) fn judge<F: StoreFactory>(law: &Law, factory: &Arc<F>) -> Verdict {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Verdict::Failed(format!("no runtime could be made: {error}")),
    };
    let (factory, patience) = (factory.clone(), factory.patience());
    let ran = runtime.block_on(async {
        let outcome = async { (law.run)(Lab::new(factory).await).await };
        tokio::time::timeout(patience, AssertUnwindSafe(outcome).catch_unwind()).await
    });
    // A store that hangs in its blocking work must not hang the suite.
    runtime.shutdown_background();
    match ran {
        Ok(Ok(Ok(()))) => Verdict::Passed,
        Ok(Ok(Err(NotClaimed(why)))) => Verdict::NotClaimed(why),
        Ok(Err(panic)) => Verdict::Failed(message(&*panic)),
        Err(_) => Verdict::Failed(format!("it did not end within {} s", patience.as_secs())),
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked").to_owned()
}
