//! `cargo xtask test`: everything that must hold before a change goes in.

use crate::clock;
use crate::stage::Stage;
use crate::workspace::Failure;
use clap::{Args, ValueEnum};
use std::time::Duration;

/// What to test.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Leave out the tests that take minutes, such as the long simulation
    #[arg(long)]
    quick: bool,
    /// Run only this stage; may be given several times
    #[arg(long, value_name = "STAGE")]
    only: Vec<Stage>,
}

/// Runs the chosen stages in their order and stops at the first that fails.
///
/// # Errors
/// Returns which stage failed, why, and what was not run.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stages = chosen(&arguments.only);
    let mut summary = Summary::default();
    for (index, stage) in stages.iter().enumerate() {
        let started = clock::now();
        let outcome = stage.run(arguments.quick);
        let elapsed = started.elapsed();
        if let Err(failure) = outcome {
            println!("xtask: {} FAILED after {}", stage.name(), seconds(elapsed));
            return Err(Failure(format!(
                "{failure}\n{}",
                summary.after_failure(*stage, &stages[index + 1..])
            )));
        }
        println!("xtask: {} passed in {}", stage.name(), seconds(elapsed));
        summary.passed.push((*stage, elapsed));
    }
    println!("{}", summary.after_success());
    Ok(())
}

/// Returns the stages to run, always in the order in which they depend on each other.
fn chosen(only: &[Stage]) -> Vec<Stage> {
    let all = Stage::value_variants().iter().copied();
    all.filter(|stage| only.is_empty() || only.contains(stage)).collect()
}

/// What has passed so far.
#[derive(Debug, Default)]
struct Summary {
    passed: Vec<(Stage, Duration)>,
}

impl Summary {
    fn after_success(&self) -> String {
        let total = self.passed.iter().map(|(_, elapsed)| elapsed).sum();
        format!("xtask: all passed in {}: {}", seconds(total), self.list())
    }

    fn after_failure(&self, failed: Stage, rest: &[Stage]) -> String {
        let rest: Vec<&str> = rest.iter().map(|stage| stage.name()).collect();
        let or_none = |list: String| if list.is_empty() { "nothing".to_owned() } else { list };
        let (passed, rest) = (or_none(self.list()), or_none(rest.join(", ")));
        format!("xtask: failed: {}; passed: {passed}; not run: {rest}", failed.name())
    }

    fn list(&self) -> String {
        let stages =
            self.passed.iter().map(|(stage, elapsed)| format!("{} {}", stage.name(), seconds(*elapsed)));
        stages.collect::<Vec<_>>().join(", ")
    }
}

fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
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

    #[test]
    fn the_summary_says_what_was_not_run() {
        let summary = Summary { passed: vec![(Stage::Fmt, Duration::from_millis(1_500))] };
        assert_eq!(
            summary.after_failure(Stage::Clippy, &[Stage::Build, Stage::Test]),
            "xtask: failed: clippy; passed: fmt 1.5 s; not run: build, test"
        );
        assert_eq!(summary.after_success(), "xtask: all passed in 1.5 s: fmt 1.5 s");
    }
}
