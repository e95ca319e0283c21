//! The contract's laws against the tests that cite them. A test cites a law by its name (`t6_cancel_is_idempotent`) or by
//! the law's number in its comments or messages (`T6`); whether it proves the law is for a reader to judge.

use super::Report;
use super::sources::{Files, SourceFile, has_word};

const CONTRACT: &str = "docs/contract.md";

/// The parts of the contract whose crates exist.
const PARTS: &[(&str, char)] = &[
    ("turns", 'T'),
    ("journal", 'J'),
    ("stores", 'S'),
    ("responders", 'R'),
    ("model", 'M'),
    ("workflows", 'W'),
];

/// The suites: their laws are functions of a library, which its users' tests call by name.
const SUITES: &str = "chat-conformance/src/";

/// This command's own tests name laws and prove none.
const OWN: &str = "xtask/";

pub(super) fn look(files: &Files, report: &mut Report) {
    let Some(contract) = files.0.iter().find(|file| file.path == CONTRACT) else {
        report.find(format!("{CONTRACT} is missing"));
        return;
    };
    let rust = files
        .0
        .iter()
        .filter(|file| file.is_rust() && !file.path.starts_with(OWN));
    let tests: Vec<Test> = rust.flat_map(tests).collect();

    println!("Tests that cite each law:");
    for (part, letter) in PARTS {
        let mut row = format!("  {part:<10}");
        for law in laws(&contract.text, *letter) {
            let count = tests.iter().filter(|test| test.cites(&law)).count();
            row += &format!(" {law:>4} {count:<3}");
            if count == 0 {
                report.find(format!("no test cites law {law} of {CONTRACT}"));
            }
        }
        println!("{}", row.trim_end());
    }
}

/// The laws of one part, as the contract states them: `- **T6** ...`.
fn laws(contract: &str, letter: char) -> impl Iterator<Item = String> {
    let stated = contract
        .lines()
        .filter_map(|line| Some(line.strip_prefix("- **")?.split_once("**")?.0));
    stated
        .filter(move |law| is_law(law, letter))
        .map(str::to_owned)
}

fn is_law(word: &str, letter: char) -> bool {
    let number = word.strip_prefix(letter).unwrap_or_default();
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

/// A test function with the comments above it.
#[derive(Debug, Default)]
struct Test {
    name: String,
    text: String,
}

impl Test {
    fn cites(&self, law: &str) -> bool {
        let in_name = law.to_lowercase();
        self.name.split('_').any(|word| word == in_name) || has_word(&self.text, law)
    }
}

/// The tests of a file, by lines: a function is a test if an attribute above it says so or its name begins with a law.
fn tests(file: &SourceFile) -> Vec<Test> {
    let start = if file.path.starts_with(SUITES) {
        0
    } else {
        file.tests_start()
    };
    let mut tests = Vec::new();
    let mut current: Option<Test> = None;
    // The comments and attributes since the last line of code.
    let mut above = String::new();
    let mut is_attributed = false;
    for line in file.text.lines().skip(start) {
        let code = line.trim_start();
        if let Some(name) = function_name(code) {
            tests.extend(current.take());
            if is_attributed || begins_with_law(name) {
                current = Some(Test {
                    name: name.to_owned(),
                    text: std::mem::take(&mut above),
                });
            }
        }
        let is_attribute = code.starts_with("#[");
        if is_attribute || code.starts_with("//") {
            is_attributed |=
                is_attribute && (code.starts_with("#[test") || code.contains("::test"));
            above.push_str(code);
            above.push('\n');
        } else {
            if let Some(test) = &mut current {
                test.text.push_str(&above);
                test.text.push_str(code);
                test.text.push('\n');
            }
            above.clear();
            is_attributed = false;
        }
    }
    tests.extend(current);
    tests
}

/// The name after `fn`, whatever may stand before that.
fn function_name(code: &str) -> Option<&str> {
    let (before, after) = code.split_once("fn ")?;
    let visibility = before
        .trim_end()
        .trim_end_matches("async")
        .trim_end()
        .trim_end_matches("const")
        .trim_end();
    let is_visibility = visibility.is_empty()
        || visibility == "pub"
        || visibility.starts_with("pub(") && visibility.ends_with(')');
    is_visibility.then(|| after.split(['(', '<']).next())?
}

fn begins_with_law(name: &str) -> bool {
    let first = name.split('_').next().unwrap_or_default();
    PARTS
        .iter()
        .any(|(_, letter)| is_law(first, letter.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn citing(path: &str, text: &str, law: &str) -> Vec<String> {
        let file = SourceFile {
            path: path.into(),
            text: text.into(),
        };
        tests(&file)
            .into_iter()
            .filter(|test| test.cites(law))
            .map(|test| test.name)
            .collect()
    }

    const TEXT: &str = "\
/// Prose about T3 above what is no test.
fn helper() {}

#[test]
fn t6_cancel_is_idempotent() {
    // T7 too: what streamed is no reply.
    assert!(true);
}

/// C5, T6: the turn ends at once.
#[tokio::test]
async fn an_agent_that_ignores_cancel() {
    helper();
}
";

    #[test]
    fn laws_are_read_from_the_contract() {
        let contract = "## T. Turns\n- **T1** one\n  see **T9**\n- **T10** ten\n- **J1** other\n- **Torn** no law\n";
        assert_eq!(laws(contract, 'T').collect::<Vec<_>>(), ["T1", "T10"]);
    }

    #[test]
    fn tests_cite_by_name_and_by_comment() {
        let path = "a/tests/cancel.rs";
        assert_eq!(
            citing(path, TEXT, "T6"),
            ["t6_cancel_is_idempotent", "an_agent_that_ignores_cancel"]
        );
        assert_eq!(citing(path, TEXT, "T7"), ["t6_cancel_is_idempotent"]);
        assert_eq!(citing(path, TEXT, "T3"), Vec::<String>::new());
    }

    #[test]
    fn only_tests_and_suites_count() {
        assert_eq!(citing("a/src/lib.rs", TEXT, "T6"), Vec::<String>::new());
        let suite = "pub async fn s3_a_torn_tail_is_set_aside(store: &dyn Store) {\n}\n";
        assert_eq!(
            citing("chat-conformance/src/store.rs", suite, "S3").len(),
            1
        );
        assert_eq!(citing("chat-store-file/src/lib.rs", suite, "S3").len(), 0);
    }

    #[test]
    fn names_are_read_up_to_their_parameters() {
        assert_eq!(
            function_name("pub(crate) async fn s1_it<T>(x: T) {"),
            Some("s1_it")
        );
        assert_eq!(
            function_name("pub(in crate::store) async fn s5_it("),
            Some("s5_it")
        );
        assert_eq!(function_name("fn it() {"), Some("it"));
        assert_eq!(function_name("let f = fn_name();"), None);
        assert_eq!(function_name("run: fn (Lab) -> Outcome,"), None);
        assert!(begins_with_law("t14_shutdown"));
        assert!(!begins_with_law("tests_pass"));
        assert!(!begins_with_law("t_1"));
    }
}
