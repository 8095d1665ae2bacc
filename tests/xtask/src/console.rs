//! The admin console: a single-page app that becomes part of the `folkmoot` program.

use crate::wasm_package::tools;
use crate::workspace::{Failure, root, run as run_command, spelled};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

const FOLDER: &str = "server/console";
/// What a page may load of script in all, after gzip.
const SCRIPT_BYTES_MAX: u64 = 300_000;

/// Checks and builds the console, into the folder from which the next build of the server takes it.
///
/// # Errors
/// Returns what is missing, what cannot be built, or that it is too large.
pub fn run() -> Result<(), Failure> {
    if !tools::has_node() {
        return Err(Failure("the console needs Node.js 20.19 or newer, with npm".into()));
    }
    let folder = root().join(FOLDER);
    tools::install_packages(&folder)?;
    for script in [
        &["openapi-typescript/bin/cli.js", "../api/openapi.json", "--output", "src/api/schema.d.ts"][..],
        &["typescript/bin/tsc", "--noEmit"],
        &["vite/bin/vite.js", "build"],
    ] {
        let mut command = Command::new(tools::node_for_browsers()?);
        command.arg(folder.join("node_modules").join(script[0])).args(&script[1..]).current_dir(&folder);
        println!("xtask: console: {}", spelled(&command));
        run_command(&mut command)?;
    }
    check_size(&folder.join("dist/app/assets"))
}

/// Builds the console if it can be; where there is no Node it says so, and on a build server that is an error.
///
/// # Errors
/// Those of [`run`].
pub fn test() -> Result<(), Failure> {
    let is_build_server = env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    if !tools::has_node() && !is_build_server {
        println!("xtask: console: LEFT OUT, for there is no Node: `cargo xtask test --only install`");
        return Ok(());
    }
    if is_current(&root().join(FOLDER)) {
        // To build it anew would have the server built anew.
        println!("xtask: console: nothing has changed");
        return Ok(());
    }
    run()
}

/// Says whether the console was built since anything of it was changed.
fn is_current(folder: &Path) -> bool {
    let parts = ["src", "index.html", "package-lock.json", "tsconfig.json", "vite.config.ts", "../api"];
    let newest = parts.iter().filter_map(|part| newest(&folder.join(part))).max();
    let built = modified(&folder.join("dist/app/index.html"));
    built.is_some() && built >= newest
}

/// When a file, or the newest one below a folder, was changed.
fn newest(path: &Path) -> Option<SystemTime> {
    let Ok(entries) = fs::read_dir(path) else { return modified(path) };
    entries.flatten().filter_map(|entry| newest(&entry.path())).max()
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

fn check_size(assets: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure(format!("{}: {error}", assets.display()));
    let entries = fs::read_dir(assets).map_err(failed)?;
    let scripts: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_script(path)).collect();
    let mut bytes = 0;
    for script in &scripts {
        bytes += tools::gzip_bytes(script)?;
    }
    println!("xtask: console: {bytes} bytes of script after gzip, of {SCRIPT_BYTES_MAX}");
    if bytes > SCRIPT_BYTES_MAX {
        return Err(Failure(format!("the console has {bytes} bytes of script after gzip: too many")));
    }
    Ok(())
}

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "js")
}
