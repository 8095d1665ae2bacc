//! Programs that rustup does not bring: wasm-bindgen, and those of npm.

use super::PACKAGE;
use crate::process::{announce, run, spelled, succeeds};
use crate::workspace::{Failure, cargo, root, target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// It has to be that of the crate, exactly: see `wasm-bindgen` in the workspace's manifest.
const WASM_BINDGEN_VERSION: &str = "0.2.130";

/// What Playwright needs at least; Debian 12 has an older one.
const NODE_MAJOR_MIN: u32 = 20;
/// The Node that npm brings.
const NODE_MAJOR: u32 = 22;

/// Returns `wasm-bindgen`, which is installed into the target folder if it is not there.
pub fn wasm_bindgen() -> Result<PathBuf, Failure> {
    let folder = target().join(format!("wasm-bindgen-{WASM_BINDGEN_VERSION}"));
    let program = folder.join("bin").join(format!("wasm-bindgen{}", std::env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(program);
    }
    let install = |flags: &[&str]| {
        let mut install = cargo(&["install", "wasm-bindgen-cli", "--version", WASM_BINDGEN_VERSION]);
        install.args(flags).arg("--root").arg(&folder).env_remove("RUSTFLAGS");
        // It runs for a second: to optimise it would take minutes.
        install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
        install
    };
    let mut locked = install(&["--locked"]);
    announce(&locked);
    // Where a version of the program's own lock file cannot be had, another one that fits will do.
    if run(&mut locked).is_err() {
        run(&mut install(&[]))?;
    }
    Ok(program)
}

/// Tells whether Node and npm are there.
pub fn has_node() -> bool {
    succeeds(Command::new("node").arg("--version")) && succeeds(Command::new("npm").arg("--version"))
}

/// Returns a Node that drives a browser: the system's, or, where that is too old, one that npm brings into the target folder.
///
/// # Errors
/// Returns that npm cannot bring it.
pub fn node_for_browsers() -> Result<PathBuf, Failure> {
    let version = Command::new("node").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if version.is_ok_and(|version| major(&version) >= NODE_MAJOR_MIN) {
        return Ok(PathBuf::from("node"));
    }
    let folder = target().join("node");
    let package = format!("node-linux-{}", if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" });
    let program = folder.join("node_modules").join(&package).join("bin/node");
    if !program.is_file() {
        let mut install = Command::new("npm");
        install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]).arg(&folder);
        install.arg(format!("{package}@{NODE_MAJOR}"));
        announce(&install);
        run(&mut install)?;
    }
    Ok(program)
}

/// The 20 of `v20.1.0`; 0 for what is no version.
fn major(version: &str) -> u32 {
    let digits = version.trim().strip_prefix('v').and_then(|version| version.split('.').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

/// Installs what a folder's `package-lock.json` names, if that was not done.
pub fn install_packages(folder: &Path) -> Result<(), Failure> {
    let age = |file: &str| folder.join(file).metadata().and_then(|metadata| metadata.modified()).ok();
    if age("node_modules/.package-lock.json") >= age("package-lock.json") {
        return Ok(());
    }
    let mut install = Command::new("npm");
    install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
    announce(&install);
    run(&mut install)
}

/// Prepares a call of a program of the npm package's tools.
pub fn node_program(path: &str) -> Result<Command, Failure> {
    let script = root().join(PACKAGE).join("node_modules").join(path);
    if !script.is_file() {
        return Err(Failure(format!("{} is not there: run npm ci in {PACKAGE}", script.display())));
    }
    let mut command = Command::new("node");
    command.arg(script);
    Ok(command)
}

/// Returns the bytes of a file after gzip at its best.
pub fn gzip_bytes(file: &Path) -> Result<u64, Failure> {
    const SCRIPT: &str = "const { readFileSync } = require('fs'); const { gzipSync } = require('zlib'); \
                          console.log(gzipSync(readFileSync(process.argv[1]), { level: 9 }).length)";
    let mut command = Command::new("node");
    command.args(["--eval", SCRIPT]).arg(file);
    let name = spelled(&command);
    let failed = |why: String| Failure(format!("`{name}`: {why}"));
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| failed(format!("`{text}` is no number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_what_counts() {
        assert_eq!(["v20.20.2\n", "v18.20.8", "v9.0.0", "node", ""].map(major), [20, 18, 9, 0, 0]);
    }
}
