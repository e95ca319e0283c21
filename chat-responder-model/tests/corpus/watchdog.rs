//! Ends the program where a test of it never ends, and says which: a run that hangs names none.

use std::{
    io::Write,
    process,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// Far above what any test takes, on any machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A test is over once this is dropped.
pub(crate) struct Watchdog {
    _running: mpsc::Sender<()>,
}

/// Watches what goes on from here. It measures real time, whatever a test does to its clock.
pub(crate) fn watchdog(what: impl Into<String>) -> Watchdog {
    let what = what.into();
    let (running, over) = mpsc::channel::<()>();
    thread::spawn(move || {
        if over.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Not `eprintln`, which is kept until a test ends.
            let _ = writeln!(
                std::io::stderr(),
                "\nFAILED {what}: it was not over after {} s, and so ends all tests of this program",
                LIMIT.as_secs()
            );
            process::exit(101);
        }
    });
    Watchdog { _running: running }
}
