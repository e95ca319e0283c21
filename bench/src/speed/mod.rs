//! What an answer costs each client: processor time, pace and memory. The server is a process of its own, and so is each client
//! in each round, so that a client's figures are its alone.

mod client;
mod instructions;
mod server;

use std::{
    fmt::Write,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};

use self::client::Figures;
pub(crate) use self::{
    client::run as run_client, instructions::table as instructions, server::run as run_server,
};
use crate::clients::Client;

const DELTAS: usize = 200_000;
/// The least of each counts, and the ratio in the middle: the machine may run at half its speed in any of them, which only ever adds.
const ROUNDS: usize = 11;

const STREAMS: usize = 200;
const PACED_DELTAS: usize = 200;
const PACE_MS: u64 = 5;

/// What the server would send to a reader that sleeps, were all of it taken.
const FLOOD_MIB: usize = 1024;

/// Measures everything, and gives the tables.
pub(crate) fn tables() -> Result<String> {
    let server = Server::start()?;
    let mut out = String::new();
    for threads in ["one", "many"] {
        cost(&server, threads, &mut out)?;
    }
    pace(&server, &mut out)?;
    memory(&server, &mut out)?;
    Ok(out)
}

struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start() -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("serve")
            .stdout(Stdio::piped())
            .spawn()
            .context("no server")?;
        let mut url = String::new();
        let stdout = process.stdout.take().context("no server output")?;
        BufReader::new(stdout).read_line(&mut url)?;
        Ok(Self {
            process,
            url: url.trim().to_owned(),
        })
    }

    /// Runs a client on what the server has under `path`.
    fn measure(&self, client: Client, threads: &str, path: &str, task: &str) -> Result<Figures> {
        let output = Command::new(std::env::current_exe()?)
            .args(["client", client.word(), threads, task])
            .arg(format!("{}/{path}/v1", self.url))
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            bail!("{} failed on {path}", client.name());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It serves until it is ended; an error is that it has.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Processor time of a client for each delta, in rounds that take the clients by turns.
fn cost(server: &Server, threads: &str, out: &mut String) -> Result<()> {
    let path = format!("full/{DELTAS}");
    let mut rounds: Vec<Vec<f64>> = Vec::new();
    for round in 0..ROUNDS {
        let mut costs = vec![0.0; Client::MEASURED.len()];
        for turn in 0..costs.len() {
            // Whoever comes first finds another machine than whoever comes last.
            let at = (turn + round) % costs.len();
            let figures = server.measure(Client::MEASURED[at], threads, &path, "full")?;
            if figures.bytes != server::text_bytes(DELTAS) {
                bail!(
                    "{} read {} bytes",
                    Client::MEASURED[at].name(),
                    figures.bytes
                );
            }
            costs[at] = figures.cpu_ns as f64 / DELTAS as f64;
        }
        rounds.push(costs);
    }
    let workers = match threads {
        "one" => "tokio with one thread",
        _ => "tokio as `#[tokio::main]` starts it",
    };
    writeln!(
        out,
        "\n| processor time for a delta, {workers} | ns, least | ns, median | a whole chat of ours in relation, by the least | by the rounds, median | middle half |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
    let ours = rounds
        .iter()
        .map(|costs| costs[0])
        .fold(f64::INFINITY, f64::min);
    for (at, client) in Client::MEASURED.iter().enumerate() {
        let mut ns: Vec<f64> = rounds.iter().map(|costs| costs[at]).collect();
        let mut ratios: Vec<f64> = rounds.iter().map(|costs| costs[0] / costs[at]).collect();
        let (low, ratio, high) = quartiles(&mut ratios);
        let (_, median, _) = quartiles(&mut ns);
        let least = ns[0];
        writeln!(
            out,
            "| {} | {least:.0} | {median:.0} | {:.2} | {ratio:.2} | {low:.2} to {high:.2} |",
            client.name(),
            ours / least
        )?;
    }
    Ok(())
}

/// The median, and the quartiles on both sides of it. Sorts the values.
fn quartiles(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    (values[last / 4], values[last / 2], values[last - last / 4])
}

/// How long many streams at once take whose deltas come at a pace, in rounds as above.
fn pace(server: &Server, out: &mut String) -> Result<()> {
    let pace_ms = (PACED_DELTAS as u64 - 1) * PACE_MS;
    let path = format!("paced/{STREAMS}/{PACED_DELTAS}/{PACE_MS}");
    let mut sides = Client::MEASURED.map(|_| (Vec::new(), Vec::new()));
    for round in 0..ROUNDS {
        for turn in 0..sides.len() {
            let at = (turn + round) % sides.len();
            let client = Client::MEASURED[at];
            let figures = server.measure(client, "many", &path, "paced")?;
            if figures.bytes != STREAMS * server::text_bytes(PACED_DELTAS) {
                bail!("{} read {} bytes", client.name(), figures.bytes);
            }
            sides[at].0.push(figures.wall_ns as f64 / 1e6);
            sides[at].1.push(figures.cpu_ns as f64 / 1e6);
        }
    }
    writeln!(
        out,
        "\n| {STREAMS} streams at once of {PACED_DELTAS} deltas, one each {PACE_MS} ms | ms from the first delta to the last end, median | over the pace of {pace_ms} ms | processor time, ms |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    for (client, (wall, cpu)) in Client::MEASURED.iter().zip(&mut sides) {
        let ((_, wall, _), (_, cpu, _)) = (quartiles(wall), quartiles(cpu));
        writeln!(
            out,
            "| {} | {wall:.0} | {:.1} % | {cpu:.0} |",
            client.name(),
            (wall / pace_ms as f64 - 1.0) * 100.0,
        )?;
    }
    Ok(())
}

/// How much memory a client takes while its reader sleeps and the server sends as fast as it can.
fn memory(server: &Server, out: &mut String) -> Result<()> {
    let path = format!("flood/{FLOOD_MIB}");
    writeln!(
        out,
        "\n| a reader that sleeps 3 s, a server that sends all it can | memory grown, MB |"
    )?;
    writeln!(out, "| --- | ---: |")?;
    for client in Client::MEASURED {
        let figures = server.measure(client, "many", &path, "slow")?;
        let grown = figures.grown_bytes as f64 / 1e6;
        writeln!(out, "| {} | {grown:.1} |", client.name())?;
    }
    Ok(())
}
