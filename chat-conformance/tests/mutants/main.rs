//! The suite against stores that are wrong: it has to find each, by the law that is about it. The store is sound without its
//! bug, and then it keeps every law, with nothing that is not claimed.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod bug;
mod disk;
mod hold;
mod journal;
mod list;
mod store;
mod writer;

use std::time::Duration;

use bug::Bug;
use chat_conformance::{Harm, StoreFactory, Verdict, judge_store_law, run_store_laws};
use chat_core::SessionId;
use disk::Disk;
use store::SimStore;

/// Reference stores, each on a disk of its own.
struct Sims(Option<Bug>);

impl StoreFactory for Sims {
    type Store = SimStore;

    async fn make(&self) -> SimStore {
        SimStore::open(Disk::default(), self.0)
    }

    async fn reopen(&self, store: &SimStore) -> SimStore {
        SimStore::open(store.disk.clone(), self.0)
    }

    async fn harm(&self, store: &SimStore, session: &SessionId, harm: Harm) -> bool {
        store.disk.harm(session, harm)
    }

    async fn stored(&self, store: &SimStore, session: &SessionId) -> Option<Vec<u8>> {
        store.disk.read(session)
    }

    async fn lose_power(&self, store: &SimStore) -> Option<SimStore> {
        Some(SimStore::open(store.disk.after_power_loss(), self.0))
    }

    fn patience(&self) -> Duration {
        match self.0 {
            Some(bug) if HANGING.contains(&bug) => Duration::from_secs(1),
            Some(_) | None => Duration::from_secs(60),
        }
    }
}

#[test]
fn without_a_bug_every_law_is_claimed_and_kept() {
    let report = run_store_laws(Sims(None));
    let all = report.laws.iter();
    let broken: Vec<_> = all.filter(|law| law.verdict != Verdict::Passed).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Nothing comes of these any more, which is how they are caught. Any other that takes so long was not caught, only slow.
const HANGING: &[Bug] = &[
    Bug::KeepsADroppedPlace,
    Bug::OneHoldForAll,
    Bug::ReadsWaitForTheHolder,
    Bug::DeleteTellsNobodyWhoWaits,
    Bug::WaitsOnAThread,
];

fn assert_caught(bug: Bug, law: &str) {
    match judge_store_law(law, Sims(Some(bug))) {
        Verdict::Failed(why) => {
            let hung = why.contains("did not end");
            assert_eq!(hung, HANGING.contains(&bug), "{law} says of {bug:?}: {why}");
        }
        verdict @ (Verdict::Passed | Verdict::NotClaimed(_)) => {
            panic!("{law} does not see {bug:?}: {verdict:?}")
        }
    }
}

/// One test of each bug: the law that is about it finds it.
macro_rules! mutants {
    ($($bug:ident is_caught_by $law:ident)*) => {
        $(#[test]
        #[allow(non_snake_case, reason = "the bug's name")]
        fn $bug() {
            assert_caught(Bug::$bug, stringify!($law));
        })*
    };
}

mutants! {
    LosesTheLastEntry is_caught_by s1_what_is_appended_is_read_in_order
    Reorders is_caught_by s8_the_transcript_is_that_of_the_script
    IgnoresFrom is_caught_by s1_an_acquire_gives_the_entries_since_a_place
    RefusesAPlaceBeyondTheEnd is_caught_by s1_a_place_beyond_the_end_gives_nothing
    WritesARetryTwice is_caught_by s1_the_same_entry_sent_again_is_written_once
    ForgetsRetriesWhenReopened is_caught_by s1_an_entry_sent_again_after_a_reopen_is_written_once
    TakesAnyPlace is_caught_by s1_an_entry_for_another_place_is_refused_and_the_writer_goes_on
    DropsUnknownTypes is_caught_by j2_what_is_not_known_is_kept_to_the_byte
    WritesTextAnew is_caught_by j2_what_is_not_known_is_kept_to_the_byte
    StopsAtANul is_caught_by s1_long_and_odd_texts_come_back
    ReadsInOnePiece is_caught_by c27_a_long_journal_is_read_in_batches

    NeverSyncs is_caught_by s1_what_was_written_survives_a_loss_of_power
    DoesNotSyncTheLast is_caught_by s1_a_last_entry_survives_a_loss_of_power
    DoesNotSyncCreate is_caught_by s1_a_created_session_survives_a_loss_of_power
    DoesNotSyncDelete is_caught_by s7_a_deleted_session_stays_deleted_over_a_loss_of_power
    AcquireVouchesForWhatIsNotSynced is_caught_by s2_what_an_acquire_returned_survives_a_loss_of_power
    RecoverVouchesForWhatIsNotSynced is_caught_by s2_what_a_recovery_returned_survives_a_loss_of_power
    CreatesPieceByPiece is_caught_by s7_c34_a_create_cut_off_is_whole_or_not_there

    GoesOnAfterUnknown is_caught_by s2_a_dropped_append_is_unknown_until_recovered
    RecoverSaysNothingIsThere is_caught_by s2_recovery_after_a_dropped_append_is_truthful
    FreesTheHoldBeforeTheWriteHasEnded is_caught_by s2_a_dropped_writer_frees_the_session_once_its_write_has_ended
    LastAppendFreesTheHoldAnyway is_caught_by s1_a_last_entry_that_is_not_written_keeps_the_hold

    AcquireHidesATornTail is_caught_by s3_c20_a_cut_entry_is_set_aside_and_the_next_append_is_sound
    RecoverHidesATornTail is_caught_by s2_recovery_sets_a_torn_tail_aside_and_says_so
    ReadHidesATornTail is_caught_by s3_reading_stops_before_a_torn_tail_and_changes_nothing
    WritesBehindATornTail is_caught_by s3_c20_a_cut_entry_is_set_aside_and_the_next_append_is_sound
    ReadCutsATornTail is_caught_by s3_reading_stops_before_a_torn_tail_and_changes_nothing
    TellsOfATornTailWhileHeld is_caught_by s3_a_torn_tail_is_not_told_of_while_someone_holds
    TakesNulsForDamage is_caught_by s3_a_tail_of_nuls_is_torn
    TakesACutFirstEntryForATornTail is_caught_by s3_a_cut_first_entry_is_damage
    CountsATornTail is_caught_by s6_a_torn_tail_is_not_in_the_list

    TrustsAnyLine is_caught_by s3_c21_damage_is_an_error_that_names_session_and_place
    SkipsDamage is_caught_by s3_c21_damage_is_an_error_that_names_session_and_place
    CutsDamageOff is_caught_by s3_damage_is_not_acquired_and_not_repaired
    NamesNoPlace is_caught_by s3_c21_damage_is_an_error_that_names_session_and_place
    SalvageStopsAtDamage is_caught_by s3_salvage_gives_what_is_readable_with_gaps_marked
    SalvageMarksNoGap is_caught_by s3_salvage_gives_what_is_readable_with_gaps_marked
    DamageHidesTheOthers is_caught_by s6_c21_a_damaged_session_is_listed_with_its_error
    ListsDamageAsSound is_caught_by s6_c21_a_damaged_session_is_listed_with_its_error
    SkipsANewerFormat is_caught_by j2_c30_a_newer_format_is_refused_and_left_untouched
    RewritesANewerFormat is_caught_by j2_c30_a_newer_format_is_refused_and_left_untouched

    FoldsCase is_caught_by s4_every_id_is_a_session_of_its_own

    TwoHolders is_caught_by s5_an_acquire_waits_for_the_holder
    TwoHoldersInTwoProcesses is_caught_by s5_a_holder_of_another_process_is_waited_for
    LastComeFirstServed is_caught_by s5_first_come_first_served
    KeepsADroppedPlace is_caught_by s5_dropping_an_acquire_gives_up_the_place
    KeepsAHoldItsOwn is_caught_by s5_neither_of_two_processes_starves
    OneHoldForAll is_caught_by s5_one_session_does_not_wait_for_another
    ReadsWaitForTheHolder is_caught_by s5_reading_and_listing_never_wait_for_a_writer
    IsHeldSeesItsOwnOnly is_caught_by s5_a_holder_of_another_process_is_waited_for
    LosesHolds is_caught_by s5_a_hold_is_not_lost_while_it_is_held
    RemembersWhatOthersChanged is_caught_by s5_holders_of_two_processes_take_turns
    WaitsOnAThread is_caught_by s5_waiters_and_slow_readers_keep_no_thread_from_the_holder

    ForgetsOneOfEachPage is_caught_by s6_pages_show_every_session_once
    ListsTheDeleted is_caught_by s6_c28_what_can_be_held_is_listed_and_what_is_listed_can_be_held
    ListsTheHeldAsMissing is_caught_by s6_c28_what_can_be_held_is_listed_and_what_is_listed_can_be_held
    OrdersByTheLatestTime is_caught_by s6_the_last_entry_says_when_not_the_latest_time
    OrdersByCreation is_caught_by s6_the_newest_activity_comes_first
    OrdersTiesByName is_caught_by s6_of_one_time_the_smaller_id_comes_first
    CutsTitlesOnAByte is_caught_by s6_titles_times_and_counts
    TitlesByTheLastInput is_caught_by s6_odd_titles
    CountsOutcomes is_caught_by s6_titles_times_and_counts
    CursorCounts is_caught_by s6_a_cursor_outlives_the_session_it_was_made_at
    TakesAnyCursor is_caught_by s6_a_cursor_of_nobodys_making_is_refused

    CreateReplaces is_caught_by s7_a_taken_id_changes_nothing
    CreatesNothing is_caught_by s7_what_is_no_journal_is_not_created
    AcquireCreates is_caught_by s7_a_missing_session_is_named
    DeletesWhatIsHeld is_caught_by s7_delete_is_refused_while_held_or_waited_for
    CountsWhoGaveUpAsBusy is_caught_by s7_busy_is_who_still_wants_the_session_and_nobody_else
    DeleteLeavesTheEntries is_caught_by s7_a_deleted_session_is_gone_and_can_be_made_anew
    DeleteTellsNobodyWhoWaits is_caught_by s7_who_waited_for_a_deleted_session_is_told
    ErrorsNameNoSession is_caught_by s7_errors_name_the_session_and_say_what_to_do
}
