//! `bench ingest`: measures the coordinator's cost of an accepted update, and the speed of the fold relative to the
//! machine's limits.

pub mod floor;
mod fold;
pub mod load;
mod table;

use crate::Failure;

/// The sizes to measure, and the extent of the measurement.
#[derive(clap::Args)]
pub struct Arguments {
    /// Parameters of the model, float32
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000, 10_000_000])]
    parameters: Vec<usize>,
    /// Clients that upload at the same time
    #[arg(long, value_delimiter = ',', default_values_t = [10, 50, 500])]
    clients: Vec<usize>,
    /// Maximum bytes of all updates in a cell of the table; a cell with more bytes runs fewer rounds or is skipped
    #[arg(long, default_value_t = 4_000_000_000)]
    bytes_max: u64,
    /// Maximum rounds of a cell
    #[arg(long, default_value_t = 10)]
    rounds: u64,
    /// Measure only the fold in memory
    #[arg(long)]
    fold_only: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Measures the fold and all cells, and prints the tables.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    // A million parameters fit into a large cache; ten million do not.
    for parameters in [1_000_000, 10_000_000] {
        table::print_folds(&fold::measure(parameters), arguments.json)?;
    }
    if arguments.fold_only {
        return Ok(());
    }
    table::print_heading(arguments.json);
    for &parameters in &arguments.parameters {
        for &clients in &arguments.clients {
            let round_bytes = (parameters * 4 * clients) as u64;
            let rounds = (arguments.bytes_max / round_bytes).min(arguments.rounds);
            if rounds == 0 {
                continue;
            }
            let floor = floor::measure(parameters, clients, rounds)?;
            for is_plain in [false, true] {
                let cell = load::measure(parameters, clients, rounds, is_plain)?;
                table::print_cell(&cell, &floor, arguments.json)?;
            }
        }
    }
    Ok(())
}
