//! A Python environment of Flower's own, beside what cargo builds: it goes with `cargo clean`.

use std::{path::PathBuf, process::Command};

/// What is installed in it; with Ray, which computes the clients.
pub const PACKAGE: &str = "flwr[simulation]==1.41.0";
/// Where cargo builds, if the environment does not say.
const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");

/// Makes the environment unless it is there, and returns its interpreter.
///
/// # Errors
/// Returns why there is none: no Python, or no network.
pub fn interpreter() -> Result<String, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from(TARGET), PathBuf::from);
    let folder = target.join("python-flower");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let text = python.display().to_string();
    let (name, version) = PACKAGE.split_once("[simulation]==").unwrap_or((PACKAGE, ""));
    let asks = format!("import importlib.metadata as m, ray; assert m.version('{name}') == '{version}'");
    if python.is_file() && succeeds(Command::new(&python).args(["-c", &asks])).is_ok() {
        return Ok(text);
    }
    eprintln!("Flower is installed in {}, which takes a minute", folder.display());
    succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))
        .map_err(|reason| format!("`python3 -m venv` makes no environment: {reason}"))?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]);
    succeeds(&mut install).map_err(|reason| format!("pip cannot install it: {reason}"))?;
    Ok(text)
}

/// Runs a command, whose output is shown only if it fails: its last line is the reason.
fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors = errors.trim();
    Err(errors.lines().last().unwrap_or("it says nothing").to_owned())
}
