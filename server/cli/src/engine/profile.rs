//! Measures the time of each kind of kernel in a training step.

use std::{collections::BTreeMap, time::Duration};

use folkmoot_client::Host;
use folkmoot_engine::{TrainError, Trainer};
use serde::Serialize;

use crate::output::{or_dash, table};

/// The number of steps over which times are averaged.
const STEPS: usize = 10;

/// The time of a step, by kind of kernel.
#[derive(Debug, PartialEq, Serialize)]
pub struct Profile {
    /// The number of steps over which times are averaged.
    steps: usize,
    /// The time of all kernels of a step.
    step_milliseconds: f64,
    /// The kinds of kernels, slowest first.
    kernels: Vec<KernelProfile>,
}

#[derive(Debug, PartialEq, Serialize)]
struct KernelProfile {
    name: &'static str,
    /// The mean number of dispatches in a step.
    dispatches: f64,
    milliseconds: f64,
    /// The share of the step's time, 0 to 1.
    share: f64,
    /// The speed, for kernels whose operations are counted.
    gflops: Option<f64>,
}

#[derive(Default)]
struct Sums {
    dispatches: usize,
    nanoseconds: f64,
    flops: u64,
}

/// Trains for one step without measurement, then for up to [`STEPS`] steps, and measures the time of each kind of
/// kernel. On an adapter, the times are the adapter's own timestamps.
///
/// # Errors
/// Returns a [`TrainError`] if a step fails, or the adapter cannot time its kernels.
pub fn measure(trainer: &mut Trainer, host: &Host) -> Result<Profile, TrainError> {
    // The first step compiles shaders and runs with cold caches, so it is not measured.
    trainer.advance(1)?;
    let mut sums: BTreeMap<&'static str, Sums> = BTreeMap::new();
    let mut add = |name, nanoseconds, flops| {
        let sum = sums.entry(name).or_default();
        sum.dispatches += 1;
        sum.nanoseconds += nanoseconds;
        sum.flops += flops;
    };
    let mut steps = 0;
    while steps < STEPS && !trainer.progress().finished {
        if trainer.gpu().is_some() {
            for kernel in trainer.step_timed()? {
                add(kernel.name, kernel.nanoseconds, kernel.flops);
            }
        } else {
            let mut begun = host.elapsed();
            trainer.step_observed(&mut |name, flops| {
                let now = host.elapsed();
                add(name, nanoseconds(now.saturating_sub(begun)), flops);
                begun = now;
            })?;
        }
        steps += 1;
    }
    Ok(Profile::new(&sums, steps))
}

fn nanoseconds(duration: Duration) -> f64 {
    1e9 * duration.as_secs_f64()
}

impl Profile {
    fn new(sums: &BTreeMap<&'static str, Sums>, steps: usize) -> Self {
        let total: f64 = sums.values().map(|sum| sum.nanoseconds).sum();
        let per_step = |number: f64| number / steps.max(1) as f64;
        let kernel = |(name, sum): (&&'static str, &Sums)| KernelProfile {
            name,
            dispatches: per_step(sum.dispatches as f64),
            milliseconds: per_step(sum.nanoseconds) / 1e6,
            share: if total > 0.0 { sum.nanoseconds / total } else { 0.0 },
            gflops: (sum.flops > 0 && sum.nanoseconds > 0.0).then(|| sum.flops as f64 / sum.nanoseconds),
        };
        let mut kernels: Vec<KernelProfile> = sums.iter().map(kernel).collect();
        kernels.sort_by(|a, b| b.milliseconds.total_cmp(&a.milliseconds));
        Self { steps, step_milliseconds: per_step(total) / 1e6, kernels }
    }

    /// Formats the profile as a table.
    pub fn text(&self) -> String {
        let row = |kernel: &KernelProfile| {
            [
                kernel.name.to_owned(),
                format!("{}", kernel.dispatches),
                format!("{:.3}", kernel.milliseconds),
                format!("{:.1} %", 100.0 * kernel.share),
                or_dash(kernel.gflops.map(|gflops| format!("{gflops:.1}"))),
            ]
        };
        format!(
            "{}\nthe kernels of a step take {:.3} ms, averaged over {} steps",
            table(["KERNEL", "DISPATCHES", "MS", "SHARE", "GFLOP/S"], self.kernels.iter().map(row)),
            self.step_milliseconds,
            self.steps
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_operations_are_those_of_a_step() {
        let product = Sums { dispatches: 6, nanoseconds: 6e6, flops: 12_000_000 };
        let sum = Sums { dispatches: 2, nanoseconds: 2e6, flops: 0 };
        let profile = Profile::new(&BTreeMap::from([("sum", sum), ("product", product)]), 2);
        assert_eq!(profile.step_milliseconds, 4.0);
        let first = &profile.kernels[0];
        assert_eq!((first.name, first.dispatches, first.milliseconds), ("product", 3.0, 3.0));
        assert_eq!((first.share, first.gflops), (0.75, Some(2.0)));
        assert!(profile.text().lines().nth(2).unwrap().ends_with("25.0 %  -"), "{}", profile.text());
    }
}
