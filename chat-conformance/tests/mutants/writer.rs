//! The reference store's writer. A write that is dropped stops where it is, as if its process had been killed there.

use std::collections::BTreeMap;

use chat_core::{Appended, Entry, EntryId, JournalWriter, Recovered, Seq, SessionId, StoreError};
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::task::{spawn_blocking, yield_now};

use crate::{
    bug::Bug,
    hold::Hold,
    journal::seal,
    store::{Caught, SimStore},
};

pub(crate) struct Writer {
    store: SimStore,
    session: SessionId,
    /// Let go of with the last entry.
    hold: Option<Hold>,
    written: BTreeMap<Seq, EntryId>,
    next: Seq,
    /// Whether a write was begun and its end is not known.
    is_unknown: bool,
}

impl Writer {
    pub(crate) fn new(store: SimStore, session: SessionId, hold: Hold, entries: &[Entry]) -> Self {
        let mut writer = Self {
            store,
            session,
            hold: Some(hold),
            written: BTreeMap::new(),
            next: Seq::ZERO,
            is_unknown: false,
        };
        writer.saw(entries);
        if writer.store.has(Bug::ForgetsRetriesWhenReopened) {
            writer.written.clear();
        }
        writer
    }

    fn saw(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.written.insert(entry.seq(), entry.id().clone());
            self.next = entry.seq().next();
        }
    }

    fn misuse(&self, what: &str) -> Appended {
        Appended::NotWritten(StoreError::Misuse {
            session: self.session.clone(),
            what: what.into(),
        })
    }

    async fn write(&mut self, entry: Entry, last: bool) -> Appended {
        if self.hold.is_none() {
            return self.misuse("its hold was let go of");
        }
        if self.is_unknown && !self.store.has(Bug::GoesOnAfterUnknown) {
            return self.misuse("the write before is unknown: recover first");
        }
        let is_there = self.written.get(&entry.seq()) == Some(entry.id());
        if is_there && !self.store.has(Bug::WritesARetryTwice) {
            return Appended::Written;
        }
        if entry.seq() != self.next && !is_there && !self.store.has(Bug::TakesAnyPlace) {
            if last && self.store.has(Bug::LastAppendFreesTheHoldAnyway) {
                self.hold = None;
            }
            return self.misuse("another entry belongs there");
        }
        self.is_unknown = true;
        let (disk, mut line) = (&self.store.disk, seal(&entry, self.store.bug));
        if self.store.has(Bug::StopsAtANul) && entry.encode().contains("\\u0000") {
            line = b"\n".to_vec();
        }
        if self.store.has(Bug::FreesTheHoldBeforeTheWriteHasEnded) {
            // The write is with the system, and lands when it lands.
            disk.append_late(&self.session, &std::mem::take(&mut line));
            yield_now().await;
        }
        if self.store.has(Bug::WaitsOnAThread) {
            // As a real store: what is written is written on a thread, too.
            let _ = spawn_blocking(|| ()).await;
        }
        disk.append(&self.session, &line);
        yield_now().await;
        let is_lazy = last && self.store.has(Bug::DoesNotSyncTheLast);
        if !is_lazy && !self.store.has(Bug::NeverSyncs) {
            disk.sync(&self.session);
        }
        yield_now().await;
        self.is_unknown = false;
        self.saw(&[entry]);
        if last {
            self.hold = None;
        }
        Appended::Written
    }
}

impl JournalWriter for Writer {
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.write(entry, false).boxed()
    }

    fn append_last(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.write(entry, true).boxed()
    }

    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        async move {
            let Caught { mut entries, torn } = self
                .store
                .catch_up(&self.session, Bug::RecoverVouchesForWhatIsNotSynced)?;
            self.saw(&entries);
            self.is_unknown = false;
            entries.retain(|entry| entry.seq() >= from);
            if self.store.has(Bug::RecoverSaysNothingIsThere) {
                entries.pop();
            }
            let torn = torn.filter(|_| !self.store.has(Bug::RecoverHidesATornTail));
            Ok(Recovered { entries, torn })
        }
        .boxed()
    }

    fn lost(&self) -> BoxFuture<'static, ()> {
        if self.store.has(Bug::LosesHolds) {
            return std::future::ready(()).boxed();
        }
        std::future::pending().boxed()
    }
}
