//! Whatever happens to a folder, a list shows what its journals read as.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use proptest::prelude::*;

use super::*;

const IDS: [&str; 5] = ["a", "b", "c", "user@example.org", "e"];

#[derive(Debug, Clone)]
enum Act {
    Create(usize, i64),
    Turn(usize, i64),
    Delete(usize),
    /// A holder is killed after a turn and in the middle of a line.
    Kill(usize, i64),
    /// Behind the store's back.
    Harm(usize, Harm),
    LoseIndex(IndexHarm),
    PowerLoss(BTreeSet<usize>),
    /// Nothing can be changed, for a list or for good.
    Forbid(Option<usize>),
    List(usize, usize),
    Reopen(usize),
}

#[derive(Debug, Clone, Copy)]
enum Harm {
    Flip(usize),
    Cut(usize),
    Append,
    Remove,
    /// Another session's journal, put in its place.
    Replace(usize),
}

#[derive(Debug, Clone, Copy)]
enum IndexHarm {
    Remove,
    Flip(usize),
    Cut(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let id = 0..IDS.len();
    let harm = prop_oneof![
        (0_usize..400).prop_map(Harm::Flip),
        (0_usize..400).prop_map(Harm::Cut),
        Just(Harm::Append),
        Just(Harm::Remove),
        (0..IDS.len()).prop_map(Harm::Replace),
    ];
    let index = prop_oneof![
        Just(IndexHarm::Remove),
        (0_usize..900).prop_map(IndexHarm::Flip),
        (0_usize..900).prop_map(IndexHarm::Cut),
    ];
    prop_oneof![
        4 => (id.clone(), 0_i64..9).prop_map(|(id, at)| Act::Create(id, at)),
        6 => (id.clone(), 0_i64..9).prop_map(|(id, at)| Act::Turn(id, at)),
        2 => id.clone().prop_map(Act::Delete),
        1 => (id.clone(), 0_i64..9).prop_map(|(id, at)| Act::Kill(id, at)),
        2 => (id.clone(), harm).prop_map(|(id, harm)| Act::Harm(id, harm)),
        1 => index.prop_map(Act::LoseIndex),
        1 => proptest::collection::btree_set(id, 0..3).prop_map(Act::PowerLoss),
        1 => proptest::option::of(0_usize..20).prop_map(Act::Forbid),
        8 => (0_usize..3, 1_usize..7).prop_map(|(lister, limit)| Act::List(lister, limit)),
        1 => (0_usize..3).prop_map(Act::Reopen),
    ]
}

struct Play {
    folder: tempfile::TempDir,
    lab: Lab,
    writer: Writer,
    listers: Vec<Lister>,
    bounds: Vec<Bounds>,
    boots: u128,
    /// Journals were changed in place since this lister has shown them.
    blind: [bool; 3],
}

impl Play {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (lab, writer) = (Lab::settled(), Writer::new(folder.path()));
        let lazy = Bounds {
            marks: 2,
            cleared: 1,
            per_unsaved: 2,
        };
        let bounds = vec![EAGER, lazy, Bounds::default()];
        let new = |bounds: &Bounds| Lister::new(&lab, folder.path(), *bounds);
        Self {
            listers: bounds.iter().map(new).collect(),
            folder,
            lab,
            writer,
            bounds,
            boots: 1,
            blind: [false; 3],
        }
    }

    fn act(&mut self, act: Act) {
        let there = |id: usize| self.writer.journal(IDS[id]).exists();
        match act {
            Act::Create(id, at) if !there(id) => self.writer.create(IDS[id], at),
            Act::Turn(id, at) if self.is_sound(id) => self.writer.turn(IDS[id], at, "hello"),
            Act::Delete(id) if there(id) => self.writer.delete(IDS[id]),
            Act::Kill(id, at) if self.is_sound(id) => {
                self.writer.turn(IDS[id], at, "before it was killed");
                self.append(id, b"{\"v\":1,\"seq\":");
            }
            Act::Harm(id, harm) if there(id) => self.harm(id, harm),
            Act::LoseIndex(harm) => self.lose_index(harm),
            Act::PowerLoss(ids) => {
                // Whatever of the marks the disk did not have yet.
                for id in ids {
                    let _ = fs::remove_file(self.writer.lock(IDS[id]));
                }
                self.boots += 1;
                self.lab.boot(Some(self.boots));
                (0..3).for_each(|lister| self.reopen(lister));
            }
            Act::Forbid(after) => self.lab.allow_changes(after),
            Act::List(lister, limit) => self.list(lister, limit),
            Act::Reopen(lister) => self.reopen(lister),
            Act::Create(..) | Act::Turn(..) | Act::Delete(_) | Act::Kill(..) | Act::Harm(..) => {}
        }
    }

    fn reopen(&mut self, lister: usize) {
        self.listers[lister] = Lister::new(&self.lab, self.folder.path(), self.bounds[lister]);
    }

    fn is_sound(&self, id: usize) -> bool {
        let truth = truth(self.folder.path());
        let found = truth.iter().find(|one| one.id.as_str() == IDS[id]);
        found.is_some_and(|one| one.error.is_none())
    }

    fn append(&self, id: usize, bytes: &[u8]) {
        use std::io::Write as _;
        let mut options = fs::File::options();
        let file = options.append(true).open(self.writer.journal(IDS[id]));
        file.unwrap().write_all(bytes).unwrap();
        self.writer.tick(IDS[id]);
    }

    fn harm(&mut self, id: usize, harm: Harm) {
        let journal = self.writer.journal(IDS[id]);
        let mut bytes = fs::read(&journal).unwrap();
        let at = |at: usize| at % bytes.len().max(1);
        match harm {
            Harm::Flip(byte) if !bytes.is_empty() => {
                let byte = at(byte);
                bytes[byte] ^= 4;
            }
            Harm::Cut(len) => bytes.truncate(at(len)),
            Harm::Append => bytes.extend(b"harm\n"),
            Harm::Remove => {
                // Its lock file stays, as after a delete that was killed.
                fs::remove_file(&journal).unwrap();
                return;
            }
            Harm::Replace(by) => match fs::read(self.writer.journal(IDS[by])) {
                Ok(others) => bytes = others,
                Err(_) => return,
            },
            Harm::Flip(_) => {}
        }
        fs::write(&journal, bytes).unwrap();
        self.writer.tick(IDS[id]);
        self.blind = [true; 3];
    }

    fn lose_index(&mut self, harm: IndexHarm) {
        let index = self.folder.path().join("list/index");
        let Ok(mut bytes) = fs::read(&index) else {
            return;
        };
        match harm {
            IndexHarm::Remove => return fs::remove_file(&index).unwrap(),
            IndexHarm::Flip(at) => {
                let at = at % bytes.len();
                bytes[at] ^= 1;
            }
            IndexHarm::Cut(len) => bytes.truncate(len % bytes.len()),
        }
        fs::write(&index, bytes).unwrap();
    }

    fn list(&mut self, lister: usize, limit: usize) {
        if std::mem::take(&mut self.blind[lister]) {
            // What was changed in place is found when it is shown.
            self.listers[lister].list(IDS.len() + 1);
        }
        assert_same(
            &self.listers[lister].list(limit),
            &truth(self.folder.path()),
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn s6_a_list_shows_exactly_what_is_there(script in proptest::collection::vec(act(), 1..40)) {
        let mut play = Play::new();
        for act in script {
            play.act(act);
        }
        for lister in 0..3 {
            play.list(lister, 2);
        }
        play.lab.allow_changes(None);
        play.list(0, 1);
    }
}

#[test]
fn s6_pages_fit_together_while_sessions_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for n in 0..9 {
        writer.create(&format!("s{n}"), n);
    }
    let lab = Lab::settled();
    let mut lister = Lister::new(&lab, folder.path(), EAGER);
    let (first, next) = lister.page(None, 3);
    assert_eq!(first.last().unwrap().id.as_str(), "s6");
    // The very session that the page ended with, one shown before, and one still to come.
    writer.delete("s6");
    writer.delete("s8");
    writer.delete("s4");
    writer.create("new", 20);
    writer.turn("s2", 21, "moves to the front");
    let ids = |(page, _): (Vec<SessionSummary>, _)| -> Vec<String> {
        page.into_iter().map(|one| one.id.to_string()).collect()
    };
    let expected = ["s5", "s3", "s1"];
    assert_eq!(ids(lister.page(next.as_ref(), 3)), expected);
    // A place means the same to every store of the folder.
    let mut other = Lister::new(&lab, folder.path(), Bounds::default());
    assert_eq!(ids(other.page(next.as_ref(), 3)), expected);
    assert_eq!(lister.ids(2), ["s2", "new"]);
}

/// Rows that look moved them are shown where they belong, and a page still has as many as it can.
#[test]
fn s6_a_page_is_made_again_where_looking_at_its_rows_moved_them() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for n in 0..30 {
        writer.create(&format!("s{n:02}"), 100 + n);
    }
    let lab = Lab::settled();
    let mut lister = Lister::new(&lab, folder.path(), EAGER);
    lister.ids(1);
    // The journals of the newest sessions are replaced by older ones, without a lock.
    for n in 3..30 {
        let at = 50 - n;
        let made = Writer::new(&folder.path().join("elsewhere"));
        made.create("x", at);
        fs::rename(made.journal("x"), writer.journal(&format!("s{n:02}"))).unwrap();
    }
    let (page, next) = lister.page(None, 2);
    let ids: Vec<_> = page.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(
        ids,
        ["s02", "s01"],
        "more were moved than a page is made again"
    );
    assert!(next.is_some());
    assert_same(&lister.list(4), &truth(folder.path()));
}

/// Holders against lists that take every mark away: two holders never coexist, and all that was written is there.
#[test]
fn s5_two_holders_never_coexist_however_often_marks_go() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 60;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let lab = Lab::settled();
    let held: [AtomicBool; IDS.len()] = Default::default();
    let cleared = AtomicUsize::new(0);
    for id in IDS {
        Writer::new(path).create(id, 1);
    }
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (held, cleared, lab) = (&held, &cleared, &lab);
            scope.spawn(move || {
                let (writer, mut lister) = (Writer::new(path), Lister::new(lab, path, EAGER));
                for round in 0..ROUNDS {
                    // Now all of them want the same session, now each another one.
                    let at = (round + thread * (round / 8 % 2)) % IDS.len();
                    let mut acquired = writer.acquire(IDS[at]);
                    assert!(!held[at].swap(true, Ordering::SeqCst), "two holders");
                    writer.write(IDS[at], &mut acquired, 2, "hello");
                    assert!(held[at].swap(false, Ordering::SeqCst));
                    drop(acquired);
                    lister.ids(9);
                    let unmarked = lister.index.rows().iter().filter(|row| !row.marked);
                    cleared.fetch_add(unmarked.count(), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(cleared.load(Ordering::Relaxed) > 0, "no mark ever went");
    let list = truth(path);
    let recorded: u64 = list.iter().map(|one| one.turns).sum();
    assert_eq!(recorded, (THREADS * ROUNDS) as u64);
    assert!(list.iter().all(|one| one.error.is_none()));
    assert_same(&Lister::new(&lab, path, EAGER).list(1), &list);
}

/// The same with sessions that are deleted and made anew all the time.
#[test]
fn s6_sessions_made_anew_are_listed_however_often_marks_go() {
    const ROUNDS: usize = 80;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let lab = Lab::settled();
    let mut judge = Lister::new(&lab, path, EAGER);
    let writer = Writer::new(path);
    let busy = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let (lab, busy) = (&lab, &busy);
        let _done = Done(busy);
        for _ in 0..2 {
            scope.spawn(move || {
                let mut lister = Lister::new(lab, path, EAGER);
                while busy.load(Ordering::Relaxed) {
                    lister.ids(9);
                }
            });
        }
        for round in 0..ROUNDS {
            let at = 10 + round as i64;
            if writer.journal("a").exists() {
                writer.delete("a");
            } else {
                writer.create("a", 0);
            }
            if round % 4 == 1 {
                writer.create(&format!("s{round}"), at);
            }
            // Nobody writes now: each list has to be right.
            assert_same(&judge.list(3), &truth(path));
        }
    });
}

/// Ends the others, also where this thread's assertions fail.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
