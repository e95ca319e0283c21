//! `chat sessions`: which sessions there are. A damaged one is listed with its error, and hides no other.

use chat_core::{SessionSummary, StoreError, Timestamp, one_line};
use chat_runtime::{Chat, Environment as _, SystemEnvironment};
use serde::Serialize;

use crate::{
    desk::Desk,
    errors::Problem,
    exit::Exit,
    lookup::{self, CUT},
    render::ago,
};

/// The shortest a shown id gets.
const SHORTEST: usize = 6;

pub(crate) async fn list(chat: &Chat, desk: &mut Desk) -> Result<Exit, Problem> {
    let sessions = lookup::all(chat).await?;
    if desk.json {
        for session in &sessions {
            desk.screen.json(&Line::of(session));
        }
    } else if sessions.is_empty() {
        desk.hint("there are no sessions yet");
    } else {
        // Whole ids for programs; a person needs no more than tells them apart.
        let ids = if desk.screen.is_terminal() {
            shortened(&sessions)
        } else {
            sessions
                .iter()
                .map(|session| session.id.to_string())
                .collect()
        };
        let table = table(&sessions, &ids, SystemEnvironment.now());
        desk.screen.text(&table);
    }
    Ok(Exit::Completed)
}

/// A session as programs get it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    turns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_activity: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Wrong>,
}

#[derive(Serialize)]
struct Wrong {
    message: String,
    kind: &'static str,
}

impl<'a> Line<'a> {
    fn of(session: &'a SessionSummary) -> Self {
        Self {
            id: session.id.as_str(),
            title: session.title.as_deref(),
            turns: session.turns,
            created_at: session.created_at,
            last_activity: session.last_activity,
            error: session.error.as_ref().map(|error| Wrong {
                message: error.to_string(),
                kind: error.kind(),
            }),
        }
    }
}

fn table(sessions: &[SessionSummary], ids: &[String], now: Timestamp) -> String {
    let last = |session: &SessionSummary| {
        session
            .last_activity
            .map_or_else(|| "-".to_owned(), |at| ago(at, now))
    };
    let rows: Vec<[String; 4]> = sessions
        .iter()
        .zip(ids)
        .map(|(session, id)| {
            [
                id.clone(),
                session.turns.to_string(),
                last(session),
                title(session),
            ]
        })
        .collect();
    let width = |column: usize, least: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0).max(least)
    };
    let (id_width, last_width) = (width(0, 11), width(2, 14));
    let heading = ["SESSION", "TURNS", "LAST", "TITLE"].map(str::to_owned);
    let mut table = String::new();
    for [id, turns, last, title] in [heading].iter().chain(&rows) {
        let row = format!("{id:id_width$}  {turns:>5}  {last:last_width$}  {title}");
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}

fn title(session: &SessionSummary) -> String {
    match &session.error {
        Some(StoreError::Damaged(damage)) => {
            format!(
                "can't be read: {} is damaged ({})",
                damage.place,
                one_line(&damage.what)
            )
        }
        Some(error) => format!("can't be read: {}", one_line(&error.to_string())),
        None => session
            .title
            .as_deref()
            .map(one_line)
            .unwrap_or_default()
            .into_owned(),
    }
}

/// Each id, cut where that leaves it unlike all others.
fn shortened(sessions: &[SessionSummary]) -> Vec<String> {
    let mut sorted: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    sorted.sort_unstable();
    let shared = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let short = |id: &str| {
        let place = sorted.partition_point(|other| *other < id);
        let before = place.checked_sub(1).and_then(|before| sorted.get(before));
        let neighbors = before.into_iter().chain(sorted.get(place + 1));
        let unlike = neighbors
            .map(|other| shared(id, other) + 1)
            .max()
            .unwrap_or(0);
        let cut: String = id.chars().take(unlike.max(SHORTEST)).collect();
        // A cut that saves nothing only hides the end.
        if cut.chars().count() + 1 < id.chars().count() {
            format!("{cut}{CUT}")
        } else {
            id.to_owned()
        }
    };
    sessions
        .iter()
        .map(|session| short(session.id.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use chat_core::{Damage, Place, SessionId};

    use super::*;

    fn summary(id: &str, turns: u64, last: &str, title: &str) -> SessionSummary {
        SessionSummary {
            id: SessionId::parse(id).unwrap(),
            title: Some(title.into()),
            created_at: None,
            last_activity: Some(last.parse().unwrap()),
            turns,
            error: None,
        }
    }

    #[test]
    fn s6_the_table_reads_as_promised_and_lists_the_damaged() {
        let now = "2026-01-31T09:32:10.000Z".parse().unwrap();
        let mut damaged = summary("broken", 2, "2026-01-30T09:30:00.000Z", "Is it?");
        damaged.error = Some(StoreError::Damaged(Damage {
            session: damaged.id.clone(),
            place: Place {
                line: Some(7),
                ..Place::default()
            },
            what: "checksum differs".into(),
        }));
        let sessions = [
            summary(
                "01jd3k8v9x2m4n6p8q0r1s3t5v",
                3,
                "2026-01-31T09:30:00.000Z",
                "What is a journal?",
            ),
            damaged,
            summary(
                "01jd3k8w000000000000000000",
                12,
                "2020-01-31T09:30:00.000Z",
                "tab\there",
            ),
        ];
        let table = table(&sessions, &shortened(&sessions), now);
        insta::assert_snapshot!(table, @"
        SESSION      TURNS  LAST            TITLE
        01jd3k8v…        3  2 minutes ago   What is a journal?
        broken           2  1 day ago       can't be read: line 7 is damaged (checksum differs)
        01jd3k8w…       12  2020-01-31      tab here
        ");
    }

    #[test]
    fn c_a_shortened_id_is_unlike_all_others() {
        let at = "2026-01-31T09:32:10.000Z";
        let ids = [
            "abcdefgh-1-long",
            "abcdefgh-2-long",
            "abcdefgh",
            "z",
            "abcdefgh-2",
        ];
        let sessions = ids.map(|id| summary(id, 0, at, ""));
        assert_eq!(
            shortened(&sessions),
            ["abcdefgh-1…", "abcdefgh-2-…", "abcdefgh", "z", "abcdefgh-2"]
        );
    }
}
