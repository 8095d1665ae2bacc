//! Prints the rows as text tables or as JSON.

use folkmoot_engine::Gpu;
use serde::Serialize;
use serde_json::json;

use super::{Arguments, model::BenchModel, own::Measured};
use crate::Failure;

/// The measured step of one executor.
#[derive(Serialize)]
pub struct Row {
    model: &'static str,
    batch: usize,
    executor: &'static str,
    step_ms: f64,
    /// The duration of the step divided by the duration of our step on the adapter in the same run.
    times_folkmoot_gpu: f64,
    start_ms: f64,
    version: String,
}

impl Row {
    /// Creates a row. `own` is our executor's measurement on the adapter.
    pub fn new(
        model: BenchModel,
        batch: usize,
        executor: &'static str,
        measured: &Measured,
        own: &Measured,
    ) -> Self {
        Self {
            model: model.name(),
            batch,
            executor,
            step_ms: measured.step_ms,
            times_folkmoot_gpu: measured.step_ms / own.step_ms,
            start_ms: measured.start_ms,
            version: measured.version.clone(),
        }
    }
}

/// Prints the adapter and the heading of the table of products.
pub fn head(gpu: &Gpu, arguments: &Arguments) -> Result<(), Failure> {
    let (report, tuning) = (gpu.report(), gpu.tuning());
    if arguments.json {
        println!("{}", json!({ "adapter": report, "tuning": tuning }));
        return Ok(());
    }
    println!("{} ({}, {}), products divided as \"{tuning}\"", report.name, report.driver, report.backend);
    println!("\n  {:<62} {:>9} {:>8}", "product or kernel", "GFLOP/s", "of peak");
    Ok(())
}

/// Prints the row of a product or a kernel.
pub fn layer(name: &str, gflops: f64, peak: f64, arguments: &Arguments) -> Result<(), Failure> {
    match arguments.json {
        true => println!("{}", json!({ "layer": name, "gflops": gflops, "of_peak": gflops / peak })),
        false => println!("  {name:<62} {gflops:>9.1} {:>8.2}", gflops / peak),
    }
    Ok(())
}

/// Prints the heading of the table of steps.
pub fn steps_head(arguments: &Arguments) {
    if !arguments.json {
        let (steps, repetitions) = (arguments.steps, arguments.repetitions);
        println!(
            "\n  wall-clock time of a step: fastest of {repetitions} measurements, {steps} steps in a submission"
        );
        let columns = ["model", "batch", "executor", "ms", "x gpu", "start ms"];
        let [model, batch, executor, ms, ratio, start] = columns;
        println!("  {model:<26} {batch:>6}  {executor:<14} {ms:>10} {ratio:>8} {start:>9}");
    }
}

/// Prints the row of a step.
pub fn print(row: &Row, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.json {
        println!("{}", serde_json::to_string(row)?);
        return Ok(());
    }
    println!(
        "  {:<26} {:>6}  {:<14} {:>10.3} {:>8.2} {:>9.0}  {}",
        row.model, row.batch, row.executor, row.step_ms, row.times_folkmoot_gpu, row.start_ms, row.version
    );
    Ok(())
}
