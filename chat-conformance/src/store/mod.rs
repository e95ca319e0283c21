//! The suite of laws for stores: one named test per law and case, so that one failure hides no other. It knows nothing of any
//! store but its trait and what its capabilities claim.

mod factory;
mod laws;
mod report;

pub use factory::StoreFactory;
pub use report::{LawReport, Report, Verdict};

use factory::Lab;
use futures_util::future::BoxFuture;
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
            s2_a_dropped_append_is_unknown_until_recovered
            s2_a_dropped_last_append_is_unknown_until_recovered
            s2_a_dropped_writer_frees_the_session_once_its_write_has_ended
            s4_every_id_is_a_session_of_its_own
            s5_an_acquire_waits_for_the_holder
            s5_first_come_first_served
            s5_dropping_an_acquire_gives_up_the_place
            s5_reading_and_listing_never_wait_for_a_writer
            s5_is_held_tells_holder_from_none
            s5_a_hold_is_not_lost_while_it_is_held
            s5_holders_of_two_handles_take_turns
            s5_one_session_does_not_wait_for_another
            s6_the_newest_activity_comes_first
            s6_pages_show_every_session_once
            s6_titles_times_and_counts
            s7_a_missing_session_is_named
            s7_a_taken_id_changes_nothing
            s7_what_is_no_journal_is_not_created
            s7_delete_is_refused_while_held_or_waited_for
            s7_a_deleted_session_is_gone_and_can_be_made_anew
            s7_who_waited_for_a_deleted_session_is_told
            s8_a_reopened_store_reads_the_same
            s8_the_transcript_is_that_of_the_script
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

/// Runs one law against a store of its own.
///
/// # Panics
/// Where the store breaks it, with what was expected; where there is no law of this name.
pub fn check_store_law(name: &str, factory: impl StoreFactory) {
    let law = LAWS
        .iter()
        .find(|law| law.name == name)
        .unwrap_or_else(|| panic!("there is no law {name}"));
    if let Verdict::Failed(why) = judge(law, &std::sync::Arc::new(factory)) {
        panic!("{why}");
    }
}

/// Runs every law, each against a store of its own, whatever the others come to.
///
/// Brings its own runtime for each: call it outside of any.
#[must_use]
pub fn run_store_laws(factory: impl StoreFactory) -> Report {
    let factory = std::sync::Arc::new(factory);
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
