//! `bench gpu`: measures complete training steps on a graphics adapter and compares them with burn and the CPU. Also
//! measures large products relative to the adapter's peak.

mod burn;
mod layers;
mod model;
mod own;
mod table;

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
            if arguments.with_burn {
                let burn = burn::measure(model, batch, arguments)?;
                table::print(&Row::new(model, batch, "burn wgpu", &burn, &own), arguments)?;
            }
        }
    }
    Ok(())
}
