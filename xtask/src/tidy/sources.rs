//! The project's files as text: what each must begin with, how long it may be, and the words that may not stand in it. It
//! reads files as git would commit them and knows nothing of Rust's grammar beyond lines.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::Report;
use crate::process;
use crate::workspace::Workspace;

/// Two ideas in one file, most likely.
const LONG: usize = 400;
const TOO_LONG: usize = 600;

/// What says that something is not finished, in any file. In two parts, so that this file doesn't find itself.
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];

/// The same in Rust, and what would print or skip without anyone asking.
const UNFINISHED_RUST: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
    concat!("#[ig", "nore"),
];

/// Paths of one machine.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
];

/// What the pure crate may not name outside its tests: systems, clocks, and an order that differs from run to run.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "Instant::now",
    "SystemTime",
    "HashMap",
    "HashSet",
    "println!",
    "eprintln!",
];
const PURE_SOURCES: &str = "chat-core/src/";

/// Every text file that git has or would take.
pub(super) struct Files(pub(super) Vec<SourceFile>);

pub(super) struct SourceFile {
    /// From the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Files {
    pub(super) fn read(workspace: &Workspace) -> Result<Self> {
        let mut git = Command::new("git");
        git.current_dir(&workspace.root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let mut files = Vec::new();
        for path in process::stdout(&mut git)?.split_terminator('\0') {
            let file = workspace.root.join(path);
            // Deleted but not yet committed, or a link to a folder.
            if !file.is_file() {
                continue;
            }
            let bytes = std::fs::read(&file).with_context(|| format!("can't read {path}"))?;
            // What is not text has no words.
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(SourceFile {
                    path: path.to_owned(),
                    text,
                });
            }
        }
        Ok(Self(files))
    }
}

impl SourceFile {
    pub(super) fn is_rust(&self) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|end| end == "rs")
    }

    /// Where its tests begin: at the first line of a file of tests, at a `#[cfg(test)]` module, else nowhere.
    pub(super) fn tests_start(&self) -> usize {
        let name = self
            .path
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .trim_end_matches(".rs");
        if self.path.contains("/tests/") || name.ends_with("tests") {
            return 0;
        }
        let lines: Vec<&str> = self.text.lines().map(str::trim).collect();
        let is_module = |pair: &[&str]| {
            pair[0] == "#[cfg(test)]" && pair[1].contains("mod ") && pair[1].ends_with('{')
        };
        lines.windows(2).position(is_module).unwrap_or(lines.len())
    }
}

pub(super) fn look(files: &Files, report: &mut Report) {
    for file in &files.0 {
        look_at_words(file, report);
        if file.is_rust() {
            look_at_rust(file, report);
        }
    }
}

fn look_at_words(file: &SourceFile, report: &mut Report) {
    let SourceFile { path, text } = file;
    for (line, number) in text.lines().zip(1..) {
        for word in UNFINISHED.iter().filter(|word| has_word(line, word)) {
            report.find(format!("{path}:{number} says {word}"));
        }
        for place in MACHINE_PATHS.iter().filter(|place| line.contains(**place)) {
            report.find(format!(
                "{path}:{number} names a path of one machine ({place})"
            ));
        }
    }
}

fn look_at_rust(file: &SourceFile, report: &mut Report) {
    let SourceFile { path, text } = file;
    if !text.starts_with("//!") {
        report.find(format!(
            "{path} does not begin with a //! line that says what it is"
        ));
    }
    let length = text.lines().count();
    if length > TOO_LONG {
        report.find(format!(
            "{path} has {length} lines, {TOO_LONG} are too many: two ideas in one file?"
        ));
    } else if length > LONG {
        report.warn(format!("{path} has {length} lines"));
    }
    let tests_start = file.tests_start();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        for word in UNFINISHED_RUST.iter().filter(|word| code.contains(**word)) {
            report.find(format!("{path}:{number} has {word}"));
        }
        if index >= tests_start {
            if code.contains("thread::sleep(") {
                report.warn(format!(
                    "{path}:{number} sleeps in a test: a gate or a paused clock instead?"
                ));
            }
        } else if path.starts_with(PURE_SOURCES) {
            for word in IMPURE.iter().filter(|word| code.contains(**word)) {
                report.find(format!(
                    "{path}:{number} names {word}, which the core may not"
                ));
            }
        }
    }
}

/// `word` with no letter or digit on either side.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let is_apart = |neighbor: Option<char>| neighbor.is_none_or(|c| !c.is_alphanumeric());
        is_apart(before) && is_apart(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut report = Report::default();
        look(
            &Files(vec![SourceFile {
                path: path.into(),
                text: text.into(),
            }]),
            &mut report,
        );
        report.findings
    }

    #[test]
    fn a_word_stands_apart() {
        assert!(has_word("// T6: cancel", "T6"));
        assert!(has_word("(T6, S4)", "T6"));
        assert!(!has_word("T61", "T6"));
        assert!(!has_word("AT6", "T6"));
    }

    #[test]
    fn rust_begins_by_saying_what_it_is() {
        assert_eq!(
            findings("a.rs", "//! A file.\nfn a() {}\n"),
            Vec::<String>::new()
        );
        assert_eq!(findings("a.rs", "fn a() {}\n").len(), 1);
        assert_eq!(findings("a.md", "A page.\n"), Vec::<String>::new());
    }

    #[test]
    fn long_files_are_found() {
        let text = format!("//! Long.\n{}", "fn a() {}\n".repeat(TOO_LONG));
        assert_eq!(findings("a.rs", &text).len(), 1);
    }

    #[test]
    fn the_core_names_no_system_outside_its_tests() {
        let text =
            "//! A file.\nuse std::fs;\n// std::net\n#[cfg(test)]\nmod tests {\nuse std::env;\n}\n";
        assert_eq!(findings("chat-core/src/a.rs", text).len(), 1);
        assert_eq!(
            findings("chat-runtime/src/a.rs", text),
            Vec::<String>::new()
        );
        assert_eq!(
            findings("chat-core/src/a/tests.rs", text),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_is_unfinished_is_found() {
        let word = UNFINISHED[0];
        assert_eq!(findings("a.md", &format!("{word}: write this")).len(), 1);
        let call = UNFINISHED_RUST[0];
        assert_eq!(
            findings("a.rs", &format!("//! A file.\nfn a() {{ {call}) }}\n")).len(),
            1
        );
    }
}
