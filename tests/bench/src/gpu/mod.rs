//! `bench gpu`: measures complete training steps on a graphics adapter and compares them with burn, torch and the CPU.
//! Also measures large products relative to the adapter's peak.

mod burn;
mod layers;
mod model;
mod own;
mod profile;
mod table;
mod torch;

use folkmoot_engine::{Gpu, block_on};
use model::BenchModel;
use table::Row;

use crate::{Failure, clock};

/// The models to measure, and the extent of the measurement.
#[derive(clap::Args)]
pub struct Arguments {
    /// The models
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = BenchModel::ALL)]
    models: Vec<BenchModel>,
    /// Batch sizes, in examples per step
    #[arg(long, value_delimiter = ',', default_values_t = [32, 256])]
    batches: Vec<usize>,
    /// Steps of a measurement, which our executor submits at once
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=256))]
    steps: u32,
    /// Number of measurements; the fastest is used
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Part of the adapter's name; by default, the first hardware adapter is used
    #[arg(long)]
    device: Option<String>,
    /// Also measure burn's wgpu backend, which takes many minutes to compile
    #[arg(long)]
    with_burn: bool,
    /// Also measure torch on CUDA, with this Python interpreter
    #[arg(long, value_name = "PYTHON")]
    with_torch: Option<String>,
    /// Print the time of each kernel of a step instead of the tables
    #[arg(long, conflicts_with = "only_layers")]
    profile: bool,
    /// Measure only the large products and layers
    #[arg(long)]
    only_layers: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Measures the products and the steps, and prints the tables.
///
/// # Errors
/// Fails if a measurement fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut gpu = Gpu::find(arguments.device.as_deref())?;
    let started = clock::start();
    block_on(gpu.tune(&|| started.elapsed()))?;
    table::head(&gpu, arguments)?;
    if arguments.profile {
        for &model in &arguments.models {
            for &batch in &arguments.batches {
                profile::print(&gpu, model, batch, arguments)?;
            }
        }
        return Ok(());
    }
    layers::measure(&gpu, arguments)?;
    if arguments.only_layers {
        return Ok(());
    }
    table::steps_head(arguments);
    for &model in &arguments.models {
        for &batch in &arguments.batches {
            let own = own::measure(model, batch, Some(&gpu), arguments)?;
            table::print(&Row::new(model, batch, "folkmoot gpu", &own, &own), arguments)?;
            let cpu = own::measure(model, batch, None, arguments)?;
            table::print(&Row::new(model, batch, "folkmoot cpu", &cpu, &own), arguments)?;
            // Enough steps for the others to run as long as our measurement, if they were as fast.
            let steps = (own::MEASURED.as_secs_f64() * 1e3 / own.step_ms).ceil() as u32;
            let steps = steps.max(arguments.steps);
            if arguments.with_burn {
                let burn = burn::measure(model, batch, steps, arguments)?;
                table::print(&Row::new(model, batch, "burn wgpu", &burn, &own), arguments)?;
            }
            if let Some(python) = &arguments.with_torch {
                for (name, torch) in torch::measure(python, model, batch, steps, arguments)? {
                    table::print(&Row::new(model, batch, name, &torch, &own), arguments)?;
                }
            }
        }
    }
    Ok(())
}
