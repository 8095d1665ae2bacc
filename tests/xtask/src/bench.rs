//! `cargo xtask bench <name>`: runs one benchmark with a release build.

use crate::newcomer;
use crate::process::run as run_command;
use crate::stages::browser;
use crate::wasm;
use crate::workspace::{Failure, cargo, root};
use clap::Args;
use std::path::Path;

const PACKAGE: &str = "folkmoot-bench";
const FOLDER: &str = "tests/bench";

/// The benchmark to run.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Name of the benchmark; `codec-wasm` measures the codecs in Node.js, `newcomer` the packages of a release
    name: String,
    /// Arguments of the benchmark itself, such as `--json`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds and runs the benchmark.
///
/// # Errors
/// Fails if the benchmark fails, or if the benchmark package is missing.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.name == "codec-wasm" {
        return wasm::codec(&arguments.arguments);
    }
    if arguments.name == "browser" {
        return browser::bench(&arguments.arguments);
    }
    if arguments.name == "console" {
        return browser::bench_console(&arguments.arguments);
    }
    if arguments.name == "newcomer" {
        return newcomer::run(&arguments.arguments);
    }
    require_package(&root())?;
    run_command(cargo(&["run", "--release", "-p", PACKAGE, "--", &arguments.name]).args(&arguments.arguments))
}

fn require_package(root: &Path) -> Result<(), Failure> {
    let is_there = root.join(FOLDER).join("Cargo.toml").is_file();
    is_there.then_some(()).ok_or_else(|| {
        Failure(format!(
            "the benchmark package {PACKAGE} is missing from {FOLDER}; run this command in a complete checkout"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn everything_after_the_name_belongs_to_the_benchmark() {
        let line = Line::parse_from(["bench", "round", "--clients", "10", "--json"]);
        assert_eq!(line.arguments.name, "round");
        assert_eq!(line.arguments.arguments, ["--clients", "10", "--json"]);
    }

    #[test]
    fn a_missing_package_is_named() {
        let failure = require_package(Path::new("/does-not-exist")).unwrap_err();
        assert!(failure.0.contains("folkmoot-bench"));
    }
}
