//! `cargo xtask test`: all checks that a change must pass before it is merged.

pub mod harness;
mod rust;
mod stage;
pub mod summary;

use crate::process::Stopwatch;
use crate::workspace::Failure;
use clap::{Args, ValueEnum};
use stage::Stage;
use summary::Summary;

/// The stages to run, and the form of the report.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Skip the tests that take minutes, such as the long simulation
    #[arg(long)]
    quick: bool,
    /// Run only this stage; may be given several times
    #[arg(long, value_name = "STAGE")]
    only: Vec<Stage>,
    /// Print the duration and processor time of each stage, and the slowest tests
    #[arg(long)]
    timings: bool,
    /// Print the summary as JSON on the last line
    #[arg(long)]
    json: bool,
}

/// Runs the chosen stages in order and stops at the first failure.
///
/// # Errors
/// Names the stage that failed, the reason, and the stages that did not run.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stages = chosen(&arguments.only);
    let mut summary = Summary::default();
    for (index, stage) in stages.iter().enumerate() {
        let stopwatch = Stopwatch::start();
        let outcome = stage.run(arguments.quick);
        let taken = stopwatch.read();
        println!("xtask: {}", summary.add(stage.name(), taken, outcome));
        if summary.has_failed() {
            summary.not_run = stages[index + 1..].iter().map(|stage| stage.name()).collect();
            break;
        }
    }
    if arguments.timings {
        print!("{}", summary.timings());
    }
    if arguments.json {
        println!("{}", summary.json());
    }
    summary.end()
}

/// Returns the stages to run, in the order of their dependencies.
fn chosen(only: &[Stage]) -> Vec<Stage> {
    let all = Stage::value_variants().iter().copied();
    all.filter(|stage| only.is_empty() || only.contains(stage)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_keep_their_order_whatever_order_is_asked_for() {
        assert_eq!(chosen(&[Stage::Test, Stage::Fmt]), [Stage::Fmt, Stage::Test]);
        assert_eq!(chosen(&[]).first(), Some(&Stage::Install));
        assert_eq!(chosen(&[]), Stage::value_variants());
        assert_eq!(chosen(&[Stage::Browser]), [Stage::Browser]);
    }
}
