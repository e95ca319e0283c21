//! The suite of laws for stores: one named test per law and case, so that one failure hides no other. It knows nothing of any
//! store but its trait and what its capabilities claim.

mod entries;
mod factory;
mod harm;
mod lab;
mod laws;
mod report;

pub use factory::StoreFactory;
pub use harm::Harm;
pub use report::{LawReport, Report, Verdict};

use std::{io::Write as _, sync::Arc};

use futures_util::future::BoxFuture;
use lab::Lab;
use report::judge;

/// Why a law does not apply to a store: it does not claim what the law is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NotClaimed(&'static str);

/// What a law comes to; one that is broken panics.
type Outcome = Result<(), NotClaimed>;

/// One law.
struct Law {
    name: &'static str,
    run: fn(Lab) -> BoxFuture<'static, Outcome>,
}

macro_rules! table {
    ([] $($law:ident)*) => {
        const LAWS: &[Law] = &[$(Law { name: stringify!($law), run: |lab| Box::pin(laws::$law(lab)) }),*];
    };
}

/// Names every law once, for the table here and for the tests that [`store_laws!`](crate::store_laws) makes of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __each_store_law {
    ([$($then:tt)*] $($args:tt)*) => {
        $($then)*! {
            [$($args)*]
            s1_what_is_appended_is_read_in_order
            s1_an_acquire_gives_the_entries_since_a_place
            s1_the_same_entry_sent_again_is_written_once
            s1_an_entry_for_another_place_is_refused_and_the_writer_goes_on
            s1_a_last_entry_is_durable_and_frees_the_session
            s1_a_last_entry_that_is_not_written_keeps_the_hold
            s1_a_place_beyond_the_end_gives_nothing
            s1_long_and_odd_texts_come_back
            s1_an_entry_sent_again_after_a_reopen_is_written_once
            s1_many_sessions_are_written_at_once
            s1_what_was_written_survives_a_loss_of_power
            s1_a_last_entry_survives_a_loss_of_power
            s1_a_created_session_survives_a_loss_of_power
            s2_what_an_acquire_returned_survives_a_loss_of_power
            s2_what_a_recovery_returned_survives_a_loss_of_power
            s2_a_dropped_append_is_unknown_until_recovered
            s2_a_dropped_last_append_is_unknown_until_recovered
            s2_a_dropped_writer_frees_the_session_once_its_write_has_ended
            s2_recovery_after_a_dropped_append_is_truthful
            s2_recovery_may_be_asked_at_any_time_and_again
            s2_recovery_sets_a_torn_tail_aside_and_says_so
            s3_a_loss_of_power_amid_an_append_leaves_what_was_written
            s3_c20_a_cut_entry_is_set_aside_and_the_next_append_is_sound
            s3_reading_stops_before_a_torn_tail_and_changes_nothing
            s3_a_tail_of_nuls_is_torn
            s3_a_torn_tail_is_not_told_of_while_someone_holds
            s3_a_cut_first_entry_is_damage
            s3_c21_damage_is_an_error_that_names_session_and_place
            s3_damage_is_not_acquired_and_not_repaired
            s3_salvage_gives_what_is_readable_with_gaps_marked
            s4_every_id_is_a_session_of_its_own
            s5_an_acquire_waits_for_the_holder
            s5_first_come_first_served
            s5_dropping_an_acquire_gives_up_the_place
            s5_reading_and_listing_never_wait_for_a_writer
            s5_is_held_tells_holder_from_none
            s5_a_hold_is_not_lost_while_it_is_held
            s5_one_session_does_not_wait_for_another
            s5_512_waiters_are_in_nobodys_way
            s5_waiters_and_slow_readers_keep_no_thread_from_the_holder
            s5_a_reader_is_not_disturbed_by_a_writer
            s5_a_holder_of_another_process_is_waited_for
            s5_a_waiter_of_another_process_gives_up_its_place
            s5_holders_of_two_processes_take_turns
            s5_neither_of_two_processes_starves
            s5_a_reader_of_another_process_is_not_disturbed
            s6_a_torn_tail_is_not_in_the_list
            s6_c21_a_damaged_session_is_listed_with_its_error
            s6_another_process_lists_what_is_there
            s6_the_newest_activity_comes_first
            s6_titles_times_and_counts
            s6_of_one_time_the_smaller_id_comes_first
            s6_the_last_entry_says_when_not_the_latest_time
            s6_odd_titles
            s6_c28_what_can_be_held_is_listed_and_what_is_listed_can_be_held
            s6_pages_show_every_session_once
            s6_a_cursor_outlives_the_session_it_was_made_at
            s6_a_cursor_stays_where_it_is_while_others_come_and_move
            s6_a_cursor_of_nobodys_making_is_refused
            s6_any_number_is_a_limit
            s6_many_sessions_are_listed_once_and_in_order
            s7_a_deleted_session_stays_deleted_over_a_loss_of_power
            s7_c34_a_create_cut_off_is_whole_or_not_there
            s7_of_two_who_create_one_id_one_is_refused
            s7_a_delete_waits_for_another_process_and_may_be_given_up
            s7_who_waited_for_a_deleted_session_is_told
            s7_a_session_made_anew_by_another_process_is_the_new_one
            s7_c29_many_at_work_in_two_processes_meet_no_busy_store
            s7_a_missing_session_is_named
            s7_a_taken_id_changes_nothing
            s7_what_is_no_journal_is_not_created
            s7_delete_is_refused_while_held_or_waited_for
            s7_busy_is_who_still_wants_the_session_and_nobody_else
            s7_a_deleted_session_is_gone_and_can_be_made_anew
            s7_errors_name_the_session_and_say_what_to_do
            s7_a_reading_of_a_session_that_is_deleted_ends
            s8_odd_ids_come_back_from_a_reopened_store
            s8_a_reopened_store_reads_the_same
            s8_the_transcript_is_that_of_the_script
            j2_c30_a_newer_format_is_refused_and_left_untouched
            j2_what_is_not_known_is_kept_to_the_byte
            j5_a_turn_costs_two_entries_and_one_per_steering
            c27_a_long_journal_is_read_in_batches
        }
    };
}

__each_store_law!([table]);

/// The names of all laws for stores, in order.
#[must_use]
pub fn store_law_names() -> Vec<&'static str> {
    LAWS.iter().map(|law| law.name).collect()
}

/// Runs one law against a store of its own, and says what came of it.
///
/// Brings its own runtime: call it outside of any.
///
/// # Panics
/// Where there is no law of this name.
#[must_use]
pub fn judge_store_law(name: &str, factory: impl StoreFactory) -> Verdict {
    let law = LAWS
        .iter()
        .find(|law| law.name == name)
        .unwrap_or_else(|| panic!("there is no law {name}"));
    judge(law, &Arc::new(factory))
}

/// Runs one law against a store of its own, as a test. One that is not claimed is told on standard error, past what captures
/// the output of a test that passes: a test can't say otherwise that it proved nothing.
///
/// # Panics
/// Where the store breaks it, with what was expected; where there is no law of this name.
pub fn check_store_law(name: &str, factory: impl StoreFactory) {
    match judge_store_law(name, factory) {
        Verdict::Passed => {}
        Verdict::Failed(why) => panic!("{why}"),
        Verdict::NotClaimed(why) => {
            // Where nobody can be told, nothing is wrong with the store.
            let _ = writeln!(std::io::stderr(), "{name} is not claimed: {why}");
        }
    }
}

/// Runs every law, each against a store of its own, whatever the others come to.
///
/// Brings its own runtime for each: call it outside of any.
#[must_use]
pub fn run_store_laws(factory: impl StoreFactory) -> Report {
    let factory = Arc::new(factory);
    LAWS.iter()
        .map(|law| LawReport {
            name: law.name,
            verdict: judge(law, &factory),
        })
        .collect()
}

/// Makes one `#[test]` of every law for stores. The expression is a [`StoreFactory`], made anew for each.
///
/// ```
/// use chat_conformance::StoreFactory;
/// use chat_core::MemoryStore;
///
/// struct InMemory;
///
/// impl StoreFactory for InMemory {
///     type Store = MemoryStore;
///     async fn make(&self) -> MemoryStore {
///         MemoryStore::new()
///     }
///     async fn reopen(&self, _: &MemoryStore) -> MemoryStore {
///         unreachable!("a store in memory claims neither to be shared nor to outlive its process")
///     }
/// }
///
/// chat_conformance::store_laws!(InMemory);
/// ```
#[macro_export]
macro_rules! store_laws {
    ($factory:expr) => {
        $crate::__each_store_law!([$crate::__store_law_tests] $factory);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __store_law_tests {
    ([$factory:expr] $($law:ident)*) => {
        $(#[test]
        fn $law() {
            $crate::check_store_law(stringify!($law), $factory);
        })*
    };
}
