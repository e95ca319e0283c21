//! What the libraries warn of (a torn tail that was set aside, a hold that was lost), one line each on standard error. They
//! name ids and sizes, never what was said.

use std::fmt;

use tracing::{Event, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    filter::Targets,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    layer::SubscriberExt as _,
    registry::LookupSpan,
};

use crate::notes::Notes;

/// Notes from now on what this project's own crates warn of, as notices of this program.
pub(crate) fn to(notes: Notes, program: &'static str) {
    let ours = [
        "chat_core",
        "chat_runtime",
        "chat_store_file",
        "chat_store_sqlite",
        "chat_responder_model",
        "chat_responder_agent",
    ];
    let ours = Targets::new().with_targets(ours.map(|target| (target, LevelFilter::WARN)));
    let lines = tracing_subscriber::fmt::layer()
        .event_format(Plain { program })
        .with_ansi(false)
        .with_writer(move || notes.clone());
    let subscriber = tracing_subscriber::registry().with(lines).with(ours);
    // One that is set already is a host's own choice.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// `chat: what happened session=… bytes=…`
struct Plain {
    program: &'static str,
}

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        write!(line, "{}: ", self.program)?;
        context.format_fields(line.by_ref(), event)?;
        writeln!(line)
    }
}
