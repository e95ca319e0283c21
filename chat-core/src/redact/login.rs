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
    match word {
        "--user" | "--proxy-user" | "--http-user" => user(seen(rest)),
        // `-u`, `-su`
        _ if is_user_option(word) => user(seen(rest)),
        "hooks.slack.com" => webhook(seen(rest), &["/services/", "/workflows/", "/triggers/"]),
        "webhooks" if first == Some(b'/') => {
            webhook(seen(rest), &["/"]).filter(|secret| secret.len() >= 32)
        }
        // Most words: nothing is looked for behind them.
        _ if !rest.starts_with(':') => None,
        _ => {
            let behind = seen(rest).strip_prefix(':')?;
            let secret = match word {
                "thin" | "oci" if first == Some(b':') => between(behind, '/', "@"),
                _ => telegram(word, behind).or_else(|| data_source(behind)),
            };
            secret.map(|secret| secret.start + 1..secret.end + 1)
        }
    }
}

/// Whether a word is the option `-u`, alone or behind others of curl's that take no value.
fn is_user_option(word: &str) -> bool {
    let options = word
        .strip_prefix('-')
        .and_then(|word| word.strip_suffix('u'));
    options.is_some_and(|others| others.bytes().all(|b| b"fgiIkLnNsSv".contains(&b)))
}

/// As much as is looked at, and nothing behind a mark.
fn seen(rest: &str) -> &str {
    let rest = &rest[..rest.floor_char_boundary(LOOK_AHEAD)];
    rest.split_once(MARK).map_or(rest, |(before, _)| before)
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

/// `123456789:AA...`, the token of a bot of Telegram.
fn telegram(word: &str, behind: &str) -> Option<Range<usize>> {
    let number = word.strip_prefix("bot").unwrap_or(word);
    let numbered = (8..=12).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    let token = run(behind.as_bytes(), is_key_byte);
    (numbered && token >= 30).then_some(0..token)
}

/// `bob:secret@tcp(db:3306)/app`
fn data_source(behind: &str) -> Option<Range<usize>> {
    let bare = behind
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\''))
        .next()?;
    let bare = &bare[..bare.floor_char_boundary(LOOK_AHEAD / 4)];
    let end = bare.find("@tcp(").or_else(|| bare.find("@unix("))?;
    (end > 0 && !bare.starts_with('/')).then_some(0..end)
}
