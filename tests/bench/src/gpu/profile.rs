//! Profiles a step by kernel, with the adapter's own clock.

use std::collections::BTreeMap;

use folkmoot_engine::{Gpu, KernelTime};
use serde::Serialize;

use super::{Arguments, model::BenchModel, own};
use crate::Failure;

/// The number of timed steps. Each kernel counts with its fastest time.
const TIMED_STEPS: usize = 5;

/// The total of all dispatches of a kernel in a step.
#[derive(Default, Serialize)]
struct Sum {
    calls: usize,
    microseconds: f64,
    /// Floating-point operations; 0 if they are not counted.
    flops: u64,
}

/// Prints the time of each kernel in a step of a model.
///
/// # Errors
/// Returns the error of the engine; also if the adapter has no timestamps.
pub fn print(gpu: &Gpu, model: BenchModel, batch: usize, arguments: &Arguments) -> Result<(), Failure> {
    let mut sums: BTreeMap<&'static str, Sum> = BTreeMap::new();
    for kernel in fastest(gpu, model, batch, arguments)? {
        let sum = sums.entry(kernel.name).or_default();
        sum.calls += 1;
        sum.microseconds += kernel.nanoseconds / 1e3;
        sum.flops += kernel.flops;
    }
    let total: f64 = sums.values().map(|sum| sum.microseconds).sum();
    let calls: usize = sums.values().map(|sum| sum.calls).sum();
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|(_, one), (_, other)| other.microseconds.total_cmp(&one.microseconds));
    if arguments.json {
        let report = serde_json::json!({ "profile": model.name(), "batch": batch, "kernels": sums });
        println!("{report}");
        return Ok(());
    }
    println!("\n  {}, batch {batch}: {calls} dispatches, {total:.1} us in all", model.name());
    for (name, Sum { calls, microseconds, flops }) in sums {
        let (share, gflops) = (100.0 * microseconds / total, flops as f64 / microseconds / 1e3);
        println!("  {name:<34} {calls:>4} {microseconds:>10.1} us {share:>5.1}% {gflops:>9.1} GFLOP/s");
    }
    Ok(())
}

/// Returns the fastest time of each dispatch of a step, in their order.
fn fastest(
    gpu: &Gpu,
    model: BenchModel,
    batch: usize,
    arguments: &Arguments,
) -> Result<Vec<KernelTime>, Failure> {
    let mut trainer = own::trainer(model, batch)?;
    trainer.use_gpu(gpu)?;
    own::warm_up(&mut trainer, u64::from(arguments.steps))?;
    let mut fastest = trainer.step_timed()?;
    for _ in 1..TIMED_STEPS {
        for (best, time) in fastest.iter_mut().zip(trainer.step_timed()?) {
            best.nanoseconds = best.nanoseconds.min(time.nanoseconds);
        }
    }
    Ok(fastest)
}
