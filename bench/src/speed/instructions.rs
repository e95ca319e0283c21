//! How many instructions a delta costs each client. Another machine, or a neighbour on this one, changes how long they take, not
//! how many they are: two counts of the same program are nearly the same.

use std::{fmt::Write, process::Command};

use anyhow::{Context, Result, bail};

use super::Server;
use crate::clients::Client;

/// What is counted is the difference of the two, so that a client's start is not in it.
const FEW: usize = 2_000;
const MANY: usize = 22_000;

/// Counts for every client, and gives the table.
pub(crate) fn table() -> Result<String> {
    let server = Server::start()?;
    let counts = Client::MEASURED
        .into_iter()
        .map(|client| Ok(count(&server, client, MANY)? - count(&server, client, FEW)?))
        .collect::<Result<Vec<f64>>>()?;
    let mut out = String::from(
        "\n| instructions for a delta, tokio with one thread | number | a whole chat of ours in relation |\n| --- | ---: | ---: |\n",
    );
    for (client, count) in Client::MEASURED.into_iter().zip(&counts) {
        let number = count / (MANY - FEW) as f64;
        let ratio = counts[0] / count;
        writeln!(out, "| {} | {number:.0} | {ratio:.2} |", client.name())?;
    }
    Ok(out)
}

/// Runs a client under valgrind. The system's side of its calls is not counted.
fn count(server: &Server, client: Client, deltas: usize) -> Result<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["client", client.word(), "one", "full"])
        .arg(format!("{}/full/{deltas}/v1", server.url))
        .output()
        .context("instructions are counted by valgrind, which is to be installed first")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{} failed under valgrind: {said}", client.name());
    }
    let count = said
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .and_then(|(_, count)| count.trim().parse().ok());
    count.context("valgrind says how many it collected")
}
