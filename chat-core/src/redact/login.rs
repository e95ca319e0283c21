//! Credentials that are told by the place they stand in: behind the user of a command, in the login of a database, in the
//! address of a webhook.

use std::ops::Range;

use super::{
    MARK,
    form::{is_key_byte, run},
};

/// How much of a login or an address is looked at.
const LOOK_AHEAD: usize = 512;

/// Where the secret stands in what a word begins and what is behind it, where they are such a place. `first` is what stands
/// before the word.
pub(super) fn secret(word: &str, rest: &str, first: Option<u8>) -> Option<Range<usize>> {
    let rest = &rest[..rest.floor_char_boundary(LOOK_AHEAD)];
    let rest = rest.split(MARK).next()?;
    match word {
        "-u" | "--user" | "--proxy-user" | "--http-user" => user(rest),
        "hooks.slack.com" => webhook(rest, &["/services/", "/workflows/", "/triggers/"]),
        "webhooks" if first == Some(b'/') => {
            webhook(rest, &["/"]).filter(|secret| secret.len() >= 32)
        }
        "thin" | "oci" if first == Some(b':') => {
            between(rest.strip_prefix(':')?, '/', "@").map(|found| shift(found, 1))
        }
        _ => telegram(word, rest).or_else(|| {
            // `bob:secret@tcp(db:3306)/app`
            let password = rest
                .strip_prefix(':')
                .filter(|rest| !rest.starts_with('/'))?;
            let bare = password
                .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\''))
                .next()?;
            let bare = &bare[..bare.floor_char_boundary(LOOK_AHEAD / 4)];
            let end = bare.find("@tcp(").or_else(|| bare.find("@unix("))?;
            (end > 0).then_some(1..1 + end)
        }),
    }
}

/// `-u bob:secret`, quoted or not; the numbers of a user and a group are none.
fn user(rest: &str) -> Option<Range<usize>> {
    let login = rest.trim_start_matches([' ', '=']);
    let at = rest.len() - login.len();
    let quote = login.starts_with(['"', '\'']).then(|| login.as_bytes()[0]);
    let open = usize::from(quote.is_some());
    let end = login[open..].find(|c: char| match quote {
        Some(quote) => c == char::from(quote) || c == '\n',
        None => c.is_whitespace() || matches!(c, '"' | '\''),
    });
    let login = &login[open..open + end.unwrap_or(login.len() - open)];
    let (user, password) = login.split_once(':')?;
    let is_word = |text: &str| text.bytes().all(|b| is_key_byte(b) || b == b'.');
    let numbers = login.bytes().all(|b| b.is_ascii_digit() || b == b':');
    if at == 0
        || user.is_empty()
        || password.is_empty()
        || numbers
        || user == password
        || !is_word(user.split('@').next()?)
    {
        return None;
    }
    let start = at + open + user.len() + 1;
    Some(start..start + password.len())
}

/// What stands behind the path of a webhook's address.
fn webhook(rest: &str, paths: &[&str]) -> Option<Range<usize>> {
    let path = paths.iter().find(|path| rest.starts_with(**path))?;
    let secret = run(&rest.as_bytes()[path.len()..], |b| {
        is_key_byte(b) || b == b'/'
    });
    (secret > 0).then_some(path.len()..path.len() + secret)
}

/// What stands between two signs in a text without white space.
fn between(text: &str, from: char, to: &str) -> Option<Range<usize>> {
    let text = text.split(char::is_whitespace).next()?;
    let end = text.find(to)?;
    let start = text[..end].find(from)? + from.len_utf8();
    (start < end).then_some(start..end)
}

fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// `123456789:AA...`, the token of a bot of Telegram.
fn telegram(word: &str, rest: &str) -> Option<Range<usize>> {
    let number = word.strip_prefix("bot").unwrap_or(word);
    let numbered = (8..=12).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    let token = run(rest.strip_prefix(':')?.as_bytes(), is_key_byte);
    (numbered && token >= 30).then_some(1..1 + token)
}
