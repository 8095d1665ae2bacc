//! `bench ingest`: what an accepted update costs the coordinator, and how near the fold is to the machine.

pub mod floor;
mod fold;
pub mod load;
mod table;

use crate::Failure;

/// What to measure.
#[derive(clap::Args)]
pub struct Arguments {
    /// Parameters of the model, float32
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000, 10_000_000])]
    parameters: Vec<usize>,
    /// Clients that upload at the same time
    #[arg(long, value_delimiter = ',', default_values_t = [10, 50, 500])]
    clients: Vec<usize>,
    /// Bytes of updates in one cell of the table, at most; a cell that is larger runs fewer rounds, or is left out
    #[arg(long, default_value_t = 4_000_000_000)]
    bytes_max: u64,
    /// Rounds of one cell, at most
    #[arg(long, default_value_t = 10)]
    rounds: u64,
    /// Only the fold in memory
    #[arg(long)]
    fold_only: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    // A million parameters lie in a large cache, ten million in memory.
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
