//! The only use of real time in the simulation: measuring how long the seeds took.

use std::time::{Duration, Instant};

/// Measures real time. The worlds do not see it.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts the measurement.
    #[allow(clippy::disallowed_methods, reason = "the test measures itself; worlds have a virtual clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
