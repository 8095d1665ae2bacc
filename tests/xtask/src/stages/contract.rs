//! Compares a running coordinator with the description of its API. Schemathesis sends some two thousand valid and
//! invalid requests (Hatfield-Dodds and Dygalo 2022, "Deriving semantics-aware fuzzers from web API schemas").

use crate::coordinator::Coordinator;
use crate::outcome::Outcome;
use crate::process::{output, run, run_reading, spelled};
use crate::python;
use crate::workspace::{Failure, cargo_build_of_packages, root, target};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const CONFIG: &str = "tests/contract/schemathesis.toml";
/// The number of random requests for each operation. Further requests cover each part of the operation's schema.
const EXAMPLES: &str = "20";

/// Starts a coordinator and runs the comparison.
///
/// # Errors
/// Fails if a tool is missing on a build server, or if a response does not match the description.
pub fn test() -> Result<Outcome, Failure> {
    let Some(python) = python::interpreter() else {
        let why = "Python or its packages are missing. Run `cargo xtask test --only install`";
        return Outcome::left_out("contract", why);
    };
    let mut build = cargo_build_of_packages();
    println!("xtask: contract: {}", spelled(&build));
    run(&mut build)?;

    let folder = target().join("contract");
    let data = trained(&folder)?;
    let coordinator = Coordinator::start(&program(), &data, &["--tls", "off"])?;
    let task = id_of(&coordinator.ask(&["task", "list"])?)?;
    let round = id_of(&coordinator.ask(&["task", "rounds", &task])?)?;

    let mut compare = Command::new(python);
    compare.args(["-m", "schemathesis.cli", "--config-file"]).arg(root().join(CONFIG)).arg("run");
    compare.arg(format!("{}/openapi.json", coordinator.url)).env("FOLKMOOT_API_KEY", &coordinator.key);
    compare.env("FOLKMOOT_TASK", task).env("FOLKMOOT_ROUND", round);
    compare.args(["--checks", "all", "--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES]);
    // Every run sends the same requests, so that failures are reproducible.
    compare.args(["--generation-deterministic", "--no-color"]);
    let mut outcome = Outcome::done();
    run_reading(compare.current_dir(&folder), |line| {
        if let Some(operations) = tested(line) {
            outcome.passed += operations;
        }
    })?;
    outcome.complete()
}

/// Runs a small demo. Returns the data folder of its coordinator, which contains a task with rounds and model versions.
fn trained(folder: &Path) -> Result<PathBuf, Failure> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)
        .map_err(|error| Failure(format!("{} cannot be created: {error}", folder.display())))?;
    let mut demo = Command::new(program());
    demo.args(["demo", "--rounds", "2", "--clients", "4", "--json", "--out"]);
    output(demo.arg(folder.join("demo")))?;
    Ok(folder.join("demo").join("run-1").join("coordinator"))
}

fn program() -> PathBuf {
    target().join("debug").join(format!("folkmoot{}", env::consts::EXE_SUFFIX))
}

/// Returns the id of the first item of a list.
fn id_of(list: &Value) -> Result<String, Failure> {
    let id = list.pointer("/0/id").and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| Failure(format!("no item of this list has an id: {list}")))
}

/// Parses the line with the number of operations: `  Tested: 50`.
fn tested(line: &str) -> Option<usize> {
    line.trim().strip_prefix("Tested: ")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_counts_is_read() {
        assert_eq!(tested("  Tested: 50"), Some(50));
        assert_eq!(tested("  Selected: 50/51"), None);
    }
}
