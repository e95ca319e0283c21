//! Laws S1, S5, S6 and S7 for the store in memory; futures are polled by hand, so that a test says who waits when.

use futures_util::{StreamExt, future::FutureExt};

use super::*;
use crate::{Acquired, Appended, EntryBody, EntryId, JournalWriter, ResponderInfo, TurnId};

fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

fn entry_at(seq: u64, id: &str, millis: i64, body: EntryBody) -> Entry {
    Entry::new(
        Seq(seq),
        EntryId::parse(id).unwrap(),
        Timestamp::from_millis(millis).unwrap(),
        body,
    )
}

fn created() -> Entry {
    entry_at(0, "e0", 0, EntryBody::SessionCreated { labels: None })
}

/// The entry at a place: turns that are accepted and nothing more.
fn entry(seq: u64) -> Entry {
    accepted(seq, &format!("e{seq}"), &format!("input {seq}"))
}

fn accepted(seq: u64, id: &str, input: &str) -> Entry {
    let turn_id = TurnId::parse(format!("t{seq}")).unwrap();
    entry_at(
        seq,
        id,
        0,
        EntryBody::TurnAccepted {
            turn_id,
            input: input.into(),
            retry_of: None,
            labels: None,
        },
    )
}

/// What a future that needs nobody gives.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing to wait for")
}

fn store_with(entries: Vec<Entry>) -> (MemoryStore, SessionId) {
    let (store, id) = (MemoryStore::new(), session("s"));
    now(store.create(&id, entries)).unwrap();
    (store, id)
}

fn writer(store: &MemoryStore, id: &SessionId) -> Box<dyn JournalWriter> {
    now(store.acquire(id, Seq::ZERO)).unwrap().writer
}

fn seqs(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.seq().0).collect()
}

fn journal(store: &MemoryStore, id: &SessionId) -> Vec<Entry> {
    let parts: Vec<_> = now(store.read(id, Seq::ZERO).collect());
    parts
        .into_iter()
        .flat_map(|part| match part.unwrap() {
            JournalPart::Entries(entries) => entries,
            JournalPart::Torn(torn) => panic!("{torn:?} in memory"),
        })
        .collect()
}

#[track_caller]
fn assert_misuse(appended: &Appended, about: &str) {
    match appended {
        Appended::NotWritten(StoreError::Misuse { what, .. }) => {
            assert!(what.contains(about), "{what}")
        }
        other => panic!("{other:?} is no misuse"),
    }
}

#[track_caller]
fn assert_written(appended: &Appended) {
    assert!(matches!(appended, Appended::Written), "{appended:?}");
}

/// A future that is polled once a call.
struct Waiting(BoxFuture<'static, Result<Acquired, StoreError>>);

impl Waiting {
    fn poll(&mut self) -> Option<Acquired> {
        (&mut self.0).now_or_never().map(Result::unwrap)
    }
}

fn waiting(store: &MemoryStore, id: &SessionId) -> Waiting {
    let mut waiting = Waiting(store.acquire(id, Seq::ZERO));
    assert!(waiting.poll().is_none(), "there is a holder");
    waiting
}

#[test]
fn s1_entries_are_read_back_as_they_were_written_from_any_place() {
    let (store, id) = store_with(vec![created(), entry(1)]);
    let mut writer = writer(&store, &id);
    for seq in 2..600 {
        assert_written(&now(writer.append(entry(seq))));
    }
    assert_eq!(
        journal(&store, &id),
        [vec![created()], (1..600).map(entry).collect()].concat()
    );
    for from in [0, 1, 598, 599, 600, 10_000, u64::MAX] {
        let parts: Vec<_> = now(store.read(&id, Seq(from)).collect());
        let read: Vec<u64> = parts
            .into_iter()
            .flat_map(|part| match part.unwrap() {
                JournalPart::Entries(entries) => seqs(&entries),
                JournalPart::Torn(torn) => panic!("{torn:?} in memory"),
            })
            .collect();
        assert_eq!(read, (from..600).collect::<Vec<_>>());
        assert_eq!(seqs(&now(writer.recover(Seq(from))).unwrap().entries), read);
    }
    drop(writer);
    assert_eq!(
        seqs(&now(store.acquire(&id, Seq(598))).unwrap().entries),
        [598, 599]
    );
    assert_eq!(now(store.salvage(&id)).unwrap().len(), 600);
}

#[test]
fn s1_the_same_entry_sent_again_is_written_once() {
    let (store, id) = store_with(vec![created()]);
    let mut writer = writer(&store, &id);
    assert_written(&now(writer.append(entry(1))));
    assert_written(&now(writer.append(entry(1))));
    assert_written(&now(writer.append(created())));
    assert_eq!(seqs(&journal(&store, &id)), [0, 1]);
    assert_eq!(
        now(store.list(ListRequest::default())).unwrap().sessions[0].turns,
        1
    );
}

#[test]
fn s1_entries_that_break_a_rule_are_refused_and_change_nothing() {
    let (store, id) = store_with(vec![created()]);
    let mut writer = writer(&store, &id);
    assert_written(&now(writer.append(entry(1))));
    assert_misuse(&now(writer.append(entry(3))), "leaves a gap");
    assert_misuse(&now(writer.append(entry(u64::MAX))), "leaves a gap");
    assert_misuse(
        &now(writer.append(accepted(1, "other", "input 1"))),
        "another entry stands at place 1",
    );
    assert_misuse(
        &now(writer.append(accepted(1, "e1", "other"))),
        "another entry stands at place 1",
    );
    assert_misuse(
        &now(writer.append(accepted(2, "e1", "input"))),
        "another entry has the id e1",
    );
    let disguised = EntryBody::Unknown {
        kind: "turn.accepted".into(),
    };
    assert_misuse(
        &now(writer.append(entry_at(2, "e2", 0, disguised))),
        "can't be read back",
    );
    assert_eq!(seqs(&journal(&store, &id)), [0, 1]);
    assert_written(&now(writer.append(entry(2))));
}

#[test]
fn j2_what_is_not_known_is_kept_to_the_byte() {
    let line = r#"{"v":1, "seq":1,"id":"e1","at":"2026-01-31T09:30:00Z","type":"later","n":1e400}"#;
    let (store, id) = store_with(vec![created(), Entry::decode(line).unwrap()]);
    assert_eq!(&*journal(&store, &id)[1].encode(), line);
}

#[test]
fn s2_after_an_append_that_was_dropped_only_recover_is_taken() {
    let (store, id) = store_with(vec![created()]);
    let mut writer = writer(&store, &id);
    drop(writer.append(entry(1)));
    assert_misuse(&now(writer.append(entry(1))), "only recover");
    assert_misuse(&now(writer.append_last(entry(1))), "only recover");
    assert!(
        now(store.is_held(&id)).unwrap(),
        "a refused last entry lets go of nothing"
    );
    assert_eq!(seqs(&now(writer.recover(Seq::ZERO)).unwrap().entries), [0]);
    assert_written(&now(writer.append(entry(1))));
}

#[test]
fn s2_the_last_entry_lets_go_of_the_hold_only_when_it_is_written() {
    let (store, id) = store_with(vec![created()]);
    let mut first = writer(&store, &id);
    let mut second = waiting(&store, &id);
    assert_misuse(&now(first.append_last(entry(7))), "leaves a gap");
    assert!(second.poll().is_none());
    assert_written(&now(first.append_last(entry(1))));
    let second = second.poll().expect("let go of with the entry");
    assert_eq!(seqs(&second.entries), [0, 1]);
    assert_misuse(&now(first.append(entry(2))), "let go of");
    assert!(matches!(
        now(first.recover(Seq::ZERO)),
        Err(StoreError::Misuse { .. })
    ));
    drop(first);
    assert!(
        now(store.is_held(&id)).unwrap(),
        "the first writer has nothing left to let go of"
    );
}

#[test]
fn s5_one_holds_at_a_time_and_the_others_get_it_in_the_order_they_came() {
    let (store, id) = store_with(vec![created()]);
    assert!(!now(store.is_held(&id)).unwrap());
    let mut holder = Some(writer(&store, &id));
    let mut queue: Vec<_> = (0..5).map(|_| waiting(&store, &id)).collect();
    for next in 0..queue.len() {
        assert!(now(store.is_held(&id)).unwrap());
        assert!(
            queue[next..]
                .iter_mut()
                .all(|waiting| waiting.poll().is_none())
        );
        holder.take();
        assert!(
            queue[next + 1..]
                .iter_mut()
                .all(|waiting| waiting.poll().is_none()),
            "after {next}"
        );
        holder = Some(queue[next].poll().expect("its turn").writer);
    }
    drop(holder);
    assert!(!now(store.is_held(&id)).unwrap());
}

#[test]
fn s5_dropping_the_future_gives_up_the_place() {
    let (store, id) = store_with(vec![created()]);
    let holder = writer(&store, &id);
    let (first, mut second) = (waiting(&store, &id), waiting(&store, &id));
    drop(first);
    drop(holder);
    assert!(second.poll().is_some());
    drop(second);
    assert!(!now(store.is_held(&id)).unwrap());
}

#[test]
fn s5_a_hold_that_was_granted_and_never_taken_goes_on() {
    let (store, id) = store_with(vec![created()]);
    let holder = writer(&store, &id);
    let (granted, mut next) = (waiting(&store, &id), waiting(&store, &id));
    drop(holder);
    drop(granted);
    let next = next.poll().expect("the next one's");
    let last = waiting(&store, &id);
    drop(next);
    drop(last);
    assert!(!now(store.is_held(&id)).unwrap(), "nobody is left");
}

#[test]
fn s5_a_hold_on_one_session_is_none_on_another_and_reading_waits_for_nobody() {
    let (store, id) = store_with(vec![created()]);
    let other = session("other");
    now(store.create(&other, vec![created()])).unwrap();
    let mut holder = writer(&store, &id);
    let _other = writer(&store, &other);
    assert_written(&now(holder.append(entry(1))));
    assert_eq!(seqs(&journal(&store, &id)), [0, 1]);
}

#[test]
fn s5_a_reader_keeps_to_what_was_there_when_it_began() {
    let (store, id) = store_with(vec![created()]);
    let mut reading = store.read(&id, Seq::ZERO);
    let first = now(reading.next());
    assert!(matches!(first, Some(Ok(JournalPart::Entries(entries))) if seqs(&entries) == [0]));
    assert_written(&now(writer(&store, &id).append(entry(1))));
    assert!(now(reading.next()).is_none());
}

#[test]
fn s5_a_hold_goes_from_thread_to_thread() {
    // Contention for real: every append finds its place, so nobody wrote beside the holder.
    let (store, id) = store_with(vec![created()]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, id) = (store.clone(), id.clone());
            scope.spawn(move || {
                for round in 0..15 {
                    let acquired = block_on(store.acquire(&id, Seq::ZERO)).unwrap();
                    let (mut writer, seq) = (acquired.writer, acquired.entries.len() as u64);
                    assert_written(&now(writer.append_last(accepted(
                        seq,
                        &format!("{thread}.{round}"),
                        "x",
                    ))));
                }
            });
        }
    });
    assert_eq!(journal(&store, &id).len(), 1 + 4 * 15);
    assert!(!now(store.is_held(&id)).unwrap());
}

/// Waits on this thread until the future is done.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future
            .as_mut()
            .poll(&mut std::task::Context::from_waker(&waker))
        {
            std::task::Poll::Ready(value) => return value,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn s6_the_list_shows_what_is_there_the_newest_activity_first() {
    let store = MemoryStore::new();
    for (name, millis) in [("old", 10), ("new", 30), ("mid-b", 20), ("mid-a", 20)] {
        let created = entry_at(0, "e0", millis, EntryBody::SessionCreated { labels: None });
        now(store.create(&session(name), vec![created])).unwrap();
    }
    let names = |page: &SessionPage| {
        page.sessions
            .iter()
            .map(|s| s.id.to_string())
            .collect::<Vec<_>>()
    };
    let whole = now(store.list(ListRequest::default())).unwrap();
    assert_eq!(names(&whole), ["new", "mid-a", "mid-b", "old"]);
    assert_eq!(whole.next, None);

    let mut paged = Vec::new();
    let mut request = ListRequest {
        after: None,
        limit: 3,
    };
    loop {
        let page = now(store.list(request.clone())).unwrap();
        assert!(page.sessions.len() <= 3);
        paged.extend(names(&page));
        let Some(next) = page.next else { break };
        request.after = Some(next);
    }
    assert_eq!(paged, names(&whole));
    assert_eq!(
        now(store.list(ListRequest {
            after: None,
            limit: 4
        }))
        .unwrap()
        .next,
        None
    );
    assert_eq!(
        now(store.list(ListRequest {
            after: None,
            limit: 0
        }))
        .unwrap()
        .sessions
        .len(),
        1,
        "a page gets on"
    );

    let body = EntryBody::TurnAccepted {
        turn_id: TurnId::parse("t").unwrap(),
        input: "\n Hi  there\n".into(),
        retry_of: None,
        labels: None,
    };
    assert_written(&now(
        writer(&store, &session("old")).append(entry_at(1, "e1", 40, body))
    ));
    let listed = now(store.list(ListRequest::default())).unwrap();
    assert_eq!(names(&listed), ["old", "new", "mid-a", "mid-b"]);
    let old = &listed.sessions[0];
    let millis = |at: Option<Timestamp>| at.unwrap().as_millis();
    assert_eq!(
        (millis(old.created_at), millis(old.last_activity), old.turns),
        (10, 40, 1)
    );
    assert_eq!(old.title.as_deref(), Some("Hi  there"));
    assert_eq!(listed.sessions[1].title, None);
    now(store.delete(&session("new"))).unwrap();
    assert_eq!(
        names(&now(store.list(ListRequest::default())).unwrap()),
        ["old", "mid-a", "mid-b"]
    );
}

#[test]
fn s6_a_cursor_stays_good_while_sessions_come_and_go() {
    let store = MemoryStore::new();
    let at = |name: &str, millis| {
        let created = entry_at(0, "e0", millis, EntryBody::SessionCreated { labels: None });
        now(store.create(&session(name), vec![created])).unwrap();
    };
    for (name, millis) in [("a.1", 30), ("b", 20), ("c", 20), ("d", 10)] {
        at(name, millis);
    }
    let page = |after| {
        let page = now(store.list(ListRequest { after, limit: 2 })).unwrap();
        let names = page.sessions.iter().map(|s| s.id.to_string());
        (names.collect::<Vec<_>>(), page.next)
    };
    let (first, next) = page(None);
    assert_eq!(first, ["a.1", "b"]);
    // The session it ended with is gone, another came to stand right behind it, one in front.
    now(store.delete(&session("b"))).unwrap();
    at("bb", 20);
    at("z", 40);
    let (second, next) = page(next);
    assert_eq!(second, ["bb", "c"]);
    assert_eq!(page(next).0, ["d"]);
}

#[test]
fn s6_the_last_activity_is_the_last_entry_s_though_its_clock_went_back() {
    let entries = [(0, 50), (1, 20)].map(|(seq, millis)| match seq {
        0 => entry_at(0, "e0", millis, EntryBody::SessionCreated { labels: None }),
        seq => entry_at(seq, "e1", millis, entry(seq).body().clone()),
    });
    let (store, _) = store_with(entries.into());
    let listed = now(store.list(ListRequest::default())).unwrap();
    assert_eq!(listed.sessions[0].last_activity.unwrap().as_millis(), 20);
}

#[test]
fn s6_a_title_is_the_first_input_and_turns_are_those_accepted() {
    let ended = |seq| {
        let body = EntryBody::TurnCompleted {
            turn_id: TurnId::parse("t1").unwrap(),
            text: "x".into(),
            metadata: crate::Metadata::default(),
            responder: ResponderInfo::default(),
        };
        entry_at(seq, &format!("e{seq}"), 0, body)
    };
    let (store, _) = store_with(vec![
        created(),
        accepted(1, "e1", "first"),
        ended(2),
        accepted(3, "e3", "second"),
    ]);
    let listed = now(store.list(ListRequest::default())).unwrap();
    assert_eq!(
        (
            listed.sessions[0].title.as_deref(),
            listed.sessions[0].turns
        ),
        (Some("first"), 2)
    );
}

#[test]
fn s6_a_cursor_of_another_store_is_refused() {
    for cursor in [
        "",
        "x",
        "1",
        "1.",
        ".a",
        "x.a",
        "1.a/b",
        "99999999999999999.a",
    ] {
        let request = ListRequest {
            after: Some(Cursor(cursor.into())),
            limit: 1,
        };
        assert!(
            matches!(
                now(store_with(vec![created()]).0.list(request)),
                Err(StoreError::Backend { .. })
            ),
            "{cursor}"
        );
    }
}

#[test]
fn s7_what_is_missing_or_taken_is_said_by_name() {
    let (store, id) = store_with(vec![created(), entry(1)]);
    assert!(
        matches!(now(store.create(&id, vec![created()])), Err(StoreError::Taken { session }) if session == id)
    );
    assert_eq!(journal(&store, &id).len(), 2);
    let none = session("none");
    let missing = |error: Option<StoreError>| matches!(error, Some(StoreError::Missing { session }) if session == none);
    assert!(missing(now(store.acquire(&none, Seq::ZERO)).err()));
    assert!(missing(now(store.delete(&none)).err()));
    assert!(missing(now(store.is_held(&none)).err()));
    assert!(missing(now(store.salvage(&none)).err()));
    let mut reading = store.read(&none, Seq::ZERO);
    assert!(missing(now(reading.next()).unwrap().err()));
    assert!(
        now(reading.next()).is_none(),
        "the stream ends after its first error"
    );
}

#[test]
fn s7_a_journal_is_created_whole_or_not_at_all() {
    let (store, id) = (MemoryStore::new(), session("s"));
    for (entries, about) in [
        (vec![], "at least"),
        (vec![entry(0)], "session.created"),
        (vec![created(), entry(2)], "gap"),
        (vec![created(), created()], "twice"),
        (vec![created(), accepted(1, "e0", "x")], "id e0"),
        (
            vec![entry_at(
                1,
                "e1",
                0,
                EntryBody::SessionCreated { labels: None },
            )],
            "gap",
        ),
    ] {
        match now(store.create(&id, entries)) {
            Err(StoreError::Misuse { what, .. }) => assert!(what.contains(about), "{what}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(
        now(store.acquire(&id, Seq::ZERO)),
        Err(StoreError::Missing { .. })
    ));
    assert!(
        now(store.list(ListRequest::default()))
            .unwrap()
            .sessions
            .is_empty()
    );
    now(store.create(&id, vec![created()])).unwrap();
}

#[test]
fn s7_delete_is_refused_while_someone_holds_or_waits() {
    let (store, id) = store_with(vec![created()]);
    let holder = writer(&store, &id);
    let mut next = waiting(&store, &id);
    assert!(matches!(now(store.delete(&id)), Err(StoreError::Busy { session }) if session == id));
    drop(holder);
    assert!(
        matches!(now(store.delete(&id)), Err(StoreError::Busy { .. })),
        "granted, not yet taken"
    );
    drop(next.poll().unwrap());
    // Asked for, and first polled only when the session is gone.
    let late = store.acquire(&id, Seq::ZERO);
    now(store.delete(&id)).unwrap();
    assert!(matches!(now(late), Err(StoreError::Missing { .. })));
    now(store.create(&id, vec![created()])).unwrap();
    assert_eq!(journal(&store, &id).len(), 1);
}

#[test]
fn s8_clones_show_the_same_store() {
    let (store, id) = store_with(vec![created()]);
    let clone = store.clone();
    drop(store);
    assert_eq!(journal(&clone, &id), [created()]);
    let capabilities = clone.capabilities();
    assert!(!capabilities.shared && !capabilities.persistent);
    let kept = capabilities.with_persistent(true);
    assert!(kept.persistent && !kept.shared, "one process's, on a disk");
    assert!(kept.with_shared(true).shared);
}
