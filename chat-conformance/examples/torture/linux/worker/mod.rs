//! The worker: this program again, as a process that may be killed at any moment. It says on its output what it intends and what it was
//! answered, and ends when nobody listens any more, when its time is up, or when whoever started it is gone.

pub(super) mod appends;
pub(super) mod no_room;
pub(super) mod race;
mod turns;
pub(super) mod writing;

use std::{
    io::{BufRead as _, Write as _},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use chat_core::{SessionId, Store, StoreError};
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use tokio::runtime;

use super::{
    lines::Line,
    task::{Part, Task},
};

/// Its exit code where it ended by itself before its work was done.
const ENDED: i32 = 3;

/// What a part ends with where it could not go on.
pub(super) type Ended = Result<(), StoreError>;

/// Plays a part.
pub(super) fn play(task: &Task) -> ExitCode {
    // One that the system kills for a write past its limit leaves no core behind.
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, none);
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build();
    let Ok(runtime) = runtime else {
        return ExitCode::FAILURE;
    };
    // Opened before the signal to begin: those who race begin at once.
    let store = match task.backend.open(&task.place, task.durability) {
        Ok(store) => store,
        Err(error) => {
            say(&failed(&error));
            return ExitCode::FAILURE;
        }
    };
    say(&Line::Said("ready".to_owned()));
    wait_for_the_word(task.seconds);
    let played = runtime.block_on(part(task, store));
    // Work that nobody waits for any more may still be under way.
    runtime.shutdown_timeout(Duration::from_secs(5));
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&failed(&error));
            ExitCode::FAILURE
        }
    }
}

async fn part(task: &Task, store: Arc<dyn Store>) -> Ended {
    match task.part {
        Part::Turns
        | Part::TurnsSaidTooEarly
        | Part::TurnsNotAnnounced
        | Part::TurnsSaidWrong
        | Part::TurnsUnhurt => turns::take(task, store).await,
        Part::Race => race::run(task, store).await,
        Part::Hold => race::hold(task, store).await,
        Part::ShortWrites => no_room::short_writes(task, store).await,
        Part::FullDisk => no_room::full_disk(task, store).await,
        Part::Appends => appends::under_one_hold(task, store).await,
        Part::OwnTurns => appends::turns(task, store).await,
        Part::ManyAppends => appends::many(task, store).await,
    }
}

/// Says a line. Where nobody hears it any more, the work is over.
pub(super) fn say(line: &Line) {
    // One write for the whole line: what was heard was said to its end.
    let line = format!("{line}\n");
    if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
        std::process::exit(ENDED);
    }
}

pub(super) fn failed(error: &StoreError) -> Line {
    Line::Failed(error.kind().to_owned(), error.to_string())
}

/// Waits for one line on the input; ends the process when the input does, or its time.
fn wait_for_the_word(seconds: u64) {
    let mut line = String::new();
    if !std::io::stdin().read_line(&mut line).is_ok_and(|n| n > 0) {
        std::process::exit(ENDED);
    }
    std::thread::spawn(|| {
        for line in std::io::stdin().lock().lines() {
            if line.is_err() {
                break;
            }
        }
        std::process::exit(ENDED);
    });
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds));
        say(&Line::Failed(
            "time".to_owned(),
            "its time is up".to_owned(),
        ));
        std::process::exit(ENDED);
    });
}

/// Kills this process, as nothing can be done about.
fn die() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    // The signal is on its way.
    loop {
        std::thread::park();
    }
}

/// Kills this process in so many microseconds, whatever it will be doing.
fn die_in(micros: u64) {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_micros(micros));
        die();
    });
}

fn session(id: &str) -> SessionId {
    SessionId::parse(id).expect("the sessions of these tests have short plain ids")
}
