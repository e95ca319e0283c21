//! llama.cpp's server as a child of this process: on a free loopback port, healthy before it is handed out, stopped when
//! dropped. It never outlives the command that started it.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::local_model::LocalModel;
use crate::process;

/// Loading takes about a second; a cold disk or a busy machine takes longer.
const START: Duration = Duration::from_secs(90);
const PROBE: Duration = Duration::from_millis(100);

pub(super) struct Server {
    child: Child,
    base_url: String,
}

impl Server {
    /// Starts it with the model and waits until it answers; at an error the log's last lines are in the error.
    pub(super) fn start(model: &LocalModel, template: &Path, log: &Path) -> Result<Self> {
        Self::run(model, log, |server| {
            server
                .args(["--alias", LocalModel::NAME])
                // No GPU, even where there is one, and the likeliest word each time: everyone sees the same demo.
                .args(["--device", "none", "--threads", "1", "--temp", "0"])
                // So small a model may repeat itself for ever; it is kept from it, and stopped where that doesn't help. What
                // lies further back may be repeated: a tool call that its prompt shows it.
                .args(["--repeat-penalty", "1.1", "--repeat-last-n", "32"])
                .args(["--predict", "512"])
                // Two conversations at once, each of 4,096 tokens.
                .args(["--ctx-size", "8192", "--parallel", "2"])
                .args(["--jinja", "--chat-template-file"])
                .arg(template)
                .arg("--model")
                .arg(&model.weights)
        })
    }

    /// Starts it as a router, which knows models by name and loads none: with one model it would answer to any name.
    pub(super) fn start_router(model: &LocalModel, log: &Path) -> Result<Self> {
        Self::run(model, log, |server| {
            let models = model.weights.parent().unwrap_or(&model.weights);
            server
                .arg("--no-models-autoload")
                .arg("--models-dir")
                .arg(models)
        })
    }

    fn run(
        model: &LocalModel,
        log: &Path,
        options: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let output = File::create(log).with_context(|| format!("can't write {}", log.display()))?;
        let child = options(&mut leashed(&model.server))
            .args(["--host", "127.0.0.1", "--port", &address.port().to_string()])
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("can't start the model's server")?;
        // From here on dropping it stops the server, whatever goes wrong.
        let mut server = Self {
            child,
            base_url: format!("http://{address}/v1"),
        };
        server
            .wait_until_healthy(address)
            .with_context(|| format!("{} ends with:\n{}", log.display(), tail(log)))?;
        Ok(server)
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    fn wait_until_healthy(&mut self, address: SocketAddr) -> Result<()> {
        eprint!("Starting the model ");
        let started = Instant::now();
        let mut dots = 0;
        loop {
            if let Some(status) = self.child.try_wait()? {
                eprintln!();
                bail!("the model's server stopped while starting ({status})");
            }
            if is_healthy(address).unwrap_or(false) {
                eprintln!(" ready after {:.1} s", started.elapsed().as_secs_f32());
                return Ok(());
            }
            if started.elapsed() > START {
                eprintln!();
                bail!(
                    "the model's server was not ready within {} s",
                    START.as_secs()
                );
            }
            if started.elapsed().as_secs() >= dots {
                eprint!(".");
                dots += 1;
            }
            std::thread::sleep(PROBE);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `program`, to be ended by the kernel when we are, even by a kill that runs no `Drop`; without util-linux's `setpriv`,
/// by `Drop` and the terminal's Ctrl-C only.
fn leashed(program: &Path) -> Command {
    let leash = ["--pdeathsig", "KILL"];
    if process::stdout(Command::new("setpriv").args(leash).arg("true")).is_err() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(leash).arg(program);
    command
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free loopback port")?;
    Ok(listener.local_addr()?.port())
}

/// Whether `/health` answers 200; it answers 503 while the model is being loaded.
fn is_healthy(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&address, PROBE)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    write!(
        stream,
        "GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut status = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut status)?;
    Ok(status.ends_with(b" 200"))
}

fn tail(log: &Path) -> String {
    let text = std::fs::read(log)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
