//! `bench servers`, `bench speed` and `bench instructions`: the model responder beside other Rust clients, on the same servers and
//! the same bytes. Each writes its part of docs/model-servers.md.
#![allow(clippy::print_stdout, reason = "a command's output is its purpose")]

mod clients;
mod corpus;
mod judge;
mod report;
mod servers;
mod speed;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["servers"] => show("servers", &servers::tables()?),
        ["speed"] => show("speed", &speed::tables()?),
        ["instructions"] => show("instructions", &speed::instructions()?),
        // What the last two start.
        ["serve"] => speed::run_server(),
        ["client", ref args @ ..] => speed::run_client(args),
        _ => bail!("usage: bench servers|speed|instructions"),
    }
}

fn show(part: &str, tables: &str) -> Result<()> {
    println!("{tables}");
    report::write(part, tables)
}
