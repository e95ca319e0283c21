//! Ctrl-C: the first one cancels the turn that runs, one more quits at once. Its own task, so that a reader who takes no more
//! of standard output holds nothing up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat_runtime::Turn;

use crate::{exit::Exit, notes::Notes};

/// Where Ctrl-C is aimed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupts(Arc<Mutex<Option<Turn>>>);

impl Interrupts {
    /// Takes Ctrl-C over from the system, from now on. Who quits leaves these notes.
    pub(crate) fn listen(notes: Notes) -> std::io::Result<Self> {
        #[cfg(unix)]
        let mut signals = {
            use tokio::signal::unix::{SignalKind, signal};
            signal(SignalKind::interrupt())?
        };
        #[cfg(windows)]
        let mut signals = tokio::signal::windows::ctrl_c()?;
        let interrupts = Self::default();
        let aimed = interrupts.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                let turn = aimed.lock().take();
                match turn {
                    Some(turn) => turn.cancel("canceled with Ctrl-C"),
                    None => quit(&notes),
                }
            }
        });
        Ok(interrupts)
    }

    /// The next Ctrl-C cancels this turn, for as long as the guard lives.
    pub(crate) fn aim(&self, turn: &Turn) -> Aim {
        *self.lock() = Some(turn.clone());
        Aim(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Turn>> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn whose end is not written yet stands in the journal as interrupted, and can be retried.
fn quit(notes: &Notes) -> ! {
    // The shell's prompt does not belong behind ours.
    notes.leave();
    std::process::exit(Exit::Canceled.code().into())
}

/// Keeps Ctrl-C aimed at a turn.
#[derive(Debug)]
pub(crate) struct Aim(Interrupts);

impl Drop for Aim {
    fn drop(&mut self) {
        let turn = self.0.lock().take();
        drop(turn);
    }
}
