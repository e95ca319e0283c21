//! What a row says it does or did, in words a person would use.

use chat_core::{TraceNode, TraceStatus};

use crate::RowKind;

/// The title of a node's row. `name` is what the row is called; `failed` is how many of its direct children failed, which is how a
/// catch tells whether its fallback was needed.
pub(crate) fn title(node: &TraceNode, kind: RowKind, name: &str, failed: u32) -> String {
    match kind {
        RowKind::Model => model(node, name),
        RowKind::Parallel => match node.status {
            TraceStatus::Running => "Running in parallel".to_owned(),
            _ => plain(node, "Parallel"),
        },
        RowKind::Catch if never_began(node) => "Never started, with a fallback".to_owned(),
        RowKind::Catch => catch(node.status, failed).to_owned(),
        RowKind::Tool if node.status == TraceStatus::Failed && error_kind(node) == "denied" => {
            format!("{name} denied")
        }
        RowKind::Agent | RowKind::Step | RowKind::Task | RowKind::Tool | RowKind::Approval => {
            plain(node, name)
        }
    }
}

/// The title of an approval's row.
pub(crate) fn approval(tool: &str) -> String {
    format!("Approve {tool}?")
}

fn plain(node: &TraceNode, name: &str) -> String {
    match node.status {
        TraceStatus::Pending => format!("{name} not started"),
        TraceStatus::Running => format!("Running {name}"),
        TraceStatus::Waiting => format!("{name} waits for approval"),
        TraceStatus::Done => format!("{name} done"),
        TraceStatus::Failed if error_kind(node) == "timeout" => format!("{name} timed out"),
        TraceStatus::Failed => format!("{name} failed"),
        TraceStatus::Aborted if never_began(node) => format!("{name} never started"),
        TraceStatus::Aborted => format!("{name} stopped"),
    }
}

/// Whether it was given up before it began: a tool that nobody approved has not run. Where no times are kept, nothing is said of it.
fn never_began(node: &TraceNode) -> bool {
    node.status == TraceStatus::Aborted && node.started_at.is_none() && node.ended_at.is_some()
}

fn model(node: &TraceNode, name: &str) -> String {
    match node.status {
        TraceStatus::Pending => format!("{name} not asked yet"),
        TraceStatus::Running => format!("Asking {name}"),
        TraceStatus::Done => format!("{name} answered"),
        TraceStatus::Waiting | TraceStatus::Failed | TraceStatus::Aborted => plain(node, name),
    }
}

/// A catch has no name of its own.
fn catch(status: TraceStatus, failed: u32) -> &'static str {
    match (status, failed) {
        (TraceStatus::Pending, _) => "Not started, with a fallback",
        (TraceStatus::Running, 0) => "Running with a fallback",
        (TraceStatus::Running, _) => "Running the fallback",
        (TraceStatus::Waiting, _) => "Waits for approval, with a fallback",
        (TraceStatus::Done, 0) => "Done without the fallback",
        (TraceStatus::Done, _) => "Recovered from a failure",
        (TraceStatus::Failed, 0 | 1) => "Failed without a fallback",
        (TraceStatus::Failed, _) => "Fallback failed too",
        (TraceStatus::Aborted, 0) => "Stopped before the fallback",
        (TraceStatus::Aborted, _) => "Stopped in the fallback",
    }
}

fn error_kind(node: &TraceNode) -> &str {
    node.error.as_ref().map_or("", |error| &error.kind)
}

#[cfg(test)]
mod tests {
    use chat_core::{RecordedError, Timestamp, TraceKind};

    use super::*;

    const STATUSES: [TraceStatus; 6] = [
        TraceStatus::Pending,
        TraceStatus::Running,
        TraceStatus::Waiting,
        TraceStatus::Done,
        TraceStatus::Failed,
        TraceStatus::Aborted,
    ];

    fn titled(kind: RowKind, name: &str, status: TraceStatus, error: &str, failed: u32) -> String {
        let mut node = TraceNode::new("id", TraceKind::Task, name);
        node.status = status;
        node.error = Some(RecordedError::of("why", error, None));
        title(&node, kind, name, failed)
    }

    fn check(kind: RowKind, name: &str, failed: u32, expected: [&str; 6]) {
        let titles = STATUSES.map(|status| titled(kind, name, status, "error", failed));
        assert_eq!(titles.each_ref().map(String::as_str), expected, "{kind:?}");
    }

    #[test]
    fn p2_titles_say_the_state_in_words() {
        for kind in [RowKind::Agent, RowKind::Step, RowKind::Task, RowKind::Tool] {
            let expected = [
                "draft not started",
                "Running draft",
                "draft waits for approval",
                "draft done",
                "draft failed",
                "draft stopped",
            ];
            check(kind, "draft", 1, expected);
        }
        let expected = [
            "gpt-5-mini not asked yet",
            "Asking gpt-5-mini",
            "gpt-5-mini waits for approval",
            "gpt-5-mini answered",
            "gpt-5-mini failed",
            "gpt-5-mini stopped",
        ];
        check(RowKind::Model, "gpt-5-mini", 0, expected);
        let expected = [
            "Parallel not started",
            "Running in parallel",
            "Parallel waits for approval",
            "Parallel done",
            "Parallel failed",
            "Parallel stopped",
        ];
        check(RowKind::Parallel, "parallel", 0, expected);
    }

    #[test]
    fn p2_a_catch_says_whether_its_fallback_was_needed() {
        let expected = [
            "Not started, with a fallback",
            "Running with a fallback",
            "Waits for approval, with a fallback",
            "Done without the fallback",
            "Failed without a fallback",
            "Stopped before the fallback",
        ];
        check(RowKind::Catch, "catch", 0, expected);
        let expected = [
            "Not started, with a fallback",
            "Running the fallback",
            "Waits for approval, with a fallback",
            "Recovered from a failure",
            "Failed without a fallback",
            "Stopped in the fallback",
        ];
        check(RowKind::Catch, "catch", 1, expected);
        let failed = titled(RowKind::Catch, "catch", TraceStatus::Failed, "", 2);
        assert_eq!(failed, "Fallback failed too");
    }

    #[test]
    fn p2_what_was_given_up_before_it_began_never_started() {
        let titled = |kind, status, started, ended| {
            let at = |millis: Option<i64>| millis.and_then(|at| Timestamp::from_millis(at).ok());
            let mut node = TraceNode::new("id", TraceKind::Task, "x");
            node.status = status;
            (node.started_at, node.ended_at) = (at(started), at(ended));
            title(&node, kind, "x", 0)
        };
        for (kind, expected) in [
            (RowKind::Tool, "x never started"),
            (RowKind::Parallel, "Parallel never started"),
            (RowKind::Catch, "Never started, with a fallback"),
        ] {
            assert_eq!(titled(kind, TraceStatus::Aborted, None, Some(5)), expected);
        }
        let stopped = titled(RowKind::Tool, TraceStatus::Aborted, Some(1), Some(5));
        assert_eq!(stopped, "x stopped");
        let untimed = titled(RowKind::Tool, TraceStatus::Aborted, None, None);
        assert_eq!(untimed, "x stopped");
        let denied = titled(RowKind::Tool, TraceStatus::Failed, None, Some(5));
        assert_eq!(denied, "x failed");
    }

    #[test]
    fn p2_a_title_says_why_where_the_kind_of_the_error_does() {
        for (kind, error, expected) in [
            (RowKind::Step, "timeout", "x timed out"),
            (RowKind::Tool, "timeout", "x timed out"),
            (RowKind::Model, "timeout", "x timed out"),
            (RowKind::Parallel, "timeout", "Parallel timed out"),
            (RowKind::Tool, "denied", "x denied"),
            (RowKind::Step, "denied", "x failed"),
            (RowKind::Tool, "error", "x failed"),
        ] {
            let title = titled(kind, "x", TraceStatus::Failed, error, 0);
            assert_eq!(title, expected);
        }
        let denied_yet_done = titled(RowKind::Tool, "x", TraceStatus::Done, "denied", 0);
        assert_eq!(denied_yet_done, "x done");
    }
}
