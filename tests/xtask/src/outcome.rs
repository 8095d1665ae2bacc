//! The outcome of a stage that did not fail.

use crate::workspace::{Failure, is_build_server};
use std::time::Duration;

/// The outcome of a stage.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The number of tests that passed.
    pub passed: usize,
    /// Skipped tests, each with its reason.
    pub skipped: Vec<Skipped>,
    /// The reason why the whole stage did not run; `None` if it ran.
    pub left_out: Option<String>,
    /// The durations of single tests, in no particular order.
    pub durations: Vec<(Duration, String)>,
}

/// A skipped test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub name: String,
    pub why: String,
}

impl Outcome {
    /// Creates the outcome of a successful stage without tests.
    pub fn done() -> Self {
        Self::default()
    }

    /// Creates the outcome of a stage that did not run.
    ///
    /// # Errors
    /// Fails with the reason on a build server, which must run all stages.
    pub fn left_out(stage: &str, why: impl Into<String>) -> Result<Self, Failure> {
        let why = why.into();
        if is_build_server() {
            return Err(Failure(format!(
                "stage {stage} cannot run, and a build server (CI is set) may not skip it: {why}"
            )));
        }
        Ok(Self::unavailable(stage, why))
    }

    /// Creates the outcome of a stage that even a build server may skip, because the stage's tools do not exist on
    /// every system.
    pub fn unavailable(stage: &str, why: String) -> Self {
        println!("xtask: {stage}: SKIPPED: {why}");
        Self { left_out: Some(why), ..Self::default() }
    }

    /// Adds the results of another part of the stage.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.skipped.extend(other.skipped);
        self.durations.extend(other.durations);
    }

    /// Prints the skipped tests. Fails if there are any on a build server, where every tool must be available.
    ///
    /// # Errors
    /// Returns the number of skipped tests on a build server.
    pub fn complete(self) -> Result<Self, Failure> {
        for Skipped { name, why } in &self.skipped {
            println!("xtask: SKIPPED: {name}: {why}");
        }
        match self.skipped.len() {
            0 => Ok(self),
            count if is_build_server() => Err(Failure(format!(
                "{count} tests were skipped; a build server (CI is set) must run all of them. \
                 Install the tools that the SKIPPED lines above name"
            ))),
            _ => Ok(self),
        }
    }
}
