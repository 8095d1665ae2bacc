//! Checks the dependencies of the workspace: their licences, banned crates, sources and security advisories. The rules are in
//! `.deny.toml`.

use crate::cargo_program::cargo_program;
use crate::outcome::Outcome;
use crate::process::{run, spelled, succeeds};
use crate::workspace::{Failure, root};
use std::path::Path;
use std::process::Command;

/// The rules.
const RULES: &str = ".deny.toml";
/// The version of cargo-deny.
const VERSION: &str = "0.20.2";
/// The checks that need nothing but the packages.
const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// Checks the dependencies. Security advisories are checked if their database can be fetched, also on a build server.
///
/// # Errors
/// Fails if a dependency violates a rule or has an advisory, or if cargo-deny cannot be built.
pub fn test() -> Result<Outcome, Failure> {
    let program = cargo_program("cargo-deny", "cargo-deny", VERSION)?;
    check(&program, &[], &CHECKS)?;
    match succeeds(Command::new(&program).current_dir(root()).args(["--config", RULES, "fetch", "db"])) {
        true => check(&program, &["--offline"], &["advisories"])?,
        false => println!(
            "xtask: SKIPPED: security advisories: the database of RustSec cannot be fetched. \
             `cargo deny fetch db` says why"
        ),
    }
    Ok(Outcome::done())
}

fn check(program: &Path, flags: &[&str], checks: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new(program);
    command.current_dir(root()).args(flags);
    command.args(["--locked", "--config", RULES, "check", "--hide-inclusion-graph"]).args(checks);
    println!("xtask: deny: {}", spelled(&command));
    run(&mut command)
}
