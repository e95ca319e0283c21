//! Taking marks away: never from under a holder, and never before the saved index can do without them.

use super::*;
use crate::{
    create::{self, Created},
    hold::{self, Attempt, Hold, Waiting},
    name::Paths,
};

pub(super) struct Scene {
    pub(super) folder: tempfile::TempDir,
    pub(super) lab: Lab,
    pub(super) writer: Writer,
}

/// Sessions `a`, `b` and `c`, each with a turn.
pub(super) fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for (at, id) in ["a", "b", "c"].into_iter().enumerate() {
        writer.create(id, at as i64);
        writer.turn(id, at as i64, "hello");
    }
    Scene {
        folder,
        lab: Lab::settled(),
        writer,
    }
}

impl Scene {
    pub(super) fn lister(&self) -> Lister {
        Lister::new(&self.lab, self.folder.path(), EAGER)
    }

    fn paths(&self, id: &str) -> Paths {
        let folder = Folder {
            files: Arc::new(self.lab.clone()),
            path: self.folder.path().to_owned(),
        };
        Paths::new(&folder, &session(id))
    }

    pub(super) fn marked(&self) -> Vec<&str> {
        let ids = ["a", "b", "c"].into_iter();
        ids.filter(|id| self.writer.lock(id).exists()).collect()
    }

    fn turnstiles(&self) -> usize {
        let names = fs::read_dir(self.folder.path()).unwrap();
        let names = names.map(|name| name.unwrap().path());
        names
            .filter(|path| {
                path.extension()
                    .is_some_and(|ending| ending.to_string_lossy().starts_with("turn"))
            })
            .count()
    }
}

#[test]
fn s6_marks_of_sessions_that_nobody_holds_are_taken_away() {
    let scene = scene();
    let mut held = scene.writer.acquire("b");
    let mut lister = scene.lister();
    lister.ids(9);
    assert_eq!(scene.marked(), ["b"]);
    assert_eq!(scene.turnstiles(), 1);
    scene.writer.write("b", &mut held, 10, "still held");
    assert_eq!(lister.ids(1), ["b"]);
    // Whoever waits makes the rest of the lock files.
    assert!(attempt(&scene.paths("b")).is_none());
    assert!(scene.turnstiles() > 1);
    drop(held);
    lister.ids(1);
    assert_eq!((scene.marked(), scene.turnstiles()), (vec![], 0));
    scene.writer.turn("a", 11, "again");
    assert_same(&lister.list(1), &truth(scene.folder.path()));
}

#[test]
fn s6_marks_are_left_alone_while_they_are_few_and_the_oldest_go_first() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for n in 0..20 {
        writer.create(&format!("s{n:02}"), n);
    }
    let marked = || {
        (0..20)
            .filter(|n| writer.lock(&format!("s{n:02}")).exists())
            .collect::<Vec<_>>()
    };
    let lab = Lab::settled();
    let bounds = |marks, cleared| Bounds {
        marks,
        cleared,
        ..EAGER
    };
    Lister::new(&lab, folder.path(), bounds(20, 100)).ids(1);
    assert_eq!(marked().len(), 20);
    Lister::new(&lab, folder.path(), bounds(10, 4)).ids(1);
    assert_eq!(marked(), (4..20).collect::<Vec<_>>(), "so many per list");
    Lister::new(&lab, folder.path(), bounds(10, 100)).ids(1);
    assert_eq!(marked(), (15..20).collect::<Vec<_>>(), "those in use stay");
}

/// Whoever opened the lock file before it was removed locks one that has no name any more, and looks again.
#[test]
fn s5_who_takes_the_hold_while_a_mark_goes_gets_the_lock_at_the_path() {
    for ending in ["b.turn", "b.lock"] {
        let scene = scene();
        let path = if ending == "b.turn" {
            scene.paths("b").turnstile()
        } else {
            scene.paths("b").lock()
        };
        let mut lister = scene.lister();
        scene.lab.before(Asked::Lock, ending, {
            // Nested: the lister has the same file system, whose hook is used up by now.
            move || {
                lister.ids(9);
            }
        });
        let locked = hold::try_lock(&scene.lab, &path).unwrap().unwrap();
        assert!(hold::is_at(&scene.lab, &*locked, &path).unwrap());
        assert_eq!(scene.writer.is_held("b"), ending == "b.lock");
    }
}

/// While a mark goes, who wants the hold waits for a moment, and who asks whether it is held is told that it is not.
#[test]
fn s5_nobody_takes_the_hold_in_the_middle_of_it() {
    for ending in ["b.lock", "b.turn"] {
        let scene = scene();
        let (turnstile, lock) = (scene.paths("b").turnstile(), scene.paths("b").lock());
        let path = scene.folder.path().to_owned();
        let lab = scene.lab.clone();
        scene.lab.before(Asked::Remove, ending, move || {
            // Whoever is next gets to the lock by the turnstile alone.
            assert!(hold::try_lock(&lab, &turnstile).unwrap().is_none());
            if ending == "b.lock" {
                assert!(hold::try_lock(&lab, &lock).unwrap().is_none());
            }
            assert!(!Writer::new(&path).is_held("b"));
        });
        scene.lister().ids(9);
        assert!(scene.lab.is_used_up());
        scene.writer.turn("b", 10, "then it can");
        assert_same(&scene.lister().list(9), &truth(scene.folder.path()));
    }
}

/// The index's folder may be removed at any moment, its lock with it: then two take marks away at once.
#[test]
fn s5_nobody_loses_the_hold_to_two_who_take_the_mark_away() {
    let moments = [
        (Asked::Look, "b.lock"),
        (Asked::Lock, "b.turn"),
        (Asked::Look, "b.turn"),
        (Asked::Lock, "b.lock"),
        (Asked::Remove, "b.lock"),
        (Asked::Remove, "b.turn"),
    ];
    for (asked, ending) in moments {
        let scene = scene();
        let (path, lab, paths) = (
            scene.folder.path().to_owned(),
            scene.lab.clone(),
            scene.paths("b"),
        );
        let (send, holds) = std::sync::mpsc::channel();
        scene.lab.before(asked, ending, move || {
            fs::remove_dir_all(path.join("list")).unwrap();
            Lister::new(&lab, &path, EAGER).ids(9);
            send.send(attempt(&paths)).unwrap();
        });
        scene.lister().ids(9);
        let first = holds.recv().unwrap();
        let second = attempt(&scene.paths("b"));
        let holds: Vec<_> = [first, second].into_iter().flatten().collect();
        assert_eq!(holds.len(), 1, "holders, at {asked:?} of {ending}");
        assert!(holds[0].is_ours(&scene.paths("b")).unwrap());
        assert!(scene.writer.is_held("b"));
    }
}

/// The hold, where it is to be had at once.
fn attempt(paths: &Paths) -> Option<Hold> {
    let (front, _interest) = hold::Sessions::new(0).try_front(&session("b")).unwrap();
    match Waiting::new(paths.clone(), front, |hold, _| Ok(hold)).attempt() {
        Ok(Attempt::Done(hold)) => Some(hold.expect("the session is there")),
        Ok(Attempt::Again(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn s6_a_mark_stays_with_a_turnstile_that_someone_waits_at() {
    let scene = scene();
    let waiting = hold::try_lock(&scene.lab, &scene.paths("b").turnstile());
    let waiting = waiting.unwrap().unwrap();
    scene.lister().ids(9);
    assert_eq!(scene.marked(), ["b"]);
    assert!(hold::is_at(&scene.lab, &*waiting, &scene.paths("b").turnstile()).unwrap());
}

#[test]
fn s6_a_mark_stays_where_the_journal_was_written_since_it_was_read() {
    let scene = scene();
    // After the index was saved, and before any mark goes.
    let path = scene.folder.path().to_owned();
    scene.lab.before(Asked::Lock, "c.turn", move || {
        Writer::new(&path).turn("c", 10, "in between");
    });
    let mut lister = scene.lister();
    lister.ids(9);
    assert_eq!(scene.marked(), ["c"]);
    assert_eq!(lister.ids(1), ["c"]);
}

#[test]
fn s6_a_mark_stays_where_a_session_was_made_anew() {
    let scene = scene();
    let path = scene.folder.path().to_owned();
    scene.lab.before(Asked::Lock, "c.lock", move || {
        let other = Writer::new(&path);
        other.delete("b");
        other.create("b", 10);
    });
    let mut lister = scene.lister();
    lister.ids(9);
    assert_eq!(scene.marked(), ["b"]);
    assert_same(&lister.list(1), &truth(scene.folder.path()));
}

/// A session of the same id, made between two lists: not new by its name, and nobody held it.
#[test]
fn s6_c28_a_session_made_anew_stands_where_it_belongs() {
    let scene = scene();
    let mut lister = scene.lister();
    assert_eq!(lister.ids(9), ["c", "b", "a"]);
    scene.writer.delete("a");
    scene.writer.create("a", 10);
    assert_eq!(scene.marked(), ["a"]);
    assert_eq!(lister.ids(1), ["a"]);
    assert_eq!(scene.lister().ids(1), ["a"]);
}

/// A delete that has removed the journal still has to remove the lock file: it must not take the new session's mark.
#[test]
fn s6_a_session_is_not_made_anew_while_its_delete_is_ending() {
    let scene = scene();
    let paths = scene.paths("b");
    let deleting = hold::try_lock(&scene.lab, &paths.lock()).unwrap().unwrap();
    fs::remove_file(paths.journal()).unwrap();
    let first = [entry(0, 10, EntryBody::SessionCreated { labels: None })];
    let create = || create::create(&session("b"), &paths, Durability::Os, &first);
    assert!(matches!(create(), Ok(Created::Again)), "it waits");
    fs::remove_file(paths.lock()).unwrap();
    drop(deleting);
    assert!(matches!(create(), Ok(Created::Done)));
    assert!(paths.lock().exists());
    assert!(matches!(create(), Err(chat_core::StoreError::Taken { .. })));
}

#[test]
fn s6_a_create_that_fails_leaves_no_mark_unless_there_is_a_session() {
    let scene = scene();
    let paths = scene.paths("new");
    let first = [entry(0, 10, EntryBody::SessionCreated { labels: None })];
    let create = || create::create(&session("new"), &paths, Durability::Os, &first);
    let folder = scene.folder.path().to_owned();
    scene.lab.before(Asked::Link, "new.jsonl", move || {
        let names = fs::read_dir(folder)
            .unwrap()
            .map(|name| name.unwrap().path());
        let temporary = names.filter(|path| path.to_string_lossy().contains(".tmp-"));
        temporary.for_each(|path| fs::remove_file(path).unwrap());
    });
    assert!(create().is_err());
    assert!(!paths.lock().exists());

    let journal = paths.journal();
    let others = scene.writer.journal("a");
    scene.lab.before(Asked::Link, "new.jsonl", move || {
        // By a program that takes no locks.
        fs::copy(others, journal).unwrap();
    });
    assert!(matches!(create(), Err(chat_core::StoreError::Taken { .. })));
    assert!(paths.lock().exists());
}

/// What is being written is locked by its creator: another that clears up leaves it alone.
#[test]
fn s7_a_journal_that_is_being_created_is_not_cleaned_up() {
    let scene = scene();
    let paths = scene.paths("new");
    let first = [entry(0, 10, EntryBody::SessionCreated { labels: None })];
    let folder = Folder {
        files: Arc::new(Disk),
        path: scene.folder.path().to_owned(),
    };
    scene.lab.before(Asked::Link, "new.jsonl", move || {
        create::clean_up(&folder).unwrap();
    });
    let created = create::create(&session("new"), &paths, Durability::Os, &first);
    assert!(matches!(created, Ok(Created::Done)), "{created:?}");
    assert!(scene.lab.is_used_up());
}

/// Where one of the two files is another by now, someone may be at it.
#[test]
fn s5_a_mark_stays_where_its_files_were_replaced_in_this_moment() {
    for replaced in ["b.turn", "b.lock"] {
        let scene = scene();
        let path = scene.folder.path().join(replaced);
        let (lab, (send, theirs)) = (scene.lab.clone(), std::sync::mpsc::channel());
        scene.lab.before(Asked::Lock, "b.lock", move || {
            fs::remove_file(&path).unwrap();
            send.send(hold::try_lock(&lab, &path).unwrap().unwrap())
                .unwrap();
        });
        scene.lister().ids(9);
        let theirs = theirs.recv().unwrap();
        let path = scene.folder.path().join(replaced);
        assert!(hold::is_at(&scene.lab, &*theirs, &path).unwrap());
        assert_eq!(scene.marked(), ["b"], "{replaced}");
    }
}
