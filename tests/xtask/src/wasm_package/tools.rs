//! Programs that rustup does not install: wasm-bindgen and npm programs.

use super::PACKAGE;
use crate::cargo_program::cargo_program;
use crate::process::{announce, run, spelled, succeeds};
use crate::workspace::{Failure, root, target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of the program. It must equal the version of the crate `wasm-bindgen` in the workspace's manifest.
const WASM_BINDGEN_VERSION: &str = "0.2.130";

/// The oldest major version of Node that Playwright supports. Debian 12 has an older version.
const NODE_MAJOR_MIN: u32 = 20;
/// The major version of Node that is installed with npm.
const NODE_MAJOR: u32 = 22;

/// Returns the path of `wasm-bindgen`. Installs it into the target folder if it is missing.
pub fn wasm_bindgen() -> Result<PathBuf, Failure> {
    cargo_program("wasm-bindgen-cli", "wasm-bindgen", WASM_BINDGEN_VERSION)
}

/// Returns `true` if Node and npm are present.
pub fn has_node() -> bool {
    succeeds(Command::new("node").arg("--version")) && succeeds(Command::new("npm").arg("--version"))
}

/// Returns the path of a Node that can drive a browser. If the system's Node is too old, npm installs one into the
/// target folder.
///
/// # Errors
/// Fails if npm cannot install Node.
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

/// Returns the major version, such as 20 for `v20.1.0`; 0 if the text is not a version.
fn major(version: &str) -> u32 {
    let digits = version.trim().strip_prefix('v').and_then(|version| version.split('.').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

/// Installs the packages in a folder's `package-lock.json`, unless they are installed.
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

/// Prepares a call of a program among the npm package's tools.
pub fn node_program(path: &str) -> Result<Command, Failure> {
    let script = root().join(PACKAGE).join("node_modules").join(path);
    if !script.is_file() {
        return Err(Failure(format!("{} is missing. Run `npm ci` in {PACKAGE}", script.display())));
    }
    let mut command = Command::new("node");
    command.arg(script);
    Ok(command)
}

/// Returns the size of a file in bytes after gzip at level 9.
pub fn gzip_bytes(file: &Path) -> Result<u64, Failure> {
    const SCRIPT: &str = "const { readFileSync } = require('fs'); const { gzipSync } = require('zlib'); \
                          console.log(gzipSync(readFileSync(process.argv[1]), { level: 9 }).length)";
    let mut command = Command::new("node");
    command.args(["--eval", SCRIPT]).arg(file);
    let name = spelled(&command);
    let failed = |why: String| Failure(format!("`{name}`: {why}"));
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| failed(format!("printed `{text}`, which is not a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_what_counts() {
        assert_eq!(["v20.20.2\n", "v18.20.8", "v9.0.0", "node", ""].map(major), [20, 18, 9, 0, 0]);
    }
}
