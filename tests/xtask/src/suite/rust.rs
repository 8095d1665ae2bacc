//! The stages that only call cargo.
//!
//! All use the profile `dev`, and those that compile select the whole workspace with all targets. The features are then
//! always the same, and nothing is compiled twice. (Clippy keeps separate results, because it generates no code.)

use super::harness::{Settings, programs, run as run_programs};
use crate::outcome::Outcome;
use crate::process::{run as run_command, spelled};
use crate::seed::Seed;
use crate::workspace::{Failure, cargo};
use crate::{python, vulkan};
use std::process::Command;

/// The number of seconds for which the simulation tries new seeds. `cargo xtask campaign` tries more seeds and
/// occasionally finds more.
const SIMULATION_SECONDS: (&str, &str) = ("FOLKMOOT_SECONDS", "60");

/// Checks the format of the Rust sources.
pub fn fmt() -> Result<Outcome, Failure> {
    call("fmt", cargo(&["fmt", "--all", "--check"]))
}

/// Lints the Rust sources.
pub fn clippy() -> Result<Outcome, Failure> {
    call("clippy", cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Builds the API documentation of the workspace's packages.
pub fn doc() -> Result<Outcome, Failure> {
    let mut doc = cargo(&["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    call("doc", doc)
}

/// Builds everything. A build with `-p folkmoot-cli` would select fewer features than the tests and would compile
/// crates twice.
pub fn build() -> Result<Outcome, Failure> {
    call("build", cargo(&["build", "--locked", "--workspace", "--all-targets"]))
}

/// Runs every test program, and the code examples in the documentation.
pub fn test(quick: bool) -> Result<Outcome, Failure> {
    let seed = Seed::of_commit();
    println!("xtask: test: {seed}");
    let mut settings = Settings { replay: seed.replay(), ..Settings::default() };
    settings.environment.extend(seed.variables());
    settings.environment.extend(vulkan::variables()?);
    if let Some(python) = python::interpreter() {
        settings.environment.insert(python::VARIABLE.to_owned(), python.to_string_lossy().into_owned());
    }
    if !quick {
        let (variable, seconds) = SIMULATION_SECONDS;
        settings.environment.insert(variable.to_owned(), seconds.to_owned());
    }
    let outcome = run_programs(&programs()?, &settings)?;
    call("test", cargo(&["test", "--locked", "--workspace", "--doc", "--quiet"]))?;
    Ok(outcome)
}

fn call(stage: &str, mut command: Command) -> Result<Outcome, Failure> {
    println!("xtask: {stage}: {}", spelled(&command));
    run_command(&mut command).map(|()| Outcome::done())
}
