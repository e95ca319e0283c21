//! Reading a journal as a stream of batches. Each batch is one piece of blocking work: a slow reader holds no thread, and the
//! whole file is never in memory. Takes nothing and changes nothing.

use std::sync::Arc;

use chat_core::{Entry, JournalPart, Place, Seq, SessionId, StoreError, TornTail};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};

use crate::{
    blocking::blocking,
    hold,
    lines::Span,
    name::Paths,
    scan::{Position, Scan, Step},
    system::{Access, File},
    tail::Tail,
};

/// A batch ends with the entry that reaches either.
const BATCH_ENTRIES: usize = 256;
const BATCH_BYTES: u64 = 1 << 20;

/// What to read.
pub(crate) struct Request {
    pub(crate) session: SessionId,
    pub(crate) paths: Paths,
    pub(crate) from: Seq,
    /// Where the journal was last known to end.
    pub(crate) known: Option<Tail>,
}

/// Streams a journal's parts. The first error ends the stream, after the entries before it.
pub(crate) fn stream(request: Request) -> BoxStream<'static, Result<JournalPart, StoreError>> {
    stream::unfold(State::Asked(request), |state| async move {
        let next = match state {
            State::Over => return None,
            going_on => blocking(move || going_on.batch()).await,
        };
        match next {
            Ok((part, state)) => part.map(|part| (Ok(part), state)),
            Err(error) => Some((Err(error), State::Over)),
        }
    })
    .boxed()
}

/// Where reading is, between two batches.
pub(crate) enum State {
    Asked(Request),
    Open(Box<Reading>),
    Failed(StoreError),
    Over,
}

/// The next part, where there is one, and where reading goes on.
type Next = (Option<JournalPart>, State);

impl State {
    pub(crate) fn batch(self) -> Result<Next, StoreError> {
        match self {
            Self::Asked(request) => request.open()?.batch(),
            Self::Open(reading) => reading.batch(),
            Self::Failed(error) => Err(error),
            Self::Over => Ok((None, Self::Over)),
        }
    }
}

impl Request {
    fn open(self) -> Result<Box<Reading>, StoreError> {
        let Self {
            session,
            paths,
            from,
            known,
        } = self;
        let path = paths.journal();
        let files = &paths.folder.files;
        let Some(file) = files.open_plain(&path, Access::Read)? else {
            return Err(StoreError::Missing { session });
        };
        let known = known.filter(|known| known.is_there(&*file));
        let start = known.map_or(Position::START, |known| known.position(from));
        let file = Arc::from(file);
        let scan = scan(&file, &session, &paths, start);
        Ok(Box::new(Reading {
            session,
            paths,
            from,
            file,
            scan,
            torn: None,
            looks: 16,
        }))
    }
}

fn scan(
    file: &Arc<dyn File>,
    session: &SessionId,
    paths: &Paths,
    from: Position,
) -> Scan<Arc<dyn File>> {
    Scan::new(file.clone(), session, paths.journal(), from)
}

pub(crate) struct Reading {
    session: SessionId,
    paths: Paths,
    from: Seq,
    file: Arc<dyn File>,
    scan: Scan<Arc<dyn File>>,
    /// A torn tail that was seen and not looked into yet.
    torn: Option<Span>,
    /// How often one is looked into: a reader does not follow writers for ever.
    looks: u8,
}

impl Reading {
    fn batch(mut self: Box<Self>) -> Result<Next, StoreError> {
        match self.torn.take() {
            None => self.entries(),
            Some(span) => self.look_into(span),
        }
    }

    fn entries(mut self: Box<Self>) -> Result<Next, StoreError> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        while entries.len() < BATCH_ENTRIES && bytes < BATCH_BYTES {
            match self.scan.step() {
                Ok(Step::Entry(entry, _)) if entry.seq() < self.from => {}
                Ok(Step::Entry(entry, span)) => {
                    bytes += span.len();
                    entries.push(entry);
                }
                Ok(Step::Torn(span)) if entries.is_empty() => return self.look_into(span),
                Ok(Step::Torn(span)) => {
                    self.torn = Some(span);
                    break;
                }
                Ok(Step::End) => return Ok((part(entries), State::Over)),
                Err(error) if entries.is_empty() => return Err(error),
                Err(error) => return Ok((part(entries), State::Failed(error))),
            }
        }
        Ok((part(entries), State::Open(self)))
    }

    /// Tells what a crash left from what a holder is writing at this moment (law S3): the latter is not reported.
    fn look_into(mut self: Box<Self>, span: Span) -> Result<Next, StoreError> {
        if self.looks == 0 || hold::is_held(&self.paths)? {
            return Ok((None, State::Over));
        }
        self.looks -= 1;
        let position = Position {
            offset: span.start,
            next: self.scan.next(),
        };
        // Nobody holds it now; one who did may have finished the line since it was read.
        self.scan = scan(&self.file, &self.session, &self.paths, position);
        match self.scan.step()? {
            Step::Torn(now) if now == span => {
                let place = Place {
                    line: Some(position.next.0 + 1),
                    offset: Some(span.start),
                    seq: Some(position.next),
                    path: Some(self.paths.journal()),
                };
                let torn = TornTail {
                    place,
                    bytes: span.len(),
                    set_aside: None,
                };
                Ok((Some(JournalPart::Torn(torn)), State::Over))
            }
            Step::Torn(now) => self.look_into(now),
            Step::End => Ok((None, State::Over)),
            Step::Entry(..) => {
                self.scan = scan(&self.file, &self.session, &self.paths, position);
                self.entries()
            }
        }
    }
}

fn part(entries: Vec<Entry>) -> Option<JournalPart> {
    (!entries.is_empty()).then_some(JournalPart::Entries(entries))
}
