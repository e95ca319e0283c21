//! Lines of a terminal, read only where one is asked for: what nobody asked for yet stays with the system, which can forget it.

use std::io::{Error, ErrorKind, Stdin, stdin};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read},
    termios::{QueueSelector, tcflush},
};
use tokio::sync::oneshot;

/// Standard input that is a terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    input: Stdin,
    /// A thread that waits until there is input. It reads nothing: one that is not needed any more takes nothing away.
    waiting: Option<oneshot::Receiver<()>>,
    /// What was read and not taken: a line that is not whole, where the terminal gives lines.
    read: Vec<u8>,
    /// A terminal goes on behind its end of input; who reads it does not.
    has_ended: bool,
}

impl Terminal {
    /// Reads nothing yet.
    pub(crate) fn open() -> Self {
        Self {
            input: stdin(),
            waiting: None,
            read: Vec::new(),
            has_ended: false,
        }
    }

    /// The next line, without its end; `None` at the end of input. Cancel-safe.
    pub(crate) async fn line(&mut self) -> Option<Result<String, Error>> {
        loop {
            if let Some(line) = self.take_line() {
                return Some(line);
            }
            if self.has_ended {
                return None;
            }
            self.readable().await;
            if let Err(error) = self.read_on() {
                self.has_ended = true;
                return Some(Err(error));
            }
        }
    }

    /// A line that was typed before it was asked for.
    pub(crate) fn ahead(&mut self) -> Option<Result<String, Error>> {
        loop {
            let line = self.take_line();
            if line.is_some() || self.has_ended || !self.is_ready() {
                return line;
            }
            if let Err(error) = self.read_on() {
                self.has_ended = true;
                return Some(Err(error));
            }
        }
    }

    /// Waits for input and forgets it; false where no more can come. Cancel-safe.
    pub(crate) async fn forget_next(&mut self) -> bool {
        if self.has_ended {
            return false;
        }
        self.readable().await;
        self.forget();
        // What stays is no input: the terminal is gone.
        !polled(&self.input, Some(&AT_ONCE)).intersects(!PollFlags::IN)
    }

    /// Forgets what was typed so far, a line without its end too.
    pub(crate) fn forget(&mut self) {
        self.read.clear();
        // Fails where the terminal is gone, and then nobody can answer.
        let _ = tcflush(&self.input, QueueSelector::IFlush);
    }

    async fn readable(&mut self) {
        while !self.is_ready() {
            let waiting = self.waiting.get_or_insert_with(|| {
                let (teller, told) = oneshot::channel();
                std::thread::spawn(move || {
                    polled(&stdin(), None);
                    let _ = teller.send(());
                });
                told
            });
            let _ = waiting.await;
            self.waiting = None;
        }
    }

    fn is_ready(&self) -> bool {
        !polled(&self.input, Some(&AT_ONCE)).is_empty()
    }

    /// Reads what is there: a line, from most terminals. Blocks nobody, since it is called where something is.
    fn read_on(&mut self) -> Result<(), Error> {
        let mut bytes = [0; 4096];
        match read(&self.input, &mut bytes) {
            Ok(0) => self.has_ended = true,
            Ok(count) => self.read.extend_from_slice(&bytes[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The first whole line of what was read; what stands before the end of input is one too.
    fn take_line(&mut self) -> Option<Result<String, Error>> {
        let end = match self.read.iter().position(|byte| *byte == b'\n') {
            Some(place) => place + 1,
            None if self.has_ended && !self.read.is_empty() => self.read.len(),
            None => return None,
        };
        let mut line: Vec<u8> = self.read.drain(..end).collect();
        if line.pop_if(|byte| *byte == b'\n').is_some() {
            line.pop_if(|byte| *byte == b'\r');
        }
        Some(String::from_utf8(line).map_err(|error| Error::new(ErrorKind::InvalidData, error)))
    }
}

const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// What there is to do with the input, once there is something or so much time is over.
fn polled(input: &Stdin, timeout: Option<&Timespec>) -> PollFlags {
    let mut polled = [PollFd::new(input, PollFlags::IN)];
    match poll(&mut polled, timeout) {
        Ok(_) => polled[0].revents(),
        Err(_) => PollFlags::empty(),
    }
}
