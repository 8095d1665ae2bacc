//! The only place where the benchmarks read the clock.

use std::time::{Duration, Instant};

/// Returns the start time of a measurement.
#[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub fn start() -> Instant {
    Instant::now()
}

/// Returns the duration of the fastest of `repetitions` runs, because other programs disturbed it the least.
pub fn fastest(repetitions: usize, mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = start();
        run();
        start.elapsed()
    };
    (0..repetitions).map(time).min().unwrap_or_default()
}
