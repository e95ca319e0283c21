//! What is believed of an index, and what a list costs then.

use super::*;

#[test]
fn s6_a_page_opens_no_journal_that_was_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for n in 0..40 {
        writer.create(&format!("s{n:02}"), n);
    }
    let lab = Lab::settled();
    let mut lister = Lister::new(&lab, folder.path(), EAGER);
    lister.ids(5);
    assert_eq!(lab.take_counts().1, 40, "each is read once");

    // The marks are gone by now, and that they went has changed the folder: the names are read once more.
    assert_eq!(lister.ids(5), ["s39", "s38", "s37", "s36", "s35"]);
    let (changes, opened, looks) = lab.take_counts();
    assert_eq!(opened, 0);
    assert!(looks < 15, "the folder's and those of a page: {looks}");
    assert_eq!(changes, 0, "nothing is saved that costs less to find");

    writer.turn("s07", 100, "hello");
    let first = lister.ids(2);
    assert_eq!(
        (first, lab.take_counts().1),
        (vec!["s07".into(), "s39".into()], 1)
    );

    // Another store, over the index that was saved.
    let mut other = Lister::new(&lab, folder.path(), EAGER);
    assert_eq!(other.ids(1), ["s07"]);
    assert_eq!(lab.take_counts().1, 0);
    assert_same(&other.list(7), &truth(folder.path()));
}

#[test]
fn s6_names_are_not_read_again_while_the_folder_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for n in 0..5 {
        writer.create(&format!("s{n}"), n);
    }
    // No marks are taken away: the folder stays as it is, and sessions that are written again are found by their marks.
    let lab = Lab::settled();
    let mut lister = Lister::new(&lab, folder.path(), Bounds::default());
    lister.ids(9);
    // The folder of the index was new.
    lister.ids(9);
    let forbid = || lab.before(Asked::Names, "", || panic!("names were read"));
    forbid();
    assert_eq!(lister.ids(1), ["s4"]);
    // The turnstile of a first turn is a new name; that of a second is not.
    lab.before(Asked::Names, "", || {});
    writer.turn("s0", 10, "one");
    assert_eq!(lister.ids(1), ["s0"]);
    writer.turn("s0", 11, "two");
    forbid();
    assert_same(&lister.list(9), &truth(folder.path()));

    // A process that begins finds all of it in the file.
    let mut fresh = Lister::new(&lab, folder.path(), Bounds::default());
    assert_same(&fresh.list(2), &truth(folder.path()));
}

#[test]
fn s6_a_folder_whose_time_is_of_this_moment_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    writer.create("a", 1);
    let lab = Lab::settled();
    lab.set_ahead(Duration::ZERO);
    let mut lister = Lister::new(&lab, folder.path(), Bounds::default());
    assert_eq!(lister.ids(9), ["a"]);
    // All of it may be within one tick of the clock.
    for n in 0..50 {
        writer.create(&format!("s{n}"), n + 2);
        assert_eq!(lister.ids(1), [format!("s{n}")]);
    }
}

#[test]
fn s6_a_file_whose_time_is_of_this_moment_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    writer.create("a", 1);
    writer.turn("a", 2, "hello");
    let lab = Lab::settled();
    lab.set_ahead(Duration::ZERO);
    let mut lister = Lister::new(&lab, folder.path(), EAGER);
    let text = fs::read(writer.journal("a")).unwrap();
    for at in (0..text.len() - 1).step_by(11) {
        assert!(lister.list(9)[0].error.is_none());
        let mut harmed = text.clone();
        harmed[at] ^= 1;
        fs::write(writer.journal("a"), harmed).unwrap();
        assert!(lister.list(9)[0].error.is_some(), "bit of byte {at}");
        fs::write(writer.journal("a"), &text).unwrap();
    }
}

/// A loss of power may keep what was synced under a mark and lose the mark.
#[test]
fn s6_after_another_start_of_the_machine_every_row_is_looked_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for n in 0..6 {
        writer.create(&format!("s{n}"), n);
    }
    let lab = Lab::settled();
    lab.hide_changed();
    Lister::new(&lab, folder.path(), EAGER).ids(9);
    writer.turn("s2", 10, "hello");
    fs::remove_file(writer.lock("s2")).unwrap();
    let mut believing = Lister::new(&lab, folder.path(), EAGER);
    assert_eq!(
        believing.ids(1),
        ["s5"],
        "a lost mark is not found by the names"
    );

    lab.boot(Some(2));
    lab.take_counts();
    let mut lister = Lister::new(&lab, folder.path(), EAGER);
    assert_eq!(lister.ids(1), ["s2"]);
    assert_eq!(lab.take_counts().1, 1, "only what differs is read");
    lister.ids(1);
    assert!(lab.take_counts().2 < 6, "once");

    // Where the system doesn't tell, no file is believed.
    writer.turn("s1", 11, "hello");
    fs::remove_file(writer.lock("s1")).unwrap();
    lab.boot(None);
    assert_eq!(Lister::new(&lab, folder.path(), EAGER).ids(1), ["s1"]);
    // Nor does it help to save it again and again.
    lab.take_counts();
    assert_eq!(
        Lister::new(&lab, folder.path(), Bounds::default()).ids(1),
        ["s1"]
    );
    assert_eq!(lab.take_counts().0, 0);
}

/// What was not synced may have its length and its time on the disk, and not its content.
#[test]
fn s6_what_was_just_written_before_a_loss_of_power_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for n in 0..4 {
        writer.create(&format!("s{n}"), n);
    }
    fs::File::options()
        .write(true)
        .open(writer.journal("s2"))
        .and_then(|file| file.set_modified(SystemTime::now()))
        .unwrap();
    let lab = Lab::settled();
    lab.hide_changed();
    Lister::new(&lab, folder.path(), EAGER).ids(9);
    lab.take_counts();
    Lister::new(&lab, folder.path(), EAGER).ids(9);
    assert_eq!(lab.take_counts().1, 0);
    lab.boot(Some(2));
    Lister::new(&lab, folder.path(), EAGER).ids(9);
    assert_eq!(lab.take_counts().1, 1);
    Lister::new(&lab, folder.path(), EAGER).ids(9);
    assert_eq!(lab.take_counts().1, 0);
}

/// An error that goes is told, or made up for by a look, and leaves nothing behind.
#[test]
fn s6_an_error_that_goes_leaves_no_trace() {
    let cases = [
        (Asked::Look, ""),
        (Asked::Names, ""),
        (Asked::Open, "index"),
        (Asked::Look, "list"),
        (Asked::Lock, "lock"),
        (Asked::Rename, "index"),
        (Asked::Look, "s1.jsonl"),
        (Asked::Open, "s1.jsonl"),
        (Asked::Lock, "s2.turn"),
        (Asked::Lock, "s2.lock"),
        (Asked::Remove, "s2.lock"),
    ];
    for (asked, ending) in cases {
        let folder = tempfile::tempdir().unwrap();
        let writer = Writer::new(folder.path());
        for n in 0..4 {
            writer.create(&format!("s{n}"), n);
        }
        let lab = Lab::settled();
        let mut lister = Lister::new(&lab, folder.path(), EAGER);
        lister.ids(9);
        writer.turn("s1", 10, "hello");
        writer.turn("s2", 11, "hello");
        lab.fail(asked, ending);
        let request = ListRequest::default();
        let told = list::page(&mut lister.index, &lister.folder, &request);
        assert!(lab.is_used_up(), "{asked:?} {ending}");
        let told = match told {
            Ok(page) => page.sessions.iter().any(|one| one.error.is_some()),
            Err(_) => true,
        };
        let tells = matches!((asked, ending), (_, "") | (Asked::Open, "s1.jsonl"));
        assert_eq!(told, tells, "{asked:?} {ending}");
        assert_same(&lister.list(1), &truth(folder.path()));
        assert_same(
            &Lister::new(&lab, folder.path(), EAGER).list(1),
            &truth(folder.path()),
        );
    }
}

#[test]
fn s6_a_copied_folder_does_not_believe_the_index_it_came_with() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let writer = Writer::new(&from);
    for n in 0..4 {
        writer.create(&format!("s{n}"), n);
    }
    let lab = Lab::settled();
    Lister::new(&lab, &from, EAGER).ids(9);
    fs::create_dir_all(to.join("list")).unwrap();
    for name in ["s0", "s1", "s2", "s3"] {
        fs::copy(writer.journal(name), to.join(name).with_extension("jsonl")).unwrap();
    }
    fs::copy(from.join("list/index"), to.join("list/index")).unwrap();
    // Restored from before the last list.
    let copied = Writer::new(&to);
    copied.turn("s1", 10, "hello");
    fs::remove_file(copied.lock("s1")).unwrap();
    assert_eq!(Lister::new(&lab, &to, EAGER).ids(1), ["s1"]);
}

/// A program that copies takes no locks: what a list sees of the copy in the middle is put right by the next.
#[test]
fn s6_c28_a_journal_that_was_listed_while_it_was_copied_in_is_put_right() {
    let root = tempfile::tempdir().unwrap();
    let other = Writer::new(&root.path().join("other"));
    other.create("z", -5);
    other.turn("z", 100, "newest of all");
    let whole = fs::read(other.journal("z")).unwrap();
    for (n, ahead) in [0, 3600].into_iter().enumerate() {
        for end in (1..whole.len()).step_by(29) {
            // One that rests between two lines for long is a journal like any other.
            if ahead > 0 && whole[end - 1] == b'\n' {
                continue;
            }
            let path = root.path().join(format!("{n}-{end}"));
            let writer = Writer::new(&path);
            writer.create("a", 1);
            let lab = Lab::settled();
            lab.set_ahead(Duration::from_secs(ahead));
            let mut lister = Lister::new(&lab, &path, EAGER);
            fs::write(path.join("z.jsonl"), &whole[..end]).unwrap();
            lister.ids(9);
            fs::write(path.join("z.jsonl"), &whole).unwrap();
            assert_eq!(lister.ids(1), ["z"], "cut at {end}");
            let mut fresh = Lister::new(&lab, &path, EAGER);
            assert_eq!(fresh.ids(1), ["z"], "cut at {end}");
        }
    }
}

/// However it got here: the same file in the same start of the machine, and of other sessions.
#[test]
fn s6_s4_the_index_of_another_folder_is_not_believed() {
    type Way = fn(&Path, &Path) -> std::io::Result<()>;
    let ways: [(&str, Way); 4] = [
        ("link to the folder", |from, to| {
            std::os::unix::fs::symlink(from, to)
        }),
        ("moved folder", |from, to| fs::rename(from, to)),
        ("moved file", |from, to| {
            fs::create_dir(to)?;
            fs::rename(from.join("index"), to.join("index"))
        }),
        ("second name", |from, to| {
            fs::create_dir(to)?;
            fs::hard_link(from.join("index"), to.join("index"))
        }),
    ];
    for (way, bring) in ways {
        let root = tempfile::tempdir().unwrap();
        let (theirs, ours) = (root.path().join("theirs"), root.path().join("ours"));
        let lab = Lab::settled();
        for path in [&theirs, &ours] {
            let writer = Writer::new(path);
            for n in 0..3 {
                writer.create(&format!("s{n}"), n);
            }
            if path == &ours {
                writer.turn("s0", 50, "newest here");
            }
            // No session is marked from here on.
            Lister::new(&lab, path, EAGER).ids(9);
        }
        fs::remove_dir_all(ours.join("list")).unwrap();
        bring(&theirs.join("list"), &ours.join("list")).unwrap();
        for _ in 0..2 {
            let listed = Lister::new(&lab, &ours, EAGER).list(1);
            assert_same(&listed, &truth(&ours));
        }
        let listed = Lister::new(&lab, &theirs, EAGER).list(1);
        assert_same(&listed, &truth(&theirs));
        assert!(!listed.is_empty(), "{way}");
    }
}

#[test]
fn s6_without_a_file_that_can_be_read_every_row_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("list/index");
    let writer = Writer::new(folder.path());
    for n in 0..6 {
        writer.create(&format!("s{n}"), n);
    }
    let lab = Lab::settled();
    let mut long_lived = Lister::new(&lab, folder.path(), EAGER);
    long_lived.ids(9);
    // Another store saves and takes a mark away; then the file is lost before the first one has seen it.
    const LONG: u64 = 8 << 40;
    let harms: [fn(&Path); 6] = [
        |index| fs::remove_file(index).unwrap(),
        |index| fs::write(index, "nonsense").unwrap(),
        |index| {
            let mut bytes = fs::read(index).unwrap();
            let last = bytes.len() - 40;
            bytes[last] ^= 1;
            fs::write(index, bytes).unwrap();
        },
        |index| fs::remove_dir_all(index.parent().unwrap()).unwrap(),
        // Longer than any memory: what it is, and what it was.
        |index| {
            let file = fs::File::options().write(true).open(index).unwrap();
            file.set_len(LONG).unwrap();
        },
        |index| fs::File::create(index).unwrap().set_len(LONG).unwrap(),
    ];
    for (n, harm) in harms.into_iter().enumerate() {
        writer.turn(&format!("s{n}"), 10 + n as i64, "hello");
        Lister::new(&lab, folder.path(), EAGER).ids(9);
        assert!(!writer.lock(&format!("s{n}")).exists());
        harm(&index);
        assert_same(&long_lived.list(2), &truth(folder.path()));
        // What it had was saved anew.
        lab.take_counts();
        assert_same(
            &Lister::new(&lab, folder.path(), EAGER).list(2),
            &truth(folder.path()),
        );
        assert_eq!(lab.take_counts().1, 0, "harm {n}");
    }
}
