//! The stages that are calls of cargo.
//!
//! All of them use the profile `dev`, and all that compile name the whole workspace and all its targets: the set of features
//! is then one and the same, and nothing is compiled twice. (Clippy keeps its own results beside: it checks, and makes no
//! code.)

use super::harness::{Settings, programs, run as run_programs};
use crate::outcome::Outcome;
use crate::process::{run as run_command, spelled};
use crate::seed::Seed;
use crate::workspace::{Failure, cargo};
use crate::{python, vulkan};
use std::process::Command;

/// How many seconds the simulation tries new seeds. Ten times as many would find more, now and then: `cargo xtask campaign`.
const SIMULATION_SECONDS: (&str, &str) = ("FOLKMOOT_SECONDS", "60");

/// Checks the format of Rust.
pub fn fmt() -> Result<Outcome, Failure> {
    call("fmt", cargo(&["fmt", "--all", "--check"]))
}

/// Lints Rust.
pub fn clippy() -> Result<Outcome, Failure> {
    call("clippy", cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Builds the API documentation of our own packages.
pub fn doc() -> Result<Outcome, Failure> {
    let mut doc = cargo(&["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    call("doc", doc)
}

/// Builds everything. `-p folkmoot-cli` would build with fewer features than the tests, and so twice.
pub fn build() -> Result<Outcome, Failure> {
    call("build", cargo(&["build", "--locked", "--workspace", "--all-targets"]))
}

/// Runs every test program, and the examples in the documentation.
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
