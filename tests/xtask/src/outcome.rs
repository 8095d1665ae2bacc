//! How a stage ends that does not fail.

use crate::workspace::{Failure, is_build_server};
use std::time::Duration;

/// What came of a stage.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Tests that passed.
    pub passed: usize,
    /// Tests that were skipped, each with its reason.
    pub skipped: Vec<Skipped>,
    /// Why the whole stage did not run.
    pub left_out: Option<String>,
    /// How long single tests took, in no order.
    pub durations: Vec<(Duration, String)>,
}

/// A test that did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub name: String,
    pub why: String,
}

impl Outcome {
    /// A stage without tests of its own that did what it is there for.
    pub fn done() -> Self {
        Self::default()
    }

    /// A stage that did not run. A build server must run all of them.
    ///
    /// # Errors
    /// Returns the reason on a build server.
    pub fn left_out(stage: &str, why: impl Into<String>) -> Result<Self, Failure> {
        let why = why.into();
        if is_build_server() {
            return Err(Failure(format!("{stage} cannot be left out on a build server (CI is set): {why}")));
        }
        Ok(Self::unavailable(stage, why))
    }

    /// A stage that did not run, and that a build server may leave out too: what it needs cannot be had everywhere.
    pub fn unavailable(stage: &str, why: String) -> Self {
        println!("xtask: {stage}: SKIPPED: {why}");
        Self { left_out: Some(why), ..Self::default() }
    }

    /// Adds the tests of another part of the stage.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.skipped.extend(other.skipped);
        self.durations.extend(other.durations);
    }

    /// Refuses skipped tests on a build server, where every tool can be had.
    ///
    /// # Errors
    /// Returns what was skipped and why.
    pub fn complete(self) -> Result<Self, Failure> {
        for Skipped { name, why } in &self.skipped {
            println!("xtask: SKIPPED: {name}: {why}");
        }
        match self.skipped.len() {
            0 => Ok(self),
            count if is_build_server() => Err(Failure(format!(
                "{count} tests were skipped, which is a failure on a build server (CI is set); the lines above say why"
            ))),
            _ => Ok(self),
        }
    }
}
