//! One store that is asked a script, and says what came of it in words that can be compared.

use std::sync::Arc;

use chat_core::{
    Appended, Entry, JournalPart, JournalWriter, ListRequest, Salvaged, Seq, SessionId, Store,
    StoreError, Transcript,
};
use futures_util::{StreamExt as _, future::poll_immediate};

use crate::{
    Again,
    script::{Ask, From, Said, Step, Wrong, created},
};

pub(crate) struct Actor {
    pub(crate) name: &'static str,
    store: Arc<dyn Store>,
    again: Again,
}

impl Actor {
    pub(crate) fn new(name: &'static str, store: Arc<dyn Store>, again: Again) -> Self {
        Self { name, store, again }
    }

    /// What comes of one thing that is asked.
    pub(crate) async fn answer(&mut self, place: usize, ask: &Ask) -> Vec<String> {
        match ask {
            Ask::Create(session, said, wrong) => {
                let entries = journal(said, *wrong, &format!("c{place}"));
                vec![done(self.store.create(&session.id(), entries).await)]
            }
            Ask::Hold(session, from, steps) => {
                self.hold(&session.id(), *from, steps, &format!("h{place}"))
                    .await
            }
            Ask::Read(session, from) => self.read(&session.id(), *from).await,
            Ask::Salvage(session) => match self.store.salvage(&session.id()).await {
                Ok(pieces) => pieces.iter().map(piece).collect(),
                Err(error) => vec![error.kind().to_owned()],
            },
            Ask::Delete(session) => vec![done(self.store.delete(&session.id()).await)],
            Ask::IsHeld(session) => vec![shown(self.store.is_held(&session.id()).await)],
            Ask::List(limit) => self.list(*limit).await,
            Ask::Reopen => {
                self.store = (self.again)().await;
                Vec::new()
            }
        }
    }

    /// All that is in the store: its list, and for each session what its entries are and come to.
    pub(crate) async fn everything(&self) -> Vec<String> {
        let mut all = self.list(100).await;
        let page = self.store.list(ListRequest::default()).await.unwrap();
        for summary in page.sessions {
            all.extend(self.read(&summary.id, From(0)).await);
        }
        all
    }

    async fn hold(
        &self,
        session: &SessionId,
        from: From,
        steps: &[Step],
        sender: &str,
    ) -> Vec<String> {
        let mut said = Vec::new();
        match self.store.acquire(session, Seq(from.0)).await {
            Err(error) => return vec![error.kind().to_owned()],
            Ok(acquired) => {
                said.extend(acquired.entries.iter().map(text));
                said.push(format!("torn: {:?}", acquired.torn));
            }
        }
        let acquired = self.store.acquire(session, Seq::ZERO).await;
        let acquired = acquired.expect("what was held a moment ago can be held");
        let mut holder = Holder {
            store: &self.store,
            session,
            writer: acquired.writer,
            written: acquired.entries,
        };
        for (n, step) in steps.iter().enumerate() {
            said.push(holder.step(step, &format!("{sender}s{n}")).await);
            // What comes behind the last entry is nobody's to say: the hold may be let go of.
            if let Step::AppendLast(_) = step {
                break;
            }
        }
        said
    }

    async fn read(&self, session: &SessionId, from: From) -> Vec<String> {
        let mut parts = self.store.read(session, Seq(from.0));
        let (mut said, mut transcript) = (Vec::new(), Transcript::default());
        while let Some(part) = parts.next().await {
            match part {
                Ok(JournalPart::Entries(entries)) => {
                    entries.iter().for_each(|entry| transcript.apply(entry));
                    said.extend(entries.iter().map(text));
                }
                Ok(JournalPart::Torn(torn)) => said.push(format!("{torn:?}")),
                Err(error) => said.push(error.kind().to_owned()),
            }
        }
        let turns = transcript.turns();
        said.extend(turns.iter().map(|turn| format!("{turn:?}")));
        said.extend(turns.messages().map(|message| format!("{message:?}")));
        said
    }

    async fn list(&self, limit: usize) -> Vec<String> {
        let (mut said, mut after) = (Vec::new(), None);
        // More pages than there are sessions.
        for _ in 0..20 {
            let page = match self.store.list(ListRequest { after, limit }).await {
                Ok(page) => page,
                Err(error) => return vec![error.kind().to_owned()],
            };
            for session in page.sessions {
                let error = session.error.as_ref().map(StoreError::kind);
                said.push(format!("{session:?} {error:?}"));
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return said,
            }
            said.push("and then".to_owned());
        }
        panic!("the list of {} never ends", self.name);
    }
}

/// Who holds a session, and what is in it.
struct Holder<'a> {
    store: &'a Arc<dyn Store>,
    session: &'a SessionId,
    writer: Box<dyn JournalWriter>,
    written: Vec<Entry>,
}

impl Holder<'_> {
    async fn step(&mut self, step: &Step, sender: &str) -> String {
        let next = self.written.len() as u64;
        let entry = |said: &Said, seq| said.entry(seq, sender);
        match step {
            Step::Append(said) => self.append(entry(said, next)).await,
            Step::AppendLast(said) => {
                let entry = entry(said, next);
                answered(&self.writer.append_last(entry).await)
            }
            Step::DropAppend(said, polls) => {
                let entry = entry(said, next);
                let mut append = self.writer.append(entry.clone());
                for _ in 0..*polls {
                    if poll_immediate(&mut append).await.is_some() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                drop(append);
                // Whether it was written is for each store to find out; sent again, it is there once.
                let recovered = self.writer.recover(Seq(next)).await;
                let recovered = recovered.map(|recovered| {
                    assert!(
                        recovered.entries.is_empty() || recovered.entries == [entry.clone()],
                        "{recovered:?}"
                    );
                });
                format!("{}, {}", shown(recovered), self.append(entry).await)
            }
            Step::Recover(from) => {
                let recovered = self.writer.recover(Seq(from.0)).await;
                shown(recovered.map(|r| (r.entries.iter().map(text).collect::<Vec<_>>(), r.torn)))
            }
            Step::Again(back) => match self.written.iter().rev().nth(back - 1).cloned() {
                Some(entry) => answered(&self.writer.append(entry).await),
                None => String::new(),
            },
            Step::Ahead(said, by) => answered(&self.writer.append(entry(said, next + by)).await),
            Step::Behind(said, back) => {
                let seq = next.saturating_sub(*back as u64);
                answered(&self.writer.append(entry(said, seq)).await)
            }
            Step::Delete => done(self.store.delete(self.session).await),
            Step::IsHeld => shown(self.store.is_held(self.session).await),
        }
    }

    async fn append(&mut self, entry: Entry) -> String {
        let answer = self.writer.append(entry.clone()).await;
        if matches!(answer, Appended::Written) {
            self.written.push(entry);
        }
        answered(&answer)
    }
}

fn journal(said: &[Said], wrong: Wrong, sender: &str) -> Vec<Entry> {
    let first = match wrong {
        Wrong::Empty => return Vec::new(),
        Wrong::NoFirst => None,
        Wrong::Nothing | Wrong::Gap => Some(created(sender)),
    };
    let gap = u64::from(wrong == Wrong::Gap);
    let start = first.iter().count() as u64;
    let rest = said.iter().zip(start + gap..);
    first
        .into_iter()
        .chain(rest.map(|(said, seq)| said.entry(seq, sender)))
        .collect()
}

fn text(entry: &Entry) -> String {
    entry.encode().to_string()
}

fn piece(piece: &Salvaged) -> String {
    match piece {
        Salvaged::Entry(entry) => text(entry),
        Salvaged::Gap { .. } => "a gap".to_owned(),
    }
}

fn answered(answer: &Appended) -> String {
    match answer {
        Appended::Written => "written".to_owned(),
        Appended::NotWritten(error) => format!("not written: {}", error.kind()),
        Appended::Unknown(error) => format!("unknown: {}", error.kind()),
        Appended::Fenced => "fenced".to_owned(),
    }
}

fn shown<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.kind().to_owned(),
    }
}

fn done(result: Result<(), StoreError>) -> String {
    shown(result)
}
