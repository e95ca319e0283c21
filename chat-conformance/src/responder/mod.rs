//! The suite of laws for responders: one named test per law and case. It polls executions itself, and knows nothing of any
//! responder but its trait.

mod laws;
mod watched;

use std::{future::Future, sync::Arc, time::Duration};

use chat_core::Responder;
use futures_util::future::BoxFuture;

/// How long a law may take before it counts as hung.
const DEADLINE: Duration = Duration::from_secs(10);

/// Makes responders for the suite, within a tokio runtime.
pub trait ResponderFactory: Send + Sync + 'static {
    /// One that answers every turn: some text, then the reply.
    fn answering(&self) -> impl Future<Output = Arc<dyn Responder>> + Send;

    /// One that says some text in every turn and then goes on until it is stopped.
    fn endless(&self) -> impl Future<Output = Arc<dyn Responder>> + Send;
}

/// A law's own responders.
struct Lab {
    answering: Arc<dyn Responder>,
    endless: Arc<dyn Responder>,
}

/// One law.
struct Law {
    name: &'static str,
    run: fn(Lab) -> BoxFuture<'static, ()>,
}

macro_rules! table {
    ([] $($law:ident)*) => {
        const LAWS: &[Law] = &[$(Law { name: stringify!($law), run: |lab| Box::pin(laws::$law(lab)) }),*];
    };
}

/// Names every law once, for the table here and for the tests that [`responder_laws!`](crate::responder_laws) makes of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __each_responder_law {
    ([$($then:tt)*] $($args:tt)*) => {
        $($then)*! {
            [$($args)*]
            r1_the_events_end_and_the_result_comes
            r1_turns_that_are_answered_at_once_do_not_mix
            r1_who_answers_stays_the_same
            r2_answers_to_what_was_never_asked_are_ignored
            t5_an_execution_that_ended_leaves_nothing_behind
            t6_an_execution_that_is_dropped_goes_on_with_nothing
            t6_nor_does_one_that_was_never_polled
            t6_nor_does_one_that_was_signaled_first
            t8_an_offer_that_is_dropped_is_forgotten
        }
    };
}

__each_responder_law!([table]);

/// The names of all laws for responders, in order.
#[must_use]
pub fn responder_law_names() -> Vec<&'static str> {
    LAWS.iter().map(|law| law.name).collect()
}

/// Runs one law against responders of its own. Brings its own runtime: call it outside of any.
///
/// # Panics
/// Where the responder breaks it, with what was expected; where there is no law of this name.
pub fn check_responder_law(name: &str, factory: impl ResponderFactory) {
    let law = LAWS
        .iter()
        .find(|law| law.name == name)
        .unwrap_or_else(|| panic!("there is no law {name}"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be built");
    let kept = runtime.block_on(async {
        let lab = Lab {
            answering: factory.answering().await,
            endless: factory.endless().await,
        };
        tokio::time::timeout(DEADLINE, (law.run)(lab)).await
    });
    assert!(kept.is_ok(), "{name} did not end within {DEADLINE:?}");
}

/// Makes one `#[test]` of every law for responders. The expression is a [`ResponderFactory`], made anew for each.
///
/// ```
/// use std::sync::Arc;
///
/// use chat_conformance::ResponderFactory;
/// use chat_core::{Execution, Reply, Responder, ResponderEvent, TurnRequest};
/// use futures_util::{StreamExt, future, stream};
///
/// /// Says what it was asked, and goes on for ever where that is wanted.
/// struct Echo { endless: bool }
///
/// impl Responder for Echo {
///     fn respond(&self, request: TurnRequest) -> Execution {
///         let said = stream::iter([Ok(ResponderEvent::text(request.input))]);
///         if self.endless {
///             return Execution::new(future::pending()).with_events(said.chain(stream::pending()));
///         }
///         Execution::new(async { Ok(Reply::streamed()) }).with_events(said)
///     }
/// }
///
/// struct Echoes;
///
/// impl ResponderFactory for Echoes {
///     async fn answering(&self) -> Arc<dyn Responder> {
///         Arc::new(Echo { endless: false })
///     }
///     async fn endless(&self) -> Arc<dyn Responder> {
///         Arc::new(Echo { endless: true })
///     }
/// }
///
/// chat_conformance::responder_laws!(Echoes);
/// ```
#[macro_export]
macro_rules! responder_laws {
    ($factory:expr) => {
        $crate::__each_responder_law!([$crate::__responder_law_tests] $factory);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __responder_law_tests {
    ([$factory:expr] $($law:ident)*) => {
        $(#[test]
        fn $law() {
            $crate::check_responder_law(stringify!($law), $factory);
        })*
    };
}
