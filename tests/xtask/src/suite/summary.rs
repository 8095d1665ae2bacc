//! The summary of a run of the suite.

use crate::outcome::{Outcome, Skipped};
use crate::process::Taken;
use crate::workspace::Failure;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// The number of slowest tests to list.
const SLOWEST: usize = 20;

/// The stages that ran, in order.
#[derive(Debug, Default)]
pub struct Summary {
    stages: Vec<Ran>,
    /// The names of the stages after the one that failed.
    pub not_run: Vec<&'static str>,
}

#[derive(Debug)]
struct Ran {
    name: &'static str,
    taken: Taken,
    outcome: Result<Outcome, Failure>,
}

impl Summary {
    /// Adds a stage and returns its line.
    pub fn add(&mut self, name: &'static str, taken: Taken, outcome: Result<Outcome, Failure>) -> String {
        let seconds = seconds(taken.elapsed);
        let line = match &outcome {
            Err(_) => format!("{name} FAILED after {seconds}"),
            Ok(Outcome { left_out: Some(why), .. }) => format!("{name} skipped: {why}"),
            Ok(_) => format!("{name} passed in {seconds}"),
        };
        self.stages.push(Ran { name, taken, outcome });
        line
    }

    /// Returns `true` if the last stage failed.
    pub fn has_failed(&self) -> bool {
        self.stages.last().is_some_and(|stage| stage.outcome.is_err())
    }

    /// Formats the table of stages and the slowest tests.
    pub fn timings(&self) -> String {
        let mut text = format!("{:<12}{:>12}{:>14}\n", "stage", "elapsed", "processor");
        let mut line = |name: &str, taken: Taken| {
            let processor = taken.processor.map_or_else(|| "?".to_owned(), seconds);
            let _ = writeln!(text, "{name:<12}{:>12}{processor:>14}", seconds(taken.elapsed));
        };
        self.stages.iter().for_each(|stage| line(stage.name, stage.taken));
        line("all", self.taken());
        let mut tests: Vec<&(Duration, String)> =
            self.passed_stages().flat_map(|outcome| &outcome.durations).collect();
        tests.sort_by(|a, b| b.cmp(a));
        if !tests.is_empty() {
            text.push_str("\nthe slowest tests\n");
        }
        for (duration, name) in tests.into_iter().take(SLOWEST) {
            let _ = writeln!(text, "{:>12}  {name}", seconds(*duration));
        }
        text
    }

    /// Returns the summary as JSON.
    pub fn json(&self) -> Value {
        let stage = |stage: &Ran| {
            let (passed, skipped) = match &stage.outcome {
                Ok(outcome) => (outcome.passed, skipped_in(outcome)),
                Err(_) => (0, Vec::new()),
            };
            json!({
                "name": stage.name,
                "elapsed_seconds": stage.taken.elapsed.as_secs_f64(),
                "processor_seconds": stage.taken.processor.map(|processor| processor.as_secs_f64()),
                "failure": stage.outcome.as_ref().err().map(|failure| failure.0.clone()),
                "left_out": stage.outcome.as_ref().ok().and_then(|outcome| outcome.left_out.clone()),
                "tests_passed": passed,
                "tests_skipped": skipped,
            })
        };
        json!({ "stages": self.stages.iter().map(stage).collect::<Vec<_>>(), "not_run": self.not_run })
    }

    /// Prints the counts, and returns the failure if there was one.
    ///
    /// # Errors
    /// Names the stage that failed, the reason, and the stages that did not run.
    pub fn end(self) -> Result<(), Failure> {
        let counts = self.counts();
        match self.stages.iter().find_map(|stage| Some((stage.name, stage.outcome.as_ref().err()?))) {
            None => {
                println!("xtask: all passed in {}: {}", seconds(self.taken().elapsed), self.list());
                println!("xtask: {counts}");
                Ok(())
            }
            Some((name, Failure(failure))) => {
                let or_none = |list: String| if list.is_empty() { "nothing".to_owned() } else { list };
                let (passed, rest) = (or_none(self.list()), or_none(self.not_run.join(", ")));
                Err(Failure(format!(
                    "{failure}\nxtask: failed: {name}; passed: {passed}; not run: {rest}\nxtask: {counts}"
                )))
            }
        }
    }

    fn counts(&self) -> String {
        let passed: usize = self.passed_stages().map(|outcome| outcome.passed).sum();
        let skipped: usize = self.passed_stages().map(|outcome| outcome.skipped.len()).sum();
        let left_out = self.passed_stages().filter(|outcome| outcome.left_out.is_some()).count();
        let failed = usize::from(self.stages.iter().any(|stage| stage.outcome.is_err()));
        let stages = self.stages.len() - failed - left_out;
        format!(
            "stages: {stages} passed, {failed} failed, {left_out} skipped; tests of the stages that passed: {passed} \
             passed, {skipped} skipped"
        )
    }

    fn passed_stages(&self) -> impl Iterator<Item = &Outcome> {
        self.stages.iter().filter_map(|stage| stage.outcome.as_ref().ok())
    }

    fn list(&self) -> String {
        let passed = self.stages.iter().filter(|stage| stage.outcome.is_ok());
        let stages =
            passed.map(|stage| match stage.outcome.as_ref().is_ok_and(|one| one.left_out.is_some()) {
                true => format!("{} skipped", stage.name),
                false => format!("{} {}", stage.name, seconds(stage.taken.elapsed)),
            });
        stages.collect::<Vec<_>>().join(", ")
    }

    fn taken(&self) -> Taken {
        let processor = self.stages.iter().map(|stage| stage.taken.processor).sum();
        Taken { elapsed: self.stages.iter().map(|stage| stage.taken.elapsed).sum(), processor }
    }
}

fn skipped_in(outcome: &Outcome) -> Vec<Value> {
    let skipped = |Skipped { name, why }: &Skipped| json!({ "name": name, "why": why });
    outcome.skipped.iter().map(skipped).collect()
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(milliseconds: u64) -> Taken {
        let duration = Duration::from_millis(milliseconds);
        Taken { elapsed: duration, processor: Some(2 * duration) }
    }

    fn tested() -> Outcome {
        let durations = vec![
            (Duration::from_millis(20), "quick".to_owned()),
            (Duration::from_secs(2), "slow".to_owned()),
        ];
        Outcome { passed: 2, durations, ..Outcome::done() }
    }

    #[test]
    fn a_failure_says_what_was_not_run() {
        let mut summary = Summary::default();
        assert_eq!(summary.add("fmt", taken(1_500), Ok(Outcome::done())), "fmt passed in 1.5 s");
        assert_eq!(
            summary.add("test", taken(900), Err(Failure("why".to_owned()))),
            "test FAILED after 0.9 s"
        );
        assert!(summary.has_failed());
        summary.not_run = vec!["browser", "fuzz"];
        assert_eq!(summary.json()["stages"][1]["failure"], "why");
        let failure = summary.end().unwrap_err().0;
        assert!(
            failure.starts_with("why\nxtask: failed: test; passed: fmt 1.5 s; not run: browser, fuzz\n"),
            "{failure}"
        );
        assert!(failure.contains("stages: 1 passed, 1 failed, 0 skipped"), "{failure}");
    }

    #[test]
    fn timings_have_the_slowest_test_first_and_the_sum_last() {
        let mut summary = Summary::default();
        summary.add("test", taken(3_000), Ok(tested()));
        let left_out = Outcome { left_out: Some("no Java".to_owned()), ..Outcome::done() };
        assert_eq!(summary.add("kotlin", taken(0), Ok(left_out)), "kotlin skipped: no Java");
        let lines: Vec<String> = summary.timings().lines().map(str::to_owned).collect();
        assert_eq!(lines[1], "test               3.0 s         6.0 s");
        assert_eq!(lines[3], "all                3.0 s         6.0 s");
        assert_eq!(lines[6].trim(), "2.0 s  slow");
        assert_eq!(
            summary.counts(),
            "stages: 1 passed, 0 failed, 1 skipped; tests of the stages that passed: 2 passed, 0 skipped"
        );
        assert!(summary.end().is_ok());
    }
}
