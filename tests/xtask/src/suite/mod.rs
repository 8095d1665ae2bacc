//! `cargo xtask test`: everything that must hold before a change goes in.

pub mod harness;
mod rust;
mod stage;
pub mod summary;

use crate::process::Stopwatch;
use crate::workspace::Failure;
use clap::{Args, ValueEnum};
use stage::Stage;
use summary::Summary;

/// What to test.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Leave out the tests that take minutes, such as the long simulation
    #[arg(long)]
    quick: bool,
    /// Run only this stage; may be given several times
    #[arg(long, value_name = "STAGE")]
    only: Vec<Stage>,
    /// Print what each stage and the slowest tests took, also in seconds of processor time
    #[arg(long)]
    timings: bool,
    /// Print the summary as JSON, on the last line
    #[arg(long)]
    json: bool,
}

/// Runs the chosen stages in their order and stops at the first that fails.
///
/// # Errors
/// Returns which stage failed, why, and what was not run.
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

/// Returns the stages to run, always in the order in which they depend on each other.
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
