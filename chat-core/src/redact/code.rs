//! Source code that says where a credential comes from, or of which type it is, and holds none itself.

use super::MARK;

/// What fields that hold credentials have for a type.
const TYPES: [&str; 22] = [
    "String",
    "str",
    "string",
    "Str",
    "SecretStr",
    "SecretString",
    "SecretBox",
    "Token",
    "number",
    "int",
    "bool",
    "boolean",
    "bytes",
    "Bytes",
    "text",
    "TEXT",
    "varchar",
    "VARCHAR",
    "any",
    "Option",
    "Optional",
    "Vec",
];

/// What settings and their like are members of.
const OWNERS: [&str; 10] = [
    "self.",
    "this.",
    "process.env.",
    "import.meta.env.",
    "os.environ",
    "args.",
    "opts.",
    "config.",
    "settings.",
    "env.",
];

/// What asks for a value by a name, which stands in quotes.
const ASKING: [&str; 12] = [
    "getenv", "get_env", "env", "var", "input", "prompt", "getpass", "require", "environ", "get",
    "Get", "config",
];

/// The longest expression that is looked at.
const MAX_BYTES: usize = 160;

/// Whether a value without quotes is a type, a call or a member, and tells nothing. Whoever wrote a real password like one
/// of these has it shown; names with digits in them are none of these.
pub(super) fn is_expression(value: &str) -> bool {
    if value.len() > MAX_BYTES || value.contains(MARK) {
        return false;
    }
    let value = value.trim_end_matches(['?', ';', ',', '!']);
    let value = value.strip_prefix('&').unwrap_or(value);
    if is_type(value) || is_placeholder(value) {
        return true;
    }
    let Some((path, args)) = value.split_once('(') else {
        return OWNERS
            .iter()
            .any(|owner| value.strip_prefix(owner).is_some_and(is_member));
    };
    let Some(args) = args.strip_suffix(')').filter(|_| is_path(path)) else {
        return false;
    };
    let asks = path
        .rsplit(['.', ':'])
        .next()
        .is_some_and(|last| ASKING.contains(&last));
    let name = |c: char| {
        c.is_ascii_alphabetic() || matches!(c, '_' | '.' | ',' | ' ' | '&' | '*' | '(' | ')' | '?')
    };
    let quoted = |c: char| name(c) || matches!(c, '"' | '\'' | '-' | ':');
    args.chars().all(|c| if asks { quoted(c) } else { name(c) })
}

/// `String`, `mio::Token`, `CancellationToken`
fn is_type(value: &str) -> bool {
    let (path, name) = value.rsplit_once("::").unwrap_or(("", value));
    let is_token = name.ends_with("Token")
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_alphabetic());
    (is_token || TYPES.contains(&name)) && (path.is_empty() || is_path(path))
}

/// Whether it is filled in elsewhere, behind a scheme or alone: `${NAME}`, `$NAME`, `{{ name }}`, `${{ secrets.NAME }}`, `<name>`.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = match value.split_once(' ') {
        Some((scheme, rest))
            if ["bearer", "basic", "token"]
                .iter()
                .any(|one| scheme.eq_ignore_ascii_case(one)) =>
        {
            rest
        }
        _ => value,
    };
    let inner = |open, close| value.strip_prefix(open)?.strip_suffix(close);
    let name = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | ' ');
    let variable = value.strip_prefix('$').is_some_and(|name| {
        name.len() > 1 && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    });
    // What a database binds.
    let bound = matches!(value, "?" | "%s")
        || value.strip_prefix('$').is_some_and(|number| {
            (1..=2).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit())
        });
    let asked = inner("<", ">").is_some_and(|what| what.chars().all(|c| name(c) || c == '-'));
    variable
        || bound
        || asked
        || inner("${{", "}}")
            .or_else(|| inner("${", "}"))
            .or_else(|| inner("{{", "}}"))
            .is_some_and(|name_in| name_in.chars().all(name))
}

/// `lexer.next_token`, `std::env::var`, `Token::new`: begins small or names what is in a type, so that it is nothing that `Debug`
/// prints.
fn is_path(path: &str) -> bool {
    (path.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') || path.contains("::"))
        && path
            .chars()
            .all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | ':'))
}

/// `api_key`, `["API_KEY"]`
fn is_member(rest: &str) -> bool {
    !rest.is_empty()
        && rest
            .chars()
            .all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | '[' | ']' | '"' | '\''))
}
