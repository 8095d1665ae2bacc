//! The one place of the benchmarks that reads the clock.

use std::time::{Duration, Instant};

/// Returns the moment from which to measure.
#[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub fn start() -> Instant {
    Instant::now()
}

/// Returns the fastest of `repetitions` runs: what a noisy machine can do when nothing else disturbs it.
pub fn fastest(repetitions: usize, mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = start();
        run();
        start.elapsed()
    };
    (0..repetitions).map(time).min().unwrap_or_default()
}
