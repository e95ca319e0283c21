//! Who waits for a hold, and who must not be kept by it (law S5).
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod common;

use chat_conformance::holds::{check_delete, check_removed, check_turns};
use common::two_stores;

#[tokio::test]
async fn s5_a_holder_that_comes_right_back_lets_the_other_in_first() {
    let (folder, stores) = two_stores();
    check_turns(stores, &folder.path().join("s.turn")).await;
}

#[tokio::test]
async fn s5_one_who_waits_keeps_its_place_without_the_files_it_was_in() {
    let (folder, stores) = two_stores();
    check_removed(stores, &folder.path().join("s.turn")).await;
}

#[tokio::test]
async fn s7_a_delete_waits_for_another_process_and_others_queue_behind_it() {
    let (folder, stores) = two_stores();
    check_delete(stores, folder.path()).await;
}
