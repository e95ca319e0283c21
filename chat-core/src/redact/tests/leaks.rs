//! Laws J3 and P1 for what is met in the world: commands, files, dumps and messages that show a credential (C66, C67).

use serde_json::json;

use crate::redact::Redactor;

/// What stands between « and » must not come out.
const LEAKS: [&str; 161] = [
    r#"let API_KEY: &str = "«abc»";"#,
    r#"password: str = "«hunter2»""#,
    r#"apiKey: process.env.API_KEY || "«abcdefgh1»","#,
    "ts=1 token=«abc» password=«def»",
    "DB_PASSWORD=«correcthorse» API_KEY=«xyzzy»",
    "password: «correct-horse-battery» token: «xyz1»",
    r#"failed: {"Name":"password","Value":"«hunter2»"}"#,
    r#"failed: {"log":"Authorization: «Digest username=\"bob\", realm=\"x\", response=\"6629fae4\"»"}"#,
    r#"curl -H "Cookie: «a=\"1\"; sid=abcdef9»" x"#,
    "https://«0123456789abcdef0123:x-oauth-basic»@github.com/a",
    "https://«0123456789abcdef0123:»@api.example.org",
    "STRIPE_API_KEY_LIVE=«abc» DB_PASSWORD_PROD=«def»",
    "map[Authorization:[«Bearer abc»] Content-Type:[application/json]]",
    "map[Cookie:[«a=1»] Accept:[*/*]]",
    "curl -u bob:«hunter2» https://api.example.org/v1",
    "curl --user 'bob:«hunter 2»' https://api.example.org",
    r#"curl -H "X-Api-Key: «abc-123»" -d '{"password":"«hunter2»"}' https://example.org"#,
    "curl https://example.org -H 'Authorization: Bearer «abc.def»' -H 'Accept: */*'",
    r#"curl --cookie "sid=«abc; tok=def»" https://x"#,
    "docker run -e DB_PASSWORD=«hunter2» -e POSTGRES_PASSWORD=«pg!pass» -p 80:80 image",
    "PATH=/usr/bin\nOPENAI_API_KEY=«abcdef»\nAWS_ACCESS_KEY_ID=«AKIAIOSFODNN7EXAMPLE»\nAWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»\nHOME=/root",
    r#"POST /v1 HTTP/1.1
Host: api.example.org
Authorization: Basic «dXNlcjpwYXNz»
Cookie: «sid=abc; theme=dark»
X-Auth-Token: «abc»
X-Csrf-Token: «abc1»
Content-Type: application/json

{"a":1}"#,
    "//registry.npmjs.org/:_authToken=«npm_abcdefghijklmnopqrstuvwxyz0123456789»",
    "//registry.example.org/:_password=«aHVudGVyMg==»",
    "machine example.org login bob password «hunter2»",
    "machine example.org\n  login bob\n  password «hunter2abc»",
    "apiVersion: v1\nusers:\n- name: admin\n  user:\n    client-certificate-data: LS0tLS1\n    client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=»\n    token: «abcdef»",
    "kind: Secret\ndata:\n  password: «aHVudGVyMg==»\n  username: Ym9i",
    "database:\n  host: db\n  password: «hunter2»\n  pool: 5",
    "database:\n  password: >-\n    «hunter2longer»\n  pool: 5",
    "private_key: |\n  «MIIEvQIBADANBgkqhkiG9w0BAQEFAASC»\n  «BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj»\nother: 1",
    r#"[db]
password = "«hunter2»"
port = 5432"#,
    r#"[db]
password = """«hun
ter2»""""#,
    "[section]\npasswd=«hunter2»\n; comment",
    "Set-Cookie: «JSESSIONID=abc; Path=/; HttpOnly»",
    "mysql://root:«hunter2»@db/app",
    "mongodb+srv://bob:«hunter2»@cluster0.mongodb.net/app",
    "jdbc:sqlserver://db:1433;user=sa;password=«hunter2»;encrypt=true",
    "jdbc:oracle:thin:bob/«hunter2»@//db:1521/app",
    "jdbc:mysql://db/app?user=bob&password=«hunter2»",
    "Server=tcp:db.windows.net;User ID=sa;Password=«hunter2»;Encrypt=true",
    "Server=db;Uid=sa;Pwd=«hunter2»;",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=«abcdef==»;EndpointSuffix=core.windows.net",
    "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«abcdef=»",
    "host=db user=bob password=«hunter2» dbname=app",
    "amqp://guest:«hunter2»@rabbit:5672/",
    "sftp://bob:«hunter2»@host/path",
    "{'password': '«hunter2»', 'user': 'bob'}",
    "{'api_key': b'«hunter2»', 'n': 1}",
    "OrderedDict([('password', '«hunter2»'), ('n', 1)])",
    r#"Config { api_key: "«hunter2»", n: 1 }"#,
    r#"Config { api_key: Some("«hunter2»"), n: 1 }"#,
    r#"Config { api_key: Some(Secret("«hunter2»")), n: 1 }"#,
    r#"Config {
    api_key: Some(
        "«hunter2»",
    ),
    n: 1,
}"#,
    "map[password:«hunter2» user:bob]",
    "&{Password:«hunter2» User:bob}",
    r#"config.Config{Password:"«hunter2»", User:"bob"}"#,
    r#"map[string]string{"password":"«hunter2»", "user":"bob"}"#,
    "<config><password>«hunter2»</password><apiKey>«abc»</apiKey></config>",
    r#"<add key="ApiKey" value="«abc-1»" />"#,
    r#"<property name="password" value="«hunter2»"/>"#,
    r#"<user name="bob" password="«hunter2»"/>"#,
    r#"<password type="plain">«hunter2»</password>"#,
    "<ns:password>«hunter2»</ns:password>",
    "https://example.org/cb?code=«abc»&state=1",
    "https://x.blob.core.windows.net/c?sv=2020&sig=«abc%2Fdef%3D»&se=1",
    "https://s3.amazonaws.com/b/k?X-Amz-Credential=«AKIAIOSFODNN7EXAMPLE/2013»&X-Amz-Signature=«abcdef»",
    "https://example.org/#access_token=«abc»&type=bearer",
    "https://example.org/login?password=«hunter2»",
    "2024-01-01T00:00:00Z INFO login user=bob password=«hunter2» ok",
    r#"level=info msg="auth" token=«abc» path=/x"#,
    "password is «hunter2!9»",
    "the password is: «hunter2»",
    "your API key is «abcdef12345678901234»",
    "Password for bob: «hunter2»",
    "session: «9f86d081884c7d659a2feaa0c55ad015»",
    "session=«eyJ1c2VyIjoxfQ.Zabcde.xyz012»",
    "connect.sid=«s%3Aabc123def456.xyz»",
    "PHPSESSID=«abc123def456ghi789»",
    ";jsessionid=«0A1B2C3D4E5F60718293»?x=1",
    "x-functions-key: «abc»",
    "otp: «123456»",
    "client_assertion=«abc.def»",
    "SENTRY_DSN=«https://abcdef0123456789abcdef0123456789@o1.ingest.sentry.io/1»",
    r#"mnemonic: "«abandon ability able about above absent absorb abstract absurd abuse access accident»""#,
    "seed_phrase = «abandon ability able about above absent»",
    "DATABASE_URL=postgres://bob:«hunter2»@db/app",
    "https://hooks.slack.com/services/«T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX»",
    "https://discord.com/api/webhooks/123/«abcdefABCDEF0123456789abcdefABCDEF0123456789»",
    "https://api.telegram.org/bot«123456789:AAHabcdefghijklmnopqrstuvwxyz012345»/getMe",
    "export const API_KEY = `«abc»`;",
    r#"process.env.SECRET_KEY = "«abc»""#,
    r#"os.environ["API_KEY"] = "«abc»""#,
    r#"config["api_key"]="«abc»""#,
    "environ({'API_KEY': '«abc»', 'HOME': '/root'})",
    r#"%{password: "«hunter2»", user: "bob"}"#,
    r#"{:password=>"«hunter2»", :user=>"bob"}"#,
    r#"#<User password="«hunter2»">"#,
    "array('password' => '«hunter2»', 'n' => 1)",
    r#"["password"]=> string(7) "«hunter2»""#,
    "  'password' => string '«hunter2»' (length=7)",
    "User(name='bob', password='«hunter2»')",
    "User(name=bob, password=«hunter2», age=5)",
    "User[name=bob, password=«hunter2», age=5]",
    "ENV API_KEY=«abcdefgh»",
    r#"setx API_KEY "«abcdefgh»""#,
    r#"$env:API_KEY = "«abc»""#,
    "PGPASSWORD=«hunter2» psql -h db",
    "--api-key=«abc» --n 1",
    r#"--password="«hunter 2»""#,
    "--password '«hunter 2»'",
    "Authorization: AWS4-HMAC-SHA256 Credential=AKIA/2013, Signature=«abcdef»",
    "Authorization: «ApiKey abc»",
    "Authorization: token «abc»",
    r#""Authorization": ["«Bearer abc»"]"#,
    r#"headers: {"authorization": Sensitive, "x-api-key": "«abc»"}"#,
    r#"-H "apikey: «abc»""#,
    "grant_type=password&username=bob&password=«hunter2»&client_secret=«xyz»",
    "PRIVATE_TOKEN: «abc»",
    "secrets: [«abc», «def»]",
    "token «abc123def456ghi7» rejected",
    "aws_session_token = «FwoGZXIvYXdzEBYaDKexample»",
    "azure_client_secret: «abc~def»",
    r#"ConsumerSecret = "«abc»", ConsumerKey = "«def»""#,
    "stripe.api_key = '«sk_live_abcdefghijklmn»'",
    r#"{"data":{"apiKey":{"value":"«abc»"}}}"#,
    r#"{"auth":{"username":"bob","password":"«hunter2»"}}"#,
    r#"{"auths":{"https://index.docker.io/v1/":{"auth":"«Ym9iOmh1bnRlcjI=»"}}}"#,
    "ssh-rsa key and -----BEGIN OPENSSH PRIVATE KEY-----\n«b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ»\n-----END OPENSSH PRIVATE KEY-----",
    "age key AGE-SECRET-KEY-«1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQQPZRY9X8GF2TVDW0S3JN»",
    r#"PASSWORD: "«hunter2»" # comment"#,
    "password=«hunter2»%0A",
    "password%3D«hunter2»",
    r#"{"msg":"failed: {\"password\":\"«hunter2»\"}"}"#,
    r#"{"msg":"failed: {\"x\":\"{\\\"password\\\":\\\"«hunter2»\\\"}\"}"}"#,
    "passphrase: «correct horse battery»",
    "Password : «hunter2»",
    "Password\t«hunter2xyz9»",
    "| password | «hunter2xyz9» |",
    "password → «hunter2xyz9»",
    r#"SSH_PRIVATE_KEY="«-----BEGIN RSA PRIVATE KEY-----
MIIEabcdef
-----END RSA PRIVATE KEY-----»""#,
    "docker login -u bob --password «hunter2» registry",
    r#"{"msg":"rejected {\"name\":\"x-api-key\",\"value\":\"«abc»\"}"}"#,
    r#"rejected {"name": "x-api-key", "in": "header", "value": "«abc»"}: 401"#,
    "- name: DB_PASSWORD\n  value: «hunter2»\n- name: HOME\n  value: /root",
    "dsn: bob:«hunter2»@tcp(db:3306)/app",
    "open bob:«hunter2»@unix(/tmp/db.sock)/app failed",
    "redirect=https%3A%2F%2Fx%3Fa%3D1%26token%3D«abc»%26n%3D1",
    "%7B%22password%22%3A%22«hunter2»%22%7D",
    "hvs.«CAESIabcdefghijklmnop»",
    "--proxy-user=bob:«hunter2»",
    "curl -su bob:«hunter2» https://api.example.org",
    "curl -sSfu 'bob:«hunter 2»' https://api.example.org",
    "密码 password：«hunter2»",
    "api_key ＝ «abc»",
    r#"refused: Auth(ApiKey("«hunter22»"))"#,
    r#"client.set_password("«hunter22»")"#,
    r#"Client::new().bearer_token('«abc12345»').build()"#,
    r#"it said {"error":"bad Password(\"«hunter22»\")"} x"#,
    "headers=[(b'x-api-key', b'«abc-1»'), (b'authorization', b'«Bearer hunter2»'), (b'host', b'example.org')]",
    r#"return_value=(b"HTTP/1.1", 200, [(b"Set-Cookie", b"«sid=abc; Path=/»"), (b"Server", b"nginx")])"#,
];

#[test]
fn p1_j3_c66_c67_no_shape_that_is_met_shows_its_credential() {
    let redactor = Redactor::default();
    for marked in LEAKS {
        let text = marked.replace(['«', '»'], "");
        let inner = json!({"log": text}).to_string();
        let shown = [
            redactor.text(&text).into_owned(),
            redactor.json(&json!([{"error": text}])).to_string(),
            redactor.json(&json!({"body": inner})).to_string(),
        ];
        for secret in marked.split(['«', '»']).skip(1).step_by(2) {
            for shown in &shown {
                assert!(
                    !shown.contains(secret),
                    "{secret:?} of {text:?} came out: {shown}"
                );
            }
        }
        assert_eq!(
            redactor.text(&shown[0]),
            shown[0],
            "twice is once, from {text:?}"
        );
    }
}

#[test]
fn p1_c66_credentials_in_json_behind_words_are_taken_out() {
    let redactor = Redactor::default();
    for text in [
        r#"failed: {"log":"Authorization: Digest username=\"bob\", response=\"hunter2\""}"#,
        r#"failed: {"log":"Cookie: a=\"1\"; sid=hunter2"} at last"#,
        r#"failed: {"cmd":"curl -u \"bob:hunter2\" x"}"#,
        r##"failed: {"log":"#define API_KEY \"hunter2\""}"##,
        r#"failed: {"url":"https:\/\/bob:hunter2@host\/x"} at last"#,
        r#"failed: {"args":["--token","hunter2"]} at last"#,
        r#"failed: {"outer":"it said {\"password\":\"hunter2\"}"} at last"#,
        r"failed: {\u0022password\u0022:\u0022hunter2\u0022}",
        "failed: {&quot;password&quot;:&quot;hunter2&quot;}",
        "\u{1b}[1mpassword\u{1b}[0m: hunter2 \u{1b}[33mtoken\u{1b}[0m=hunter2",
    ] {
        let clean = redactor.text(text);
        assert!(!clean.contains("hunter2"), "{clean}");
        assert_eq!(redactor.text(&clean), clean, "twice is once, from {text:?}");
    }
    // Where there is nothing to take out, all of it stays as it was.
    for text in [
        r#"it said { "a" : 1.50 } and {"b":[1,  2]} in \u0022quotes\u0022"#,
        "\u{1b}[1mfine\u{1b}[0m",
    ] {
        assert_eq!(redactor.text(text), text);
    }
}
