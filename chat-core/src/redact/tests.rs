//! Laws J3 and P1 for the redactor: what must never come out, what must survive, and that twice is once.

use serde_json::json;

use super::{json::MAX_DEPTH, *};

mod innocent;
mod known;
mod leaks;
mod names;
mod planted;
mod properties;

fn clean(text: &str) -> String {
    let redactor = Redactor::default();
    let clean = redactor.text(text).into_owned();
    assert_eq!(redactor.text(&clean), clean, "twice is once, from {text:?}");
    clean
}

/// Takes out what stands between « and », and nothing else.
fn check(marked: &str) {
    let expected: String = marked
        .split(['«', '»'])
        .enumerate()
        .map(|(place, piece)| if place % 2 == 0 { piece } else { MARK })
        .collect();
    assert_eq!(clean(&marked.replace(['«', '»'], "")), expected);
}

#[test]
fn p1_json_stays_json_where_what_is_taken_out_is_no_text() {
    for json in [
        r#"{"n": 1, "password": 1234}"#,
        r#"{"n": 1, "password": {"id": "a", "k": "b"}}"#,
    ] {
        let text = format!("it said {json} at last");
        assert_eq!(
            clean(&text),
            r#"it said {"n":1,"password":"[redacted]"} at last"#
        );
    }
}

#[test]
fn p1_c67_credentials_under_a_name_are_taken_out_and_the_rest_stays() {
    for marked in [
        "password=«hunter2»",
        "password: «hunter2», user: bob",
        "PASSWORD = '«hunter 2»' port=1",
        "x-api-key: «abc»\r\naccept: */*",
        "Authorization: «Basic dTpw»\nHost: example.org",
        r#"proxy-authorization: «Digest username="u", response="abc"»"#,
        "curl -H 'Authorization: «Bearer abc»' https://example.org",
        r#"{"log":"Cookie: «sid=abc; a=b»\nHost: h"}"#,
        "Set-Cookie: «sid=abc; Path=/»",
        "GET /v1?api_key=«abc»&limit=5 HTTP/1.1",
        "https://example.org/maps?key=«abc#top»",
        "https://example.org/?a=1&token=«abc»&b=2",
        "refused with token=«abc»",
        r#"{"apiKey": "«abc»", "model": "m"}"#,
        r#"{"password": "«a\"b\\»", "n": 1}"#,
        r#"{"password": "«secret»", "n": 1}"#,
        r#"{"password": «1234», "n": "#,
        r#"body: "{\"client_secret\": \"«ab\\\"c»\", \"n\": 1}""#,
        r#"Config { token: «Some("abc")», port: 1 }"#,
        r#"Config { secret: «Secret { inner: "abc" }», port: 1 }"#,
        "{'password': «b'hunter2'», 'n': 1}",
        r#"password=«b"hunter2"» n=1"#,
        "<password>«hunter2»</password>",
        "user[password]=«hunter2»&user[name]=bob",
        r#"[("x-api-key", "«ab-1»"), ("accept", "text")]"#,
        "(password=«hunter2») refused",
        r#"password=«p)a]s,s'w"o»&rd!"#,
        r#"password: «p)a]s,s'w"o&rd!»"#,
        "API key: «abc»; next",
        "access token = «abc»",
        "connection string: «Server=db;Password=a b;»",
        "Server=db;Password=«abc»;Timeout=5",
        "private key: «-----BEGIN X-----\nabc\n-----END X----- ok»",
        "login --password «hunter2» --host h",
        "login --token «user/password=hunter»",
        "login --token «[redacted]abc123»",
        r#"secret => "«abc»""#,
        r#"password="«cut off in the mid»"#,
        "spring.datasource.password=«abc»",
        "wrong password: API key: «abc»",
        "password= X-Api-Key: «abc»",
        "密码password=«abc» 。",
        r#"Config { secret: «Secret { inner: "a}b" }», port: 1 }"#,
        r#"log: "{\"secret\": «{\"k\": \"a}b\"}», \"n\": 1}""#,
        r###"password=«r#"hunter 2"#» n=1"###,
        r#"password: «&"hunter 2"», n: 1"#,
        r#"password=«abc"def» ghi" n=1"#,
        r#"password=«1"b» c" n=1"#,
        "password: «hunter2» (wrong)",
        "password: «Hunter!2» (wrong)",
        "password=«Hunter2» n=1",
        r#"body: "cookie: «a=b»\\\nHost: h""#,
        r#"body: "{\"log\": \"Cookie: «a=b»\"}""#,
        "password=«null-----BEGIN X-----password=»",
        "password=«ghp_passwordpassword=»",
        "token: «abc»",
        "conn_string=«Server=db; Password=a b»",
        "connectionstring=«Server=db; Password=a b»",
        "privatekey: «a b»",
        r#"log: "[(\"x-api-key\", \"«ab-1»\")]""#,
        r#"body: "{\"password\": \"«a\\\\»\", \"n\": 1}""#,
        r"cookie: «a=b\»",
    ] {
        check(marked);
    }
}

#[test]
fn p1_c67_credentials_are_told_by_their_form() {
    for marked in [
        "got Bearer «abcdef12» back",
        "got bearer «dXNlcjpwYXNz.»",
        "Basic «dXNlcjpwYXNzd29yZA==»",
        "bad key «sk-abcdefghijklmnopqrstuvwxyz», sorry",
        "bad key «sk-proj-Ab12Cd34-Ef56».",
        r"line\n«sk-ant-api03-abcdef123456»",
        "«ghp_16C7e42F292c6912E7710c838347Ae178B4a»",
        "«github_pat_11ABCDEFG0123456789_abcdefghijklmnop»",
        "(«AKIAIOSFODNN7EXAMPLE»)",
        "bot.«xoxb-123456789012-abcdefGHIJKL»",
        "«AIzaSyA1234567890abcdefghijklmnopqrstuv»",
        "<«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl»>",
        "a\n«-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----»\nb",
        r"«-----BEGIN PRIVATE KEY-----\nMIIE»",
        "postgres://bob:«hunter2»@db:5432/app",
        "postgres://bob:«p@ss/w?rd»@db:5432/app",
        "redis://:«hunter2»@cache",
        "https://token:«abc»@example.org/",
        "https://«0123456789abcdef0123»@example.org",
        "the token «0123456789abcdef0123» was refused",
        "Incorrect API key provided «9aF3kLq8ZxP2mN7vB4»",
        "secret «wJal/rXUtnFEMIbPxRfiCYaBcDeFgH+a»",
        r"line\n«eyJhbGciOi.eyJz»",
        "«-----BEGIN X-----\nabc\n-----END X-----»«eyJhbGciOi.eyJz»",
        "«sk-AbCdefghijklmnopq» is a key without a digit",
        "the token «aBaBaBaBabcdefghijkl» differs in kind 8 times in 20",
        "0123456789abcdef0123-«ghp_16C7e42F292c6912E7710c838347Ae178B4a» ends in a key",
        "the token «0123456789abcdef0123-ghp_16C7e42F292c6912E7710c838347Ae178B4a» does too",
        "the token «sk-abcdefghijklmnopqrstuvwxyz» 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "the token [redacted] and password=«abc»",
    ] {
        check(marked);
    }
}

#[test]
fn p1_json_is_redacted_by_key_by_form_and_inside_strings() {
    let value = json!({
        "model": "m", "max_tokens": 5, "password": null, "secret": true, "token": "", "passwd": 1234,
        "nested": [{"X-Api-Key": "abc", "list": ["Bearer abcdef123", "ok"]}],
        "credentials": {"id": "a"},
        "headers": [["authorization", "Negotiate abc"], ["accept", "text"], {"name": "Cookie", "value": "a=b"}],
        "required": ["password", "user_name"],
        "body": "{\"password\": \"hunter2\", \"big\": 12345678901234567890123}",
        "twice": "[\"{\\\"token\\\": \\\"abc\\\"}\"]",
        "innocent": "{\"big\": 12345678901234567890123}",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a": 1,
    });
    let expected = json!({
        "model": "m", "max_tokens": 5, "password": null, "secret": true, "token": "", "passwd": "[redacted]",
        "nested": [{"X-Api-Key": "[redacted]", "list": ["Bearer [redacted]", "ok"]}],
        "credentials": "[redacted]",
        "headers": [["authorization", "[redacted]"], ["accept", "text"], {"name": "Cookie", "value": "[redacted]"}],
        "required": ["password", "user_name"],
        "body": "{\"big\":1.2345678901234568e+22,\"password\":\"[redacted]\"}",
        "twice": "[\"{\\\"token\\\":\\\"[redacted]\\\"}\"]",
        "innocent": "{\"big\": 12345678901234567890123}",
        "[redacted]": 1,
    });
    let redactor = Redactor::default();
    assert_eq!(redactor.json(&value), expected);
    assert_eq!(redactor.json(&expected), expected);
}

#[test]
fn p3_json_is_looked_into_down_to_a_stated_depth() {
    let nested = |depth| (0..depth).fold(json!("word"), |inner, _| json!([inner]));
    let redactor = Redactor::default();
    assert_eq!(redactor.json(&nested(MAX_DEPTH)), nested(MAX_DEPTH));
    let cut = (0..=MAX_DEPTH).fold(json!(MARK), |inner, _| json!([inner]));
    assert_eq!(redactor.json(&nested(MAX_DEPTH + 1)), cut);
}

#[test]
fn p3_deep_json_is_cut_not_followed() {
    let deep = (0..1000).fold(json!("Bearer abcdef123"), |inner, _| json!([inner]));
    let text = Redactor::default().json(&deep).to_string();
    assert!(text.contains(MARK) && text.len() < 400, "{text}");
}

#[test]
fn p1_time_grows_with_the_text() {
    // Each makes a scanner look far ahead at every step: one that looked on again from each place it sees would not end.
    for piece in [
        "sk-",
        "eyJ-",
        "eyJa.",
        "a://",
        "a://b:c/",
        "token/",
        "bearer ",
        "password=\"",
        "token: ",
        "x token: '",
        "\\",
        "\\\"",
        "password",
        "-----BEGIN ",
        "-----BEGIN X-----",
        "(",
        "password=(",
        "))",
        "password=)",
        "secret ",
        "a.",
        "=",
        "cookie: ",
        MARK,
        "token=[redacted]",
        "é",
        "ghp_",
        "--token ",
        "AKIA",
        "user[",
        "<a:b>",
        "a:b>",
        "name=\"",
        "key: |\n",
        "token: |\\n ",
        "a:@",
        "-u a:",
        "password is ",
        "password%3D",
        "token=\"\"\"",
        "API_KEY ",
        "session=",
        "session: (",
        "mnemonic:",
        "password:",
        "password is (",
        "token=a password=",
    ] {
        let text = piece.repeat(4_000 / piece.len());
        clean(&text);
    }
}
