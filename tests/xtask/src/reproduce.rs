//! `cargo xtask reproduce <name>`: runs one published experiment in the simulator, with a release build.

use crate::process::run_within;
use crate::workspace::{Failure, cargo};
use clap::Args;
use std::time::Duration;

const PACKAGE: &str = "folkmoot-bench";
/// The time limit. The longest experiment takes an hour on two idle cores.
const LIMIT: Duration = Duration::from_secs(6 * 60 * 60);

/// The experiment to run.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Name of the experiment: fed-avg, fed-prox, scaffold, fed-nova, niid, adaptive, buffered, stale-synchronous, robust, colluding, personal, clustered, widths,
    /// inversion, private or compressed
    name: String,
    /// Arguments of the experiment itself, such as `--quick` or `--seeds 5`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds and runs the experiment.
///
/// # Errors
/// Fails if the experiment fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let line = ["run", "--release", "-p", PACKAGE, "--", "reproduce", &arguments.name];
    run_within(cargo(&line).args(&arguments.arguments), LIMIT)
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
    fn everything_after_the_name_belongs_to_the_experiment() {
        let line = Line::parse_from(["reproduce", "fed-avg", "--seeds", "5", "--quick"]);
        assert_eq!(line.arguments.name, "fed-avg");
        assert_eq!(line.arguments.arguments, ["--seeds", "5", "--quick"]);
    }
}
