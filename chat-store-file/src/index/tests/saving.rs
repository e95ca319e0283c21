//! Saving the index: one store at a time, and never over what another has made of it since.

use super::{marks::scene, *};
use crate::index::saved::Saving;

/// On a full disk, say: what can't be saved is not kept either.
#[test]
fn s6_an_index_that_cant_be_saved_leaves_nothing_of_it() {
    let scene = scene();
    scene.lab.fail(Asked::Rename, "list/index");
    scene.lister().ids(9);
    let names = fs::read_dir(scene.folder.path().join("list")).unwrap();
    let names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
    assert_eq!(names, ["lock"]);
    assert_eq!(scene.marked(), ["a", "b", "c"]);
}

#[test]
fn s6_only_one_store_at_a_time_saves_and_only_over_what_it_knows() {
    let scene = scene();
    let mut lister = scene.lister();
    lister.ids(9);
    let (folder, version) = (lister.folder.clone(), lister.index.base.version);
    let saving = Saving::begin(&folder, version).unwrap().unwrap();
    assert!(
        Saving::begin(&folder, version).unwrap().is_none(),
        "another is at it"
    );
    scene.writer.turn("a", 10, "hello");
    assert_eq!(scene.lister().ids(1), ["a"], "nobody waits for it");
    assert_eq!(scene.marked(), ["a"], "and no mark goes meanwhile");
    drop(saving);
    assert!(
        Saving::begin(&folder, None).unwrap().is_none(),
        "another has saved"
    );
    assert!(Saving::begin(&folder, version).unwrap().is_some());
}

/// A store that read the names before another's write, save and clearing does not undo what that one saved.
#[test]
fn s6_what_another_store_saved_is_taken_over_and_never_undone() {
    for when in ["before the names", "behind the names", "while saving"] {
        let scene = scene();
        let mut slow = scene.lister();
        slow.ids(9);
        // Something to read the names for, and to save.
        scene.writer.turn("c", 9, "hello");
        let (path, lab) = (scene.folder.path().to_owned(), scene.lab.clone());
        let meanwhile = move || {
            let writer = Writer::new(&path);
            writer.turn("a", 10, "hello");
            Lister::new(&lab, &path, EAGER).ids(9);
            assert_eq!(writer.lock("a").exists(), when == "while saving");
        };
        let lab = scene.lab.clone();
        match when {
            "before the names" => lab.before(Asked::Names, "", meanwhile),
            "behind the names" => scene.lab.before(Asked::Names, "", move || {
                lab.before(Asked::Open, "index", meanwhile);
            }),
            _ => lab.before(Asked::Rename, "index", meanwhile),
        }
        slow.ids(9);
        assert!(scene.lab.is_used_up(), "{when}");
        assert_eq!(slow.ids(1), ["a"], "{when}");
        assert_eq!(scene.lister().ids(1), ["a"], "{when}");
        assert_same(&slow.list(1), &truth(scene.folder.path()));
    }
}

/// The index may be removed at any time. A store that knows of none does not know of one that came and went.
#[test]
fn s6_an_index_that_came_and_went_has_taken_its_marks_along() {
    let moments = [
        (Asked::Names, ""),
        (Asked::Look, "list"),
        (Asked::Lock, "list/lock"),
        (Asked::Look, "list/lock"),
        (Asked::Rename, "list/index"),
    ];
    for (asked, ending) in moments {
        for gone in ["list/index", "list"] {
            let scene = scene();
            let (path, lab) = (scene.folder.path().to_owned(), scene.lab.clone());
            scene.lab.before(asked, ending, move || {
                let writer = Writer::new(&path);
                writer.turn("a", 50, "newest");
                Lister::new(&lab, &path, EAGER).ids(9);
                // As whoever clears up does.
                let _ = fs::remove_dir_all(path.join(gone));
                let _ = fs::remove_file(path.join(gone));
            });
            let mut lister = scene.lister();
            lister.ids(9);
            assert!(scene.lab.is_used_up(), "{asked:?} {ending}");
            let truth = truth(scene.folder.path());
            assert_eq!(truth[0].id.as_str(), "a");
            for lister in [&mut lister, &mut scene.lister()] {
                let id = &lister.list(1)[0].id;
                assert_eq!(id.as_str(), "a", "{asked:?} {ending}, then no {gone}");
            }
        }
    }
}

/// A list may end after any of its changes, as a killed process does.
#[test]
fn s6_a_list_may_be_cut_off_after_any_of_its_steps() {
    let mut steps = 0;
    loop {
        let scene = scene();
        scene.lister().ids(9);
        scene.writer.turn("a", 10, "hello");
        scene.writer.delete("b");
        scene.writer.create("d", 11);
        scene.lab.take_counts();
        scene.lab.allow_changes(Some(steps));
        assert_same(&scene.lister().list(9), &truth(scene.folder.path()));
        let done = scene.lab.take_counts().0;
        scene.lab.allow_changes(None);

        scene.writer.turn("c", 12, "hello");
        assert_same(&scene.lister().list(1), &truth(scene.folder.path()));
        assert_same(&scene.lister().list(9), &truth(scene.folder.path()));
        if done < steps {
            assert!(steps > 8, "there was something to cut: {steps}");
            break;
        }
        steps += 1;
    }
}
