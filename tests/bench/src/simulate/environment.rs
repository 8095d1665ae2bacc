//! Creates a separate Python environment for Flower in the target folder. `cargo clean` removes it.

use std::{path::PathBuf, process::Command};

/// The package to install. It includes Ray, which runs Flower's clients.
pub const PACKAGE: &str = "flwr[simulation]==1.41.0";
/// The target folder if CARGO_TARGET_DIR is not set.
const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");

/// Creates the environment unless it exists, and returns its interpreter.
///
/// # Errors
/// Returns the reason if the environment cannot be created, for example because Python or the network is missing.
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
    eprintln!("installing Flower in {}; this takes a minute", folder.display());
    succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))
        .map_err(|reason| format!("`python3 -m venv` could not create the environment: {reason}"))?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]);
    succeeds(&mut install).map_err(|reason| format!("pip could not install Flower: {reason}"))?;
    Ok(text)
}

/// Runs a command and hides its output. If it fails, returns the last line of its errors as the reason.
fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors = errors.trim();
    Err(errors.lines().last().unwrap_or("it printed no error").to_owned())
}
