//! `bench train`: measures a training step of two well-known models on one thread, relative to the processor's peak, and
//! of larger models beside PyTorch.

mod candle;
mod executor;
mod folkmoot;
pub mod larger;
pub mod network;
pub mod peers;
mod product;
mod profile;
mod row;
mod table;
mod timing;
pub mod trainee;

use clap::ValueEnum;
use larger::model::LargerModel;
use network::Network;
use row::Row;
use table::Table;
use trainee::ExecutorName;

use crate::Failure;

/// The models and frameworks to measure.
#[derive(clap::Args)]
pub struct Arguments {
    /// Models to measure
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Network::TwoNn, Network::Cnn])]
    models: Vec<Network>,
    /// Larger models to measure beside PyTorch with `--with-peers`
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = LargerModel::value_variants().to_vec())]
    larger: Vec<LargerModel>,
    /// Also measure onnxruntime-training, JAX and PyTorch if Python has them, and the larger models
    #[arg(long)]
    with_peers: bool,
    /// Python interpreter for the peers; each peer uses the first of several that has it
    #[arg(long, default_value = "python3")]
    python: Vec<String>,
    /// Also measure burn's `flex` backend, which takes minutes to compile
    #[arg(long)]
    with_burn: bool,
    /// Print the time of each operator of our executor instead of the comparison
    #[arg(long)]
    profile: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Measures all models and prints the tables.
///
/// # Errors
/// Fails if a measurement fails, or if an executor's loss differs from ours. The error names these executors.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.profile {
        return arguments.models.iter().try_for_each(|model| profile::print(*model, arguments.json));
    }
    let mut faults = Vec::new();
    for &model in &arguments.models {
        let mut table = Table::new(model, arguments.json);
        table.print(&product::measure_peak(model)?)?;
        let rows = measure(model, arguments, &mut table)?;
        for product in model.products() {
            table.print_product(&product::measure_layer(model, product)?, product.layer)?;
        }
        table.finish();
        faults.extend(disagreements(&rows));
    }
    if arguments.with_peers {
        faults.extend(larger::run(&arguments.larger, &arguments.python, arguments.json)?);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

/// Measures all executors. Prints each result immediately.
fn measure(model: Network, arguments: &Arguments, table: &mut Table) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let mut add = |row: Row| -> Result<(), Failure> {
        table.print(&row)?;
        rows.push(row);
        Ok(())
    };
    add(trainee::measure(model, ExecutorName::Folkmoot)?)?;
    add(trainee::measure(model, ExecutorName::Candle)?)?;
    if arguments.with_burn || arguments.with_peers {
        let inputs = peers::Inputs::write(model)?;
        if arguments.with_burn {
            add(inputs.measure_burn()?)?;
        }
        if arguments.with_peers {
            inputs.measure_python(&arguments.python)?.into_iter().try_for_each(add)?;
        }
    }
    Ok(rows)
}

/// Returns a message about each executor whose loss differs from ours.
///
/// candle's CNN is not compared, because the gradient of its pools is wrong.
fn disagreements(rows: &[Row]) -> Vec<String> {
    let Some(own) = rows.iter().find(|row| row.executor == "folkmoot").and_then(|row| row.loss) else {
        return Vec::new();
    };
    let tolerance = |row: &Row| row.model.loss_tolerance() * own.abs();
    let is_compared = |row: &&Row| row.model != Network::Cnn || row.executor != "candle";
    let losses = rows.iter().filter(is_compared).filter_map(|row| Some((row, row.loss?)));
    let differ = losses.filter(|(row, loss)| loss.is_nan() || (loss - own).abs() > tolerance(row));
    let fault = |(row, loss): (&Row, f64)| {
        let model = row.model.name();
        format!(
            "after {} steps {}'s loss of {model} is {loss}, ours {own}",
            trainee::CHECKED_STEPS,
            row.executor
        )
    };
    differ.map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(model: Network, executor: &str, loss: f64) -> Row {
        Row { loss: Some(loss), ..Row::of_step(model, executor, 1.0) }
    }

    #[test]
    fn another_loss_is_a_fault_except_where_candle_pools() {
        for (model, faults) in [(Network::TwoNn, 1), (Network::Cnn, 0)] {
            let rows = [row(model, "folkmoot", 2.0), row(model, "jax", 2.001), row(model, "candle", 2.1)];
            assert_eq!(disagreements(&rows).len(), faults);
        }
        let rows = [row(Network::Cnn, "folkmoot", 2.0), row(Network::Cnn, "jax", f64::NAN)];
        assert_eq!(disagreements(&rows).len(), 1);
    }
}
