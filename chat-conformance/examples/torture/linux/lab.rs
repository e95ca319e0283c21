//! What every section works with: the seed, a folder that goes when it ends, time that runs out, and whether it may mount. It
//! prints progress and proves nothing.

use std::{
    ffi::OsStr,
    fmt,
    future::Future,
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use fastrand::Rng;
use tempfile::TempDir;
use tokio::runtime::{self, Runtime};

use super::backend::Backend;

/// What a section comes to: its figures, or why there are none.
pub(crate) type Outcome<T = String> = Result<T, Unproved>;

/// Why a section proved nothing.
#[derive(Debug)]
pub(crate) enum Unproved {
    Failed(String),
    /// It can't be played here.
    Skipped(String),
}

impl<E: std::error::Error> From<E> for Unproved {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

/// An error unless it holds.
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Outcome<()> {
    if holds {
        Ok(())
    } else {
        Err(Unproved::Failed(why()))
    }
}

pub(crate) fn failed<T>(why: impl Into<String>) -> Outcome<T> {
    Err(Unproved::Failed(why.into()))
}

/// The longest that a few operations of a store may last on a busy machine.
const OPERATION: Duration = Duration::from_secs(60);

pub(crate) struct Lab {
    pub(crate) seed: u64,
    /// How long the killing goes on, over all stores; what else is done is measured by it.
    pub(crate) seconds: u64,
    pub(crate) backends: Vec<Backend>,
    pub(crate) runtime: Runtime,
    pub(crate) folder: TempDir,
    /// Why nothing can be mounted, where nothing can.
    pub(crate) no_mounts: Option<String>,
    stop: Arc<AtomicBool>,
    started: Instant,
}

impl Lab {
    pub(crate) fn new(
        seed: u64,
        seconds: u64,
        backends: Vec<Backend>,
        no_mounts: Option<String>,
    ) -> std::io::Result<Self> {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let stop = Arc::new(AtomicBool::new(false));
        // Interrupted, every section ends at its next look at the time, and takes down what it has put up.
        runtime.spawn({
            let stop = stop.clone();
            async move {
                interrupted().await;
                eprintln!("torture: interrupted; cleaning up");
                stop.store(true, Ordering::Relaxed);
            }
        });
        Ok(Self {
            seed,
            seconds,
            backends,
            runtime,
            folder: tempfile::Builder::new().prefix("chat-torture-").tempdir()?,
            no_mounts,
            stop,
            started: Instant::now(),
        })
    }

    /// Randomness of one section's own: the same whatever else runs.
    pub(crate) fn rng(&self, section: &str, backend: Backend) -> Rng {
        let name = format!("{section} {}", backend.name());
        Rng::with_seed(self.seed ^ u64::from(crc32c::crc32c(name.as_bytes())))
    }

    /// An empty folder.
    pub(crate) fn empty_folder(&self) -> std::io::Result<TempDir> {
        tempfile::tempdir_in(&self.folder)
    }

    /// Whether this is a run of a minute or more: then counts are what the project promises, else a few of each.
    pub(crate) fn is_long(&self) -> bool {
        self.seconds >= 60
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// An error once the run is interrupted.
    pub(crate) fn go_on(&self) -> Outcome<()> {
        ensure(!self.is_stopped(), || "interrupted".to_owned())
    }

    pub(crate) fn time(&self, limit: Duration) -> Time {
        Time {
            end: Instant::now() + limit,
            limit,
            stop: self.stop.clone(),
        }
    }

    /// Runs a few operations of a store, which may not last for ever.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> Outcome<T> {
        let limited = async { tokio::time::timeout(OPERATION, work).await };
        self.runtime.block_on(limited).map_err(|_| {
            Unproved::Failed(format!(
                "the store did not answer within {} s",
                OPERATION.as_secs()
            ))
        })
    }

    /// A line on standard error, for who waits.
    pub(crate) fn progress(&self, what: impl fmt::Display) {
        eprintln!("[{:>4} s] {what}", self.started.elapsed().as_secs());
    }
}

async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind| async move {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}

/// Time that runs out, at once where the run is interrupted.
#[derive(Clone)]
pub(crate) struct Time {
    end: Instant,
    limit: Duration,
    stop: Arc<AtomicBool>,
}

impl Time {
    pub(crate) fn left(&self) -> Option<Duration> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        self.end
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
    }

    /// An error once it has run out.
    pub(crate) fn check(&self) -> Outcome<()> {
        if self.stop.load(Ordering::Relaxed) {
            failed("interrupted")
        } else if self.left().is_none() {
            failed(format!("not done within {} s", self.limit.as_secs()))
        } else {
            Ok(())
        }
    }
}

/// Runs a program of the system to its end; an error with its own words where it fails or is not there.
pub(crate) fn system(
    program: &str,
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<Output, String> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words.lines().find(|line| !line.trim().is_empty());
    Err(match words {
        Some(words) => format!("{program}: {}", words.trim()),
        None => format!("{program} failed ({})", output.status),
    })
}
