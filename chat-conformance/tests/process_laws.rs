//! The laws of processes against stores that are wrong: each is the file store with one bug, which the law that is about it finds. That
//! the file store keeps them all without one is in its own tests.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

use std::{
    fs::{self, File},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use chat_conformance::process::{StorePlace, check_process_law, play};
use chat_core::{
    Acquired, Appended, Capabilities, Entry, JournalPart, JournalWriter, ListRequest, Recovered,
    Salvaged, Seq, SessionId, SessionPage, Store, StoreError,
};
use chat_store_file::FileStore;
use futures_util::{FutureExt as _, future::BoxFuture, stream::BoxStream};

/// What is wrong with a store. Another process knows it by the name of the store's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    KeepsTheLastEntryToItself,
    TakesTheHoldByForce,
    SeesNoHolder,
    CreatesPieceByPiece,
    IsBusyWhileOthersCreate,
    IsBusyWhileOthersOpen,
}

const ALL: &[Bug] = &[
    Bug::KeepsTheLastEntryToItself,
    Bug::TakesTheHoldByForce,
    Bug::SeesNoHolder,
    Bug::CreatesPieceByPiece,
    Bug::IsBusyWhileOthersCreate,
    Bug::IsBusyWhileOthersOpen,
];

/// Where stores with a bug stand.
struct Wrong(Bug);

impl StorePlace for Wrong {
    fn place(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{:?}", self.0))
    }

    fn open(&self, place: &Path) -> Result<Arc<dyn Store>, StoreError> {
        let bug = ALL.iter().find(|bug| place.ends_with(format!("{bug:?}")));
        let store = WrongStore {
            sound: FileStore::open(place)?,
            bug: *bug.unwrap(),
        };
        if store.bug == Bug::IsBusyWhileOthersOpen {
            // Until this process ends.
            std::mem::forget(store.try_lock()?);
        }
        Ok(Arc::new(store))
    }

    fn grows(&self, place: &Path, session: &SessionId) -> PathBuf {
        place.join(format!("{session}.jsonl"))
    }
}

#[derive(Clone)]
struct WrongStore {
    sound: FileStore,
    bug: Bug,
}

impl WrongStore {
    fn try_lock(&self) -> Result<File, StoreError> {
        let file = File::create(self.sound.folder().join("all.lock")).unwrap();
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(_) => Err(StoreError::backend("the store is locked")),
        }
    }
}

impl Store for WrongStore {
    fn create(
        &self,
        session: &SessionId,
        mut entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move {
            let lock = match store.bug {
                Bug::IsBusyWhileOthersCreate => Some(store.try_lock()?),
                _ => None,
            };
            let rest = match store.bug {
                Bug::CreatesPieceByPiece => entries.split_off(1),
                _ => Vec::new(),
            };
            store.sound.create(&session, entries).await?;
            let mut writer = store.sound.acquire(&session, Seq(1)).await?.writer;
            for entry in rest {
                match writer.append(entry).await {
                    Appended::NotWritten(error) | Appended::Unknown(error) => return Err(error),
                    Appended::Written | Appended::Fenced => {}
                }
            }
            drop(lock);
            Ok(())
        }
        .boxed()
    }

    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        let (bug, sound, session) = (self.bug, self.sound.clone(), session.clone());
        async move {
            if bug == Bug::TakesTheHoldByForce {
                let _ = fs::remove_file(sound.folder().join(format!("{session}.lock")));
            }
            let mut acquired = sound.acquire(&session, from).await?;
            if bug == Bug::KeepsTheLastEntryToItself {
                let (writer, late) = (acquired.writer, None);
                acquired.writer = Box::new(Late { writer, late });
            }
            Ok(acquired)
        }
        .boxed()
    }

    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        let (bug, held) = (self.bug, self.sound.is_held(session));
        async move { Ok(held.await? && bug != Bug::SeesNoHolder) }.boxed()
    }

    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        self.sound.read(session, from)
    }

    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        self.sound.list(page)
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        self.sound.delete(session)
    }

    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        self.sound.salvage(session)
    }

    fn capabilities(&self) -> Capabilities {
        self.sound.capabilities()
    }
}

/// Writes an entry only once the next one comes.
struct Late {
    writer: Box<dyn JournalWriter>,
    late: Option<Entry>,
}

impl JournalWriter for Late {
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        match self.late.replace(entry) {
            Some(late) => self.writer.append(late),
            None => std::future::ready(Appended::Written).boxed(),
        }
    }

    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        self.writer.recover(from)
    }
}

#[test]
fn the_other_process() {
    play(&Wrong(ALL[0]));
}

/// One test of each bug: the law that is about it finds it.
macro_rules! mutants {
    ($($bug:ident is_caught_by $law:ident)*) => {
        $(#[test]
        #[allow(non_snake_case, reason = "the bug's name")]
        fn $bug() {
            let law = || check_process_law(stringify!($law), &Wrong(Bug::$bug));
            assert!(catch_unwind(AssertUnwindSafe(law)).is_err(), "it is not seen");
        })*
    };
}

mutants! {
    KeepsTheLastEntryToItself is_caught_by s2_what_a_killed_writer_acknowledged_is_there_and_the_next_append_is_sound
    TakesTheHoldByForce is_caught_by s5_c23_two_processes_write_one_session_one_turn_at_a_time
    SeesNoHolder is_caught_by s5_c24_a_killed_holders_hold_is_free_at_once
    CreatesPieceByPiece is_caught_by s7_c25_c34_a_full_disk_is_a_typed_error_and_sound_again_when_there_is_room
    IsBusyWhileOthersCreate is_caught_by s7_c29_many_tasks_of_many_processes_meet_no_busy_store
    IsBusyWhileOthersOpen is_caught_by s7_c29_eight_processes_open_a_store_for_the_first_time_at_once
}
