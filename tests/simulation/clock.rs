//! The only real time here: how long the seeds took.

use std::time::{Duration, Instant};

/// Measures how long something takes; no world ever sees it.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    #[allow(clippy::disallowed_methods, reason = "the test measures itself; worlds have a virtual clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
