//! The laws that only a process of its own can prove: S2, S5 and S7 where others are killed, many, or out of room.

use std::{path::PathBuf, sync::Arc};

use chat_core::{ListRequest, Seq, Store};
use futures_util::{FutureExt as _, future::BoxFuture};
use tempfile::TempDir;

use super::{
    OtherProcess, StorePlace,
    parts::{EACH, TASKS, TURNS, run},
};
use crate::{
    entries::{completed, created, read, script, session, waits, write},
    files,
};

/// A place for one law.
struct Bench<'a> {
    stores: &'a dyn StorePlace,
    folder: TempDir,
    place: PathBuf,
}

/// One law.
struct Law {
    name: &'static str,
    run: for<'a> fn(Bench<'a>) -> BoxFuture<'a, ()>,
}

macro_rules! table {
    ([] $($law:ident)*) => {
        const LAWS: &[Law] = &[$(Law { name: stringify!($law), run: |bench| $law(bench).boxed() }),*];
    };
}

crate::__each_process_law!([table]);

/// Runs one law of processes, in a folder of its own.
///
/// Brings its own runtime: call it outside of any.
///
/// # Panics
/// Where the store breaks it; where there is no law of this name.
pub fn check_process_law(name: &str, stores: &impl StorePlace) {
    let law = LAWS.iter().find(|law| law.name == name);
    let law = law.unwrap_or_else(|| panic!("there is no law {name}"));
    run((law.run)(Bench::new(stores)));
}

impl<'a> Bench<'a> {
    fn new(stores: &'a dyn StorePlace) -> Self {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        let place = stores.place(folder.path());
        Self {
            stores,
            folder,
            place,
        }
    }

    fn open(&self) -> Arc<dyn Store> {
        self.stores.open(&self.place).expect("it can be opened")
    }

    /// Starts processes which all wait for a name, and lets them begin at once.
    fn start_all<const N: usize>(&self, part: &str, names: [&str; N]) -> [OtherProcess; N] {
        let mut others = names.map(|_| OtherProcess::start(part, &self.place));
        others.iter_mut().for_each(|other| other.says("ready"));
        let each = others.iter_mut().zip(names);
        each.for_each(|(other, name)| other.tell(name));
        others
    }

    /// Runs processes which all wait for a name, from one moment to their end.
    fn run_all<const N: usize>(&self, part: &str, names: [&str; N]) {
        for mut other in self.start_all(part, names) {
            other.says("done");
            other.end();
        }
    }
}

async fn s2_what_a_killed_writer_acknowledged_is_there_and_the_next_append_is_sound(
    bench: Bench<'_>,
) {
    let id = session("s");
    let created = bench.open().create(&id, script()).await;
    created.expect("its id is free");
    for round in 0..6 {
        // Where nobody else has it open, the next one to open it finds what was left as it is.
        let beside = (round % 2 == 0).then(|| bench.open());
        let mut other = OtherProcess::start("write", &bench.place);
        let acknowledged = (0..20).map(|_| other.answer()).last();
        let acknowledged = acknowledged.and_then(|seq| seq.parse::<usize>().ok());
        let acknowledged = acknowledged.expect("it says the places");
        other.kill();
        let store = beside.unwrap_or_else(|| bench.open());
        let acquired = store.acquire(&id, Seq::ZERO).await;
        let mut acquired = acquired.expect("the session is free");
        let next = acquired.entries.len();
        assert!(
            next > acknowledged,
            "entry {acknowledged} was acknowledged, and {next} are there"
        );
        write(&mut acquired.writer, completed(next as u64, "w")).await;
        drop(acquired);
        let seen = read(&store, &id).await;
        assert!(seen.torn.is_none() && seen.error.is_none(), "{seen:?}");
        assert_eq!(seen.entries.len(), next + 1);
    }
}

async fn s5_c23_two_processes_write_one_session_one_turn_at_a_time(bench: Bench<'_>) {
    let (store, id) = (bench.open(), session("s"));
    let created = store.create(&id, vec![created()]).await;
    created.expect("its id is free");
    bench.run_all("turns", ["one", "two"]);
    let seen = read(&store, &id).await;
    assert!(seen.torn.is_none() && seen.error.is_none(), "{seen:?}");
    let turns = seen.entries[1..].chunks(2).map(|turn| {
        let [accepted, completed] = turn else {
            panic!("a turn of one entry: {turn:?}")
        };
        let (turn, outcome) = (accepted.body().turn_id(), completed.body().turn_id());
        assert_eq!(turn, outcome, "no turn within another");
        turn.expect("it is of a turn").as_str()
    });
    let turns: Vec<&str> = turns.collect();
    for name in ["one", "two"] {
        let own = turns.iter().filter(|turn| turn.starts_with(name)).copied();
        let expected = (0..TURNS).map(|turn| format!("{name}-{turn}"));
        assert!(own.eq(expected), "each of them is there once: {turns:?}");
    }
    // Nobody starves: of the turns until the first one is done, the other had at least a third.
    let slower = &turns[turns.len() - 1][..3];
    let is_slower = |turn: &&str| turn.starts_with(slower);
    let both = turns.iter().rposition(|turn| !is_slower(turn)).unwrap_or(0);
    let had = turns[..both].iter().copied().filter(is_slower).count();
    assert!(had * 3 >= both, "the slower one had {had} of {both} turns");
}

async fn s5_c24_a_killed_holders_hold_is_free_at_once(bench: Bench<'_>) {
    let (store, id) = (bench.open(), session("s"));
    let created = store.create(&id, script()).await;
    created.expect("its id is free");
    for round in 0..3 {
        let mut other = OtherProcess::start("hold", &bench.place);
        other.says("held");
        assert!(store.is_held(&id).await.expect("it can be asked"));
        let mut acquire = store.acquire(&id, Seq(3));
        assert!(waits(&mut acquire).await, "two holders at once");
        let seen = read(&store, &id).await;
        assert_eq!(
            seen.entries.len(),
            4 + round,
            "reading does not wait for it"
        );
        assert!(waits(&mut acquire).await, "two holders at once");
        other.kill();
        let acquired = acquire.await.expect("the session is free");
        let last = acquired.entries.last().map(|entry| entry.id().to_string());
        assert_eq!(last, Some(format!("e{}-held", 3 + round)));
        assert_eq!(acquired.torn, None);
    }
    let mut other = OtherProcess::start("hold", &bench.place);
    other.says("held");
    let acquire = store.acquire(&id, Seq(3));
    other.tell("let go");
    acquire.await.expect("the session is free");
    other.end();
}

#[cfg(unix)]
async fn s7_c25_c34_a_full_disk_is_a_typed_error_and_sound_again_when_there_is_room(
    bench: Bench<'_>,
) {
    let program = crate::limits::program_past_file_size();
    let mut other = OtherProcess::start_by(program, "full", &bench.place);
    other.says("done");
    other.end();
}

/// No limit stands in for a full disk here.
#[cfg(not(unix))]
async fn s7_c25_c34_a_full_disk_is_a_typed_error_and_sound_again_when_there_is_room(_: Bench<'_>) {
    use std::io::Write as _;

    let _ = writeln!(
        std::io::stderr(),
        "not claimed: the system has no limit on the size of files"
    );
}

async fn s7_c29_many_tasks_of_many_processes_meet_no_busy_store(bench: Bench<'_>) {
    let names = ["a", "b", "c", "d"];
    bench.run_all("many", names);
    let store = bench.open();
    for name in names {
        for task in 0..TASKS {
            let seen = read(&store, &session(&format!("{name}-{task}"))).await;
            assert!(seen.torn.is_none() && seen.error.is_none(), "{seen:?}");
            assert_eq!(seen.entries.len() as u64, 1 + 2 * EACH);
        }
    }
    let mut request = ListRequest::default();
    let mut listed = 0;
    loop {
        let page = store.list(request.clone()).await;
        let page = page.expect("sessions can be listed");
        assert!(page.sessions.iter().all(|shown| shown.error.is_none()));
        listed += page.sessions.len();
        assert!(listed <= names.len() * TASKS, "the list never ends");
        match page.next {
            Some(next) => request.after = Some(next),
            None => break,
        }
    }
    assert_eq!(listed, names.len() * TASKS);
}

async fn s7_c29_eight_processes_open_a_store_for_the_first_time_at_once(bench: Bench<'_>) {
    let names = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
    let mut expected = None;
    for round in ["one after the other", "at once", "far below", "begun"] {
        let mut bench = Bench::new(bench.stores);
        match round {
            // What is there when nobody was in anybody's way.
            "one after the other" => names
                .iter()
                .for_each(|name| bench.run_all("first", [*name])),
            "far below" => bench.place = bench.stores.place(&bench.folder.path().join("below/it")),
            "begun" => bench.stores.begin(&bench.place),
            _ => {}
        }
        if expected.is_some() {
            bench.run_all("first", names);
        }
        let above = bench.place.parent().expect("a store stands in a folder");
        let paths = files::all_below(above).into_iter().map(|path| {
            let below = path.strip_prefix(above);
            below.expect("it is below").to_owned()
        });
        let left: Vec<PathBuf> = paths.collect();
        assert_eq!(*expected.get_or_insert(left.clone()), left, "{round}");

        let listed = bench.open().list(ListRequest::default()).await;
        let listed = listed.expect("sessions can be listed").sessions;
        assert_eq!(listed.len(), names.len(), "{round}");
        assert!(listed.iter().all(|shown| shown.error.is_none()), "{round}");
    }
}
