//! Programs from the crate registry that the tests need.

use crate::process::{announce, run};
use crate::workspace::{Failure, cargo, target};
use std::path::PathBuf;

/// Returns the path of a program of the package `package`. Installs this version into the target folder if it is missing.
///
/// # Errors
/// Fails if cargo cannot build the program.
pub fn cargo_program(package: &str, program: &str, version: &str) -> Result<PathBuf, Failure> {
    cargo_program_with(&[], package, program, version)
}

/// Does the same as [`cargo_program`], and passes more flags to `cargo install`, such as those that select features.
///
/// # Errors
/// As for [`cargo_program`].
pub fn cargo_program_with(
    features: &[&str],
    package: &str,
    program: &str,
    version: &str,
) -> Result<PathBuf, Failure> {
    let folder = target().join(format!("{program}-{version}"));
    let path = folder.join("bin").join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
    if path.is_file() {
        return Ok(path);
    }
    let install = |flags: &[&str]| {
        let mut install = cargo(&["install", package, "--version", version]);
        install.args(flags).args(features).arg("--root").arg(&folder).env_remove("RUSTFLAGS");
        // The program runs for seconds, so the minutes for full optimisation are not worth it.
        install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
        install
    };
    let mut locked = install(&["--locked"]);
    announce(&locked);
    // If a version in the program's lock file is unavailable, let cargo choose other compatible versions.
    if run(&mut locked).is_err() {
        run(&mut install(&[]))?;
    }
    Ok(path)
}
