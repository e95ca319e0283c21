//! The suite itself: against the store in memory, and against one that breaks a law.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

#[path = "common/mod.rs"]
mod stores;

use chat_conformance::{StoreFactory, Verdict, run_store_laws, store_law_names};
use chat_core::{
    Acquired, Capabilities, Entry, JournalPart, ListRequest, MemoryStore, Salvaged, Seq, SessionId,
    SessionPage, Store, StoreError,
};
use futures_util::{FutureExt as _, future::BoxFuture, stream::BoxStream};

mod memory {
    chat_conformance::store_laws!(super::stores::Memory);
}

/// Sound but for its list, which forgets one session in every page.
struct Forgetful(MemoryStore);

impl Store for Forgetful {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        self.0.create(session, entries)
    }
    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        self.0.read(session, from)
    }
    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        self.0.acquire(session, from)
    }
    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        let page = self.0.list(page);
        async move {
            page.await.map(|page| SessionPage {
                sessions: page.sessions.into_iter().skip(1).collect(),
                ..page
            })
        }
        .boxed()
    }
    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        self.0.delete(session)
    }
    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.0.is_held(session)
    }
    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        self.0.salvage(session)
    }
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
}

struct ForgetfulStores;

impl StoreFactory for ForgetfulStores {
    type Store = Forgetful;

    async fn make(&self) -> Forgetful {
        Forgetful(MemoryStore::new())
    }

    async fn reopen(&self, _: &Forgetful) -> Forgetful {
        unreachable!("it claims neither to be shared nor to outlive its process")
    }
}

#[test]
fn a_broken_law_is_reported_and_hides_no_other() {
    let report = run_store_laws(ForgetfulStores);
    assert_eq!(
        report.laws.iter().map(|law| law.name).collect::<Vec<_>>(),
        store_law_names()
    );
    assert!(!report.is_sound());
    let of = |name: &str| {
        &report
            .laws
            .iter()
            .find(|law| law.name == name)
            .unwrap()
            .verdict
    };
    assert!(
        matches!(of("s6_the_newest_activity_comes_first"), Verdict::Failed(why) if why.contains("left"))
    );
    assert!(matches!(
        of("s6_pages_show_every_session_once"),
        Verdict::Failed(_)
    ));
    assert_eq!(*of("s1_what_is_appended_is_read_in_order"), Verdict::Passed);
    assert!(matches!(
        of("s8_a_reopened_store_reads_the_same"),
        Verdict::NotClaimed(_)
    ));

    let table = report.to_string();
    assert!(
        table.contains("s1_what_is_appended_is_read_in_order") && table.contains("FAILED"),
        "{table}"
    );
    assert!(table.ends_with("not claimed"), "{table}");
}
