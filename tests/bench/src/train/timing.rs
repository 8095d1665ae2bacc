//! Measures the time of a step: the fastest of several repetitions.

use std::time::Duration;

use crate::{Failure, clock, process};

/// The number of repetitions. The fastest is used, because other programs disturbed it the least.
pub const REPETITIONS: usize = 7;
/// The approximate duration of a repetition.
const REPETITION: Duration = Duration::from_millis(500);
const WARM_UP: Duration = Duration::from_millis(300);
const WARM_UP_STEPS: u32 = 3;

/// Returns the number of steps in a repetition. First performs a warm-up, which touches memory and fills caches.
pub fn steps_of_a_repetition(mut step: impl FnMut() -> Result<(), Failure>) -> Result<u32, Failure> {
    let started = clock::start();
    let mut steps = 0;
    while steps < WARM_UP_STEPS || started.elapsed() < WARM_UP {
        step()?;
        steps += 1;
    }
    let of_a_step = started.elapsed() / steps;
    Ok((REPETITION.as_secs_f64() / of_a_step.as_secs_f64().max(1e-9)).ceil() as u32)
}

/// Returns the CPU time of a step in milliseconds, over all threads of this process.
///
/// If the kernel does not report CPU time, returns the wall-clock time; see [`is_cpu_time`].
pub fn milliseconds(mut step: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let steps = steps_of_a_repetition(&mut step)?;
    let mut fastest = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let (started, cpu) = (clock::start(), process::own_cpu_time());
        for _ in 0..steps {
            step()?;
        }
        let used = match (process::own_cpu_time(), cpu) {
            (Some(after), Some(before)) => after.saturating_sub(before),
            _ => started.elapsed(),
        };
        fastest = fastest.min(used.as_secs_f64() * 1e3 / f64::from(steps));
    }
    Ok(fastest)
}

/// Returns `true` if [`milliseconds`] measures CPU time, and `false` if it measures wall-clock time.
pub fn is_cpu_time() -> bool {
    process::own_cpu_time().is_some()
}
