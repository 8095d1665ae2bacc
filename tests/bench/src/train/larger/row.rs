//! One row of the table of larger models.

use serde::Serialize;

use super::model::LargerModel;
use crate::Failure;
use crate::train::timing::REPETITIONS;

/// The measurements of one executor with one model.
#[derive(Clone, Serialize)]
pub struct LargerRow {
    pub model: LargerModel,
    /// `folkmoot` or `torch`.
    pub executor: String,
    pub threads: usize,
    /// CPU milliseconds of a step, over all threads.
    pub cpu_ms: f64,
    /// The peak memory of the process, in MiB.
    pub peak_memory_mib: f64,
    /// The mean loss of the batch in the last checked step.
    pub loss: f64,
    /// The version of a peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Prints the heading of the text table.
pub fn print_heading() {
    println!(
        "larger models, batch 32, SGD, executors in turns; CPU time of a step, fastest of {REPETITIONS} repetitions"
    );
    println!(
        "  {:<14} {:>7} {:<22} {:>9} {:>9} {:>9}",
        "model", "threads", "executor", "CPU ms", "peak MiB", "loss"
    );
}

impl LargerRow {
    /// Prints the row as text or as JSON.
    pub fn print(&self, is_json: bool) -> Result<(), Failure> {
        if is_json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        let executor = match &self.version {
            Some(version) => format!("{} {version}", self.executor),
            None => self.executor.clone(),
        };
        println!(
            "  {:<14} {:>7} {executor:<22} {:>9.2} {:>9.0} {:>9.5}",
            self.model.name(),
            self.threads,
            self.cpu_ms,
            self.peak_memory_mib,
            self.loss
        );
        Ok(())
    }
}
