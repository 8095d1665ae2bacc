//! Prints the rows as a text table or as JSON.

use super::{
    network::{BATCH_SIZE, Network},
    row::Row,
    timing::{REPETITIONS, is_cpu_time},
    trainee::CHECKED_STEPS,
};
use crate::Failure;

/// The table of one model. It prints each row immediately.
pub struct Table {
    model: Network,
    is_json: bool,
    /// Billions of operations per second of the plain product.
    peak: Option<f64>,
    /// CPU milliseconds of our executor.
    own: Option<f64>,
}

impl Table {
    /// Prints the heading.
    pub fn new(model: Network, is_json: bool) -> Self {
        if !is_json {
            let clock =
                if is_cpu_time() { "CPU" } else { "wall-clock (this system does not count CPU time)" };
            println!(
                "{}, batch {BATCH_SIZE}, one thread, SGD: {:.2} MFLOP in the products of a step",
                model.name(),
                model.flops() as f64 / 1e6
            );
            println!("{clock} time of a step, fastest of {REPETITIONS} repetitions of half a second");
            println!(
                "  {:<30} {:>9} {:>9} {:>11} {:>8} {:>9} {:>9}",
                "executor", "CPU ms", "GFLOP/s", "x folkmoot", "of peak", "peak MiB", "loss"
            );
        }
        Self { model, is_json, peak: None, own: None }
    }

    /// Prints a row. The rows of the peak and of our executor must come first, because the others are compared with
    /// them.
    pub fn print(&mut self, row: &Row) -> Result<(), Failure> {
        match row.executor.as_str() {
            "gemm" => self.peak = Some(row.gflops),
            "folkmoot" => self.own = Some(row.cpu_ms),
            _ => {}
        }
        let name = match (&row.version, row.executor.as_str()) {
            (_, "gemm") => "gemm peak, 1024x1024x1024".to_owned(),
            (Some(version), executor) => format!("{executor} {version}"),
            (None, executor) => executor.to_owned(),
        };
        let ratio = self.own.map(|own| row.cpu_ms / own);
        self.line(row, &name, ratio)
    }

    /// Prints the row of a layer's plain product.
    pub fn print_product(&self, row: &Row, layer: &str) -> Result<(), Failure> {
        self.line(row, &row.executor, None)?;
        if !self.is_json {
            println!("    ({layer})");
        }
        Ok(())
    }

    fn line(&self, row: &Row, name: &str, ratio: Option<f64>) -> Result<(), Failure> {
        if self.is_json {
            println!("{}", serde_json::to_string(row)?);
            return Ok(());
        }
        let or_dash = |number: Option<f64>, digits: usize| {
            number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
        };
        println!(
            "  {:<30} {:>9.3} {:>9.1} {:>11} {:>8} {:>9} {:>9}",
            name,
            row.cpu_ms,
            row.gflops,
            or_dash(ratio, 2),
            or_dash(self.peak.map(|peak| row.gflops / peak), 2),
            or_dash(row.peak_memory_mib, 0),
            or_dash(row.loss, 5)
        );
        Ok(())
    }

    /// Prints the notes below the table.
    pub fn finish(&self) {
        if self.is_json {
            return;
        }
        println!("  loss: of the last of {CHECKED_STEPS} steps on one batch, from the same weights.");
        println!("  folkmoot also gathers its batch from 1,024 examples; the others keep theirs.");
        if self.model == Network::Cnn {
            println!(
                "  candle 0.11's gradient of max pooling is wrong: it trains otherwise, and its loss differs."
            );
        }
        println!();
    }
}
