//! Laws P1 and J3 the other way: what only looks like a credential comes out as it went in.

use serde_json::Value;

use super::clean;
use crate::redact::Redactor;

/// What must survive as it is: words, names, ids, code and messages that only look alike.
pub(super) const LOOK_ALIKES: [&str; 203] = [
    "failed to refresh token: connection refused",
    "failed to load private key: no such file or directory",
    "failed to get secret: permission denied",
    "error loading credentials: file not found",
    "error fetching credentials: timeout after 30s",
    "auth: dial tcp 10.0.0.1:443: connection refused",
    "failed to refresh access token: 400 Bad Request",
    "no valid credentials: run `login` first",
    "auth: 401 Unauthorized",
    "jwt: signature is invalid",
    "secret: not found",
    "get credentials: EOF",
    "failed to parse cookie: unexpected end",
    "invalid password: at least 8 characters",
    "password: This field may not be blank.",
    "invalid API key: see the docs",
    r#"{"field":"password","errorCode":"too_short"} is wrong"#,
    r#"missing columns ("password", "createdAt")"#,
    r#"{"prompt":"Enter password:","user":"bob","next":"ok"} x"#,
    "a block begins with -----BEGIN and ends with -----END, as RFC 7468 says",
    "max_tokens: 100",
    "\"max_tokens\": 4096, \"n\": 1",
    "used 12,345 tokens (prompt_tokens=12000, completion_tokens=345)",
    "total tokens: 345",
    "tokenizer: cl100k_base",
    "the tokenizer=fast option",
    "eos_token: </s>",
    "the password was wrong",
    "the password is too short",
    "a secret is never shown",
    "this token has expired",
    "Unexpected token: end of file",
    "unexpected token } in JSON at position 4",
    "SyntaxError: Unexpected token '<', \"<html>\" is not valid JSON",
    "invalid_token: The access token has expired",
    "Token::End",
    "token count of gpt-4o-mini-2024-07-18 exceeded",
    "invalid token for model claude-3-5-sonnet-20241022",
    "let token = lexer.next()",
    "use the --token option",
    "password: null",
    "\"password\": null",
    "secret=false",
    "password=",
    "password= ",
    "sk-learn",
    "sk-learn-contrib-2024 and task-1234567890ab",
    "hf_hub_download_with_progress",
    "npm_config_registry_mirror",
    "risk-assessment",
    "Basic authentication failed",
    "basic types",
    "a bearer of bad news",
    "WWW-Authenticate: Bearer realm=\"example\"",
    "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
    "bad token! commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
    r#"the password, "user 2""#,
    r#"columns "password", user_2"#,
    "id 550e8400-e29b-41d4-a716-446655440000",
    "turn 01JD3K8VQ2M4N6P8R0T2V4X6Z8",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "https://example.org:8080/path?email=a@b.example&page=2",
    "ssh://git@example.org/repo.git",
    "http://db: bob@example.org",
    r#""http://db:",bob@example.org"#,
    "git@example.org:owner/repo.git",
    "mailto:someone@example.org",
    "AKIA is what AWS key ids begin with",
    "eyJ is what a JWT begins with",
    "the keyboard: qwertz, the monkey=3",
    "author: someone, authority=none",
    "primary key: id",
    "[\"password\", \"user_name\"] are required",
    "C:\\temp\\new\\readme.txt",
    "sk-123456 and hf_misunderstanding",
    "the token AbAbAbAbcdefghijklmn differs in kind 7 times in 20",
    "eyJa.length and eyJhbGciOi.abc",
    "docs/basic/tutorial-2024",
    "key=3, code=5, ?code: 5",
    "let token =lexer.next() or token= lexer.next()",
    "if password>limit",
    "--token/usage-2024",
    "used 12,345 tokens (prompt_tokens=12000, completion_tokens=345)",
    r#"{"max_tokens": 4096, "usage": {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17}, "tokens": ["Hello", " world"]}"#,
    "let token = tokens.next();",
    "let token = self.lexer.next_token()?;",
    "while let Some(token) = tokens.next() { match token { Token::End => break, Token::Word(w) => words.push(w) } }",
    "fn hides(token: &str) -> bool",
    "pub struct Config { pub password: String, pub token: Option<String> }",
    "password: String,",
    r#"if (password.length < 8) { throw new Error("Password too short") }"#,
    "const cookie = require('cookie');",
    "impl Token { fn kind(&self) -> Kind { self.kind } }",
    "token.kind == Kind::Word",
    "password_hash = hash(password)",
    "session_id: 01JD3K8VQ2M4N6P8R0T2V4X6Z8",
    r#"{"sessionId": "01JD3K8VQ2M4N6P8R0T2V4X6Z8", "session_id": "550e8400-e29b-41d4-a716-446655440000", "session": {"id": "a1b2c3d4e5f6g7h8"}}"#,
    "session: main",
    "session: demo",
    "the session: it ended well",
    "session=work-2024",
    "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
    "author: Jane Doe <jane@example.org>",
    "| field | type | what |\n| --- | --- | --- |\n| password | string | the password |\n| token | string | who you are |\n| max_tokens | number | 4096 |",
    "thread 'main' panicked at src/token.rs:12:5:\ncalled `Option::unwrap()` on a `None` value\n   0: rust_begin_unwind\n             at /rustc/90b35a6239c3d8bdabc530a6a0816f7ff89a0aaf/library/std/src/panicking.rs:676:5\n   1: core::panicking::panic_fmt\n   2: lexer::Token::next\n             at ./src/token.rs:12:5",
    "  at Object.<anonymous> (/app/src/auth/token.js:10:15)",
    r#"Traceback (most recent call last):
  File "/app/password.py", line 12, in check_password
    raise ValueError("password too short")"#,
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "the image is base64 (12 kB of image/png)",
    "password reset link sent to bob",
    "Enter password:",
    "Password: ",
    "Please enter your password and press return.",
    "The password must have 8 characters, a digit and a symbol.",
    "forgot your password? click here",
    "the secret of success is hard work",
    "Secret Santa 2024",
    "The cookie jar: 12 cookies for 3 people",
    "cookies are baked at 180 degrees",
    "basic auth is enabled",
    "bearer tokens are used",
    "authorization is required",
    "Authorization required",
    "auth: enabled",
    "primary key: id; foreign key: user_id",
    "the key is under the mat",
    "key: value",
    r#"{"key": "name", "value": "Bob"}"#,
    r#"{"name": "max_tokens", "value": 12}"#,
    r#"<property name="timeout" value="12"/>"#,
    "https://github.com/rust-lang/rust/commit/3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
    "https://example.org/a?page=2&sort=asc&token_count=5",
    "docker run -u 1000:1000 -p 80:80 image",
    "git push -u origin main:main",
    "mnemonic: MOV",
    "pin: 13",
    "pin code of the place: Delhi",
    "the DSN is not set",
    "signature: fn foo(a: u32) -> String",
    r#"{"signature": "fn foo(a: u32) -> String"}"#,
    "sig: i32",
    "otp is not supported by this server",
    r#"{"logprobs": [{"text": "Hello", "logprob": -0.3}]}"#,
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    r#"etag: "33a64df551425fcc55e4d42a148795d9f25f89d4""#,
    "x-request-id: 550e8400-e29b-41d4-a716-446655440000",
    "tokens per second: 45.3",
    "token usage: 1234 of 8192",
    "Tokens: 12",
    "rate limit: 10000 tokens per min (TPM), used 9800",
    "context length is 8192 tokens, 9001 tokens were given",
    "next_page_token: abc123",
    "cargo test -p chat-core token::tests::end",
    "access key pressed: Ctrl+K",
    "the access token expired",
    "no API key was given",
    "set the API_KEY environment variable",
    "set OPENAI_API_KEY to your key",
    "missing environment variable OPENAI_API_KEY",
    "use --password to give one",
    "--token <TOKEN>  the token",
    "-p, --password <PASSWORD>    Password of the user",
    "password=<password>",
    r#"password = os.environ["PASSWORD"]"#,
    "token = get_token()",
    r#"password = input("Password: ")"#,
    r#"api_key=os.getenv("OPENAI_API_KEY")"#,
    "the password is base64 encoded",
    "the password is hashed by bcrypt",
    "the password for bob was changed",
    r#"tokenizer: "cl100k_base""#,
    "class PasswordField(forms.Field):",
    "password?: string;",
    "interface Login { user: string; password: string }",
    "return token;",
    "error[E0425]: cannot find value `token` in this scope",
    "expected token: `;`",
    "warning: unused variable: `token`",
    "postgres://localhost:5432/app",
    "ws://127.0.0.1:8080/session",
    "http://user@example.org/",
    "email: bob@example.org",
    "mailto:bob@example.org?subject=password",
    r#""Basic" and "Premium" plans"#,
    "Bearer of the ring",
    "sk-learn and sk-image",
    "SELECT password FROM users WHERE name = 'bob'",
    "ALTER TABLE users ADD COLUMN password TEXT NOT NULL",
    r#"{"properties": {"user": {"type": "string"}}, "required": ["user", "password"]}"#,
    "100% of the tokens",
    r#"C:\Users\bob\token.txt"#,
    "/etc/secrets/token",
    "cat .env | grep PASSWORD",
    "SESSION ENDED",
    "cookie: no",
    "train -gpu cuda:0",
    "docker run -itu 1000:1000 image",
    r#"get_secret("prod/db1")"#,
    r#"Token("identifier")"#,
    r#"expect_token("=>")"#,
    r#"Secret("my-app-tls")"#,
    r#"password("Enter your password:")"#,
    "请把 token：放在请求头里",
];

#[test]
fn p1_what_only_looks_alike_survives() {
    for text in LOOK_ALIKES {
        assert_eq!(clean(text), text);
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            assert_eq!(Redactor::default().json(&value), value);
        }
    }
}

#[test]
fn p1_schemas_and_log_probabilities_hold_no_credentials() {
    let redactor = Redactor::default();
    let same = serde_json::json!({
        "properties": {"token": {"type": "string", "description": "who asks"}},
        "content": [{"token": "hello", "logprob": -0.1}],
        "optional": {"api_key": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "Key"}},
        "either": {"secret": {"type": ["string", "null"]}, "credentials": {"$ref": "#/$defs/Credentials"}},
    });
    assert_eq!(redactor.json(&same), same);
    // One that holds a value is hidden with it.
    for held in [
        serde_json::json!({"type": "string", "default": "abc"}),
        serde_json::json!({"type": ["string", 7]}),
        serde_json::json!({"$ref": "abc"}),
        serde_json::json!({"anyOf": [{"type": "string"}, "abc"]}),
        serde_json::json!({"anyOf": [{"type": "string", "default": "abc"}]}),
        serde_json::json!({"anyOf": [{"type": "string"}], "default": "abc"}),
        serde_json::json!({"type": "string", "$ref": "abc"}),
        serde_json::json!({"anyOf": [{"type": "string"}], "example": "abc"}),
        serde_json::json!({"anyOf": "abc"}),
    ] {
        let hidden = serde_json::json!({"token": "[redacted]"});
        assert_eq!(redactor.json(&serde_json::json!({"token": held})), hidden);
    }
}

#[test]
fn p1_type_arguments_are_no_tags() {
    for text in [
        "struct Parser {\n    tokens: Vec<Token>,\n    at: usize,\n}\n\nfn bytes() -> Vec<u8> {}",
        "new ArrayList<Token>();\nfor (int i = 0; i < 3; i++) {}",
        "load(): Promise<Token>;\n  all(): Array<string>;",
        "key: impl Into<Secret>) -> Result<Self, Error>",
        "parse::<Password>(line)?; x < y",
    ] {
        assert_eq!(clean(text), text);
    }
    for text in [
        "<User>bob</User><Password>hunter2",
        "<Password>hunter2",
        "bob<password>hunter2",
        "bob<Password>hunter2</Password>",
        "of type <Token>hunter2",
    ] {
        assert!(!clean(text).contains("hunter2"), "{text}");
    }
}

#[test]
fn p1_nothing_is_nothing_whatever_closes_behind_it() {
    for text in [
        "def login(user, password=None):\n    return user",
        "def __init__(self, token=False):",
        "lambda password=None: password",
        r#"fetch(url, {method: "POST", credentials: "include", headers})"#,
        "fetch(url, { credentials: 'same-origin' })",
        "permissions:\n  contents: read\n  id-token: write",
        r#"it said {"token": null}."#,
    ] {
        assert_eq!(clean(text), text);
    }
    for text in ["password=nonesuch", "password=None):x", "password=no-1"] {
        assert_eq!(clean(text), "password=[redacted]");
    }
}

#[test]
fn p1_what_is_filled_in_elsewhere_stays() {
    for text in [
        "env:\n  GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}\n  OTHER: 1",
        r#"POSTGRES_PASSWORD: "${DB_PASSWORD}""#,
        "docker run -e POSTGRES_PASSWORD=$POSTGRES_PASSWORD image",
        r#"PGPASSWORD="$DB_PASSWORD" psql"#,
        r#"curl -H "Authorization: Bearer $OPENAI_API_KEY" https://api.example.org"#,
        "curl -H 'X-Api-Key: ${API_KEY}'",
        "send `Authorization: Bearer <token>` with it",
        r#"export API_KEY="<your-api-key>""#,
        "select id from users where name = $1 and password = $2",
        "update users set password = ?, api_key = %s",
    ] {
        assert_eq!(clean(text), text);
    }
    for text in [
        "password=$hunter2",
        "password=$",
        "password: ${PASSWORD:-hunter2}",
        "password: ${PASSWORD-hunter}",
        "token: ${{ secrets.TOKEN || 'hunter2' }}",
        "Authorization: Bearer $KEY hunter2",
        "Authorization: Bearer hunter",
        r#"api_key = "<hunter2>""#,
    ] {
        assert_ne!(clean(text), text);
        assert!(!clean(text).contains("hunter"), "{text}");
    }
}

#[test]
fn p1_names_of_variables_in_a_list_stay() {
    for text in [
        "set `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `CHAT_MODEL`",
        r#"for name in ["DB_PASSWORD", "DB_USER"] {"#,
    ] {
        assert_eq!(clean(text), text);
    }
    let redactor = Redactor::default();
    let names = serde_json::json!(["OPENAI_API_KEY", "OPENAI_BASE_URL"]);
    assert_eq!(redactor.json(&names), names);
    for held in ["ABCDEFGH", "AB_CD_12", "ab_CD"] {
        let pair = serde_json::json!(["OPENAI_API_KEY", held]);
        assert_eq!(redactor.json(&pair)[1], "[redacted]");
        assert!(!clean(&format!(r#"("OPENAI_API_KEY", "{held}")"#)).contains(held));
    }
}

#[test]
fn p1_code_that_names_a_type_or_asks_for_a_credential_stays() {
    for text in [
        "pub async fn run(token: CancellationToken) {",
        "struct Job {\n    token: tokio_util::sync::CancellationToken,\n}",
        "let token = CancellationToken::new();",
        "fn wake(token: mio::Token) {}",
        r#"client = OpenAI(api_key=os.environ.get("OPENAI_API_KEY"))"#,
        r#"password = data.get("password")"#,
        r#"token := c.Request.Header.Get("X-Auth-Token")"#,
        "const apiKey = process.env.OPENAI_API_KEY!;",
    ] {
        assert_eq!(clean(text), text);
    }
    for text in [
        "token: Some(hunter2)",
        "Config { token: Token(hunter), n: 1 }",
        r#"token: Token::from("hunter")"#,
        r#"password = data.get("user") or "hunter2""#,
        r#"api_key = os.environ.get("API_KEY", "hunter2")"#,
        "token: hunterToken",
        "token: Hunter2Token",
    ] {
        assert_ne!(clean(text), text);
    }
}
