//! Programs that rustup does not bring: wasm-bindgen, and those of npm.

use super::PACKAGE;
use crate::install::announce;
use crate::workspace::{Failure, cargo, root, run, spelled, succeeds, target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// It has to be that of the crate, exactly: see `wasm-bindgen` in the workspace's manifest.
const WASM_BINDGEN_VERSION: &str = "0.2.130";

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
