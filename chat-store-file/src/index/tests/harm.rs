//! Folders that can't be written, what stands in the index's way, and journals that can't be read: none hides a session.

use super::*;

#[test]
fn s6_a_folder_that_cant_be_written_is_listed_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    writer.create("a", 1);
    writer.create("b", 2);
    let lab = Lab::settled();
    lab.allow_changes(Some(0));
    let mut lister = Lister::new(&lab, folder.path(), EAGER);
    assert_eq!(lister.ids(9), ["b", "a"]);
    writer.turn("a", 3, "hello");
    assert_eq!(lister.ids(9), ["a", "b"]);
    // Someone else may write it, and may take marks away where nobody sees.
    writer.turn("b", 4, "hello");
    fs::remove_file(writer.lock("b")).unwrap();
    assert_eq!(lister.ids(9), ["b", "a"]);
    assert!(!folder.path().join("list").exists());
}

#[test]
fn s6_s4_what_stands_in_the_way_of_the_index_hides_no_session() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = root.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let lab = Lab::settled();
    for (n, obstacle) in ["file", "link", "folder"].into_iter().enumerate() {
        let path = root.path().join(obstacle);
        let writer = Writer::new(&path);
        writer.create("a", 1);
        match n {
            0 => fs::write(path.join("list"), "x").unwrap(),
            1 => std::os::unix::fs::symlink(&elsewhere, path.join("list")).unwrap(),
            _ => fs::create_dir_all(path.join("list/index")).unwrap(),
        }
        let mut lister = Lister::new(&lab, &path, EAGER);
        assert_eq!(lister.ids(9), ["a"], "{obstacle}");
        writer.turn("a", 2, "hello");
        assert_same(&lister.list(9), &truth(&path));
    }
    assert_eq!(
        fs::read_dir(elsewhere).unwrap().count(),
        0,
        "links are not followed"
    );
}

#[test]
fn s6_a_damaged_session_is_listed_with_todays_error_and_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for id in ["a", "b", "c"] {
        writer.create(id, 1);
        writer.turn(id, 2, id);
    }
    let lab = Lab::settled();
    let mut lister = Lister::new(&lab, folder.path(), EAGER);
    lister.ids(9);
    let text = fs::read(writer.journal("b")).unwrap();
    let mut harmed = text.clone();
    harmed[100] ^= 1;
    fs::write(writer.journal("b"), harmed).unwrap();
    for _ in 0..2 {
        let list = lister.list(2);
        let errors: Vec<bool> = list.iter().map(|one| one.error.is_some()).collect();
        assert_eq!(errors, [false, true, false]);
        assert_same(&list, &truth(folder.path()));
    }
    // Mended behind the store's back.
    fs::write(writer.journal("b"), text).unwrap();
    assert!(lister.list(2).iter().all(|one| one.error.is_none()));
}

#[test]
fn s6_what_can_be_read_behind_the_damage_says_where_a_session_stands() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(folder.path());
    for (id, at) in [("a", 5), ("b", 7)] {
        writer.create(id, 1);
        writer.turn(id, at, id);
    }
    let lab = Lab::settled();
    let mut lister = Lister::new(&lab, folder.path(), EAGER);
    let text = fs::read_to_string(writer.journal("b")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let check = |lister: &mut Lister, lines: &[&str], at: Option<i64>| {
        fs::write(writer.journal("b"), lines.join("\n") + "\n").unwrap();
        let list = lister.list(9);
        let b = list.iter().find(|one| one.id.as_str() == "b").unwrap();
        assert!(b.error.is_some());
        if let Some(at) = at {
            assert_eq!(b.last_activity.unwrap().as_millis(), at);
        }
    };
    check(&mut lister, &[lines[0], "harm", lines[2]], Some(7));
    check(&mut lister, &[lines[0], "harm", "harm"], Some(1));
    check(&mut lister, &["harm", lines[2], lines[1]], Some(7));
    check(&mut lister, &["harm"], None);
}
