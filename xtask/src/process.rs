//! Running other programs: to the end, for their output, or with every line both shown and read. A failure names the
//! command as a person would type it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Runs it on our own terminal; an error unless it exits with 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("can't start `{}`", shown(command)))?;
    ensure!(status.success(), "`{}` failed ({status})", shown(command));
    Ok(())
}

/// Its standard output, as text; an error with its standard error unless it exits with 0.
pub(crate) fn stdout(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("can't start `{}`", shown(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed ({}): {}",
            shown(command),
            output.status,
            stderr.trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs it with every line of its standard output both shown and handed to `line`.
pub(crate) fn tee(command: &mut Command, line: impl FnMut(&str)) -> Result<ExitStatus> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("can't start `{}`", shown(command)))?;
    let stdout = child
        .stdout
        .take()
        .context("stdout was asked to be a pipe")?;
    copy_lines(stdout, std::io::stdout(), line)?;
    Ok(child.wait()?)
}

/// Copies `from` to `to` line by line as the lines come, showing each to `line` without its end.
pub(crate) fn copy_lines(
    from: impl Read,
    mut to: impl Write,
    mut line: impl FnMut(&str),
) -> Result<()> {
    let mut from = BufReader::new(from);
    let mut bytes = Vec::new();
    while from.read_until(b'\n', &mut bytes)? > 0 {
        to.write_all(&bytes)?;
        to.flush()?;
        line(String::from_utf8_lossy(&bytes).trim_end());
        bytes.clear();
    }
    Ok(())
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words
        .map(|word| quoted(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word as a shell would need it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("{word:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_both_copied_and_read() {
        let mut copy = Vec::new();
        let mut lines = Vec::new();
        copy_lines(&b"one\r\n\xfftwo\nthree"[..], &mut copy, |line| {
            lines.push(line.to_owned())
        })
        .unwrap();
        assert_eq!(copy, b"one\r\n\xfftwo\nthree");
        assert_eq!(lines, ["one", "\u{fffd}two", "three"]);
    }

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["test", "-p", "chat-core", "what is it?"]);
        assert_eq!(shown(&command), r#"cargo test -p chat-core "what is it?""#);
    }
}
