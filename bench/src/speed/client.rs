//! One client in a process of its own: reads, and says what it cost as one line of JSON.

use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::STREAMS;
use crate::clients::{Client, Take};

const SLEEP: Duration = Duration::from_secs(3);

/// What reading cost, from the first piece of text on: what comes before it is the client's start.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Of text.
    pub(crate) bytes: usize,
    pub(crate) cpu_ns: u64,
    pub(crate) wall_ns: u64,
    /// How much more memory was resident at the most.
    pub(crate) grown_bytes: u64,
}

pub(crate) fn run(args: &[&str]) -> Result<()> {
    let [word, threads, task, base] = args else {
        bail!("client CLIENT one|many full|paced|slow URL");
    };
    let client = Client::MEASURED
        .into_iter()
        .find(|client| client.word() == *word)
        .context("no such client")?;
    let mut builder = match *threads {
        "one" => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build()?;
    let figures = match *task {
        "slow" => runtime.block_on(slow(client, base))?,
        "paced" => runtime.block_on(read(client, base, STREAMS))?,
        _ => runtime.block_on(read(client, base, 1))?,
    };
    serde_json::to_writer(std::io::stdout(), &figures)?;
    // What still runs is for nobody.
    std::process::exit(0);
}

/// When it began, and what it had cost until then.
#[derive(Debug, Clone, Copy)]
struct Start {
    at: Instant,
    cpu_ns: u64,
}

/// Counts the text of all streams, and keeps when the first one came.
#[derive(Debug, Default)]
struct Count {
    bytes: usize,
    shared: Arc<(Mutex<Option<Start>>, AtomicUsize)>,
}

impl Take for Count {
    fn take(&mut self, piece: &str) -> Option<Duration> {
        if self.bytes == 0 {
            let mut start = self.shared.0.lock().ok()?;
            start.get_or_insert(Start {
                at: Instant::now(),
                cpu_ns: cpu_ns(),
            });
        }
        self.bytes += piece.len();
        None
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.shared.1.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

async fn read(client: Client, base: &str, streams: usize) -> Result<Figures> {
    let shared = Arc::default();
    let tasks: Vec<_> = (0..streams)
        .map(|_| {
            let mut count = Count {
                bytes: 0,
                shared: Arc::clone(&shared),
            };
            let base = base.to_owned();
            tokio::spawn(async move { client.stream(&base, &mut count).await })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let start = shared.0.lock().ok().and_then(|start| *start);
    let start = start.context("nothing was read")?;
    Ok(Figures {
        bytes: shared.1.load(Ordering::Relaxed),
        cpu_ns: cpu_ns() - start.cpu_ns,
        wall_ns: u64::try_from(start.at.elapsed().as_nanos())?,
        grown_bytes: 0,
    })
}

/// Sleeps at the first piece.
struct Sleeper {
    asleep: Arc<AtomicBool>,
}

impl Take for Sleeper {
    fn take(&mut self, _: &str) -> Option<Duration> {
        (!self.asleep.swap(true, Ordering::Relaxed)).then_some(SLEEP * 2)
    }
}

async fn slow(client: Client, base: &str) -> Result<Figures> {
    let asleep = Arc::new(AtomicBool::new(false));
    let watching = {
        let asleep = asleep.clone();
        thread::spawn(move || watch(&asleep))
    };
    let mut sleeper = Sleeper { asleep };
    let watched = tokio::task::spawn_blocking(move || watching.join());
    tokio::select! {
        read = client.stream(base, &mut sleeper) => {
            read?;
            bail!("it ended before the reader woke");
        }
        grown = watched => {
            let grown = grown?.map_err(|_| anyhow::anyhow!("the watcher panicked"))??;
            Ok(Figures { grown_bytes: grown, ..Figures::default() })
        }
    }
}

/// The most memory that is resident while the reader sleeps, above what was when it fell asleep.
fn watch(asleep: &AtomicBool) -> Result<u64> {
    while !asleep.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(1));
    }
    let (before, until) = (resident()?, Instant::now() + SLEEP);
    let mut most = before;
    while Instant::now() < until {
        most = most.max(resident()?);
        thread::sleep(Duration::from_millis(5));
    }
    Ok(most - before)
}

fn resident() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line
        .and_then(|line| line.split_whitespace().next())
        .context("only Linux says how much memory is resident")?;
    Ok(kib.parse::<u64>()? * 1024)
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // A process has used no negative time, and no 500 years.
    u64::try_from(time.tv_sec).unwrap_or_default() * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or_default()
}
