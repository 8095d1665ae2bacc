//! One row of the table.

use serde::{Deserialize, Serialize};

use super::network::Network;

/// The measurements of one executor with one model.
#[derive(Clone, Serialize, Deserialize)]
pub struct Row {
    /// The model.
    pub model: Network,
    /// `folkmoot`, `candle`, …; `gemm` for the plain product that is the peak, and `gemm` with the shape for other
    /// plain products.
    pub executor: String,
    /// CPU milliseconds of a step, or of the product.
    pub cpu_ms: f64,
    /// Billions of floating-point operations per second, by the count of [`Network::flops`].
    pub gflops: f64,
    /// The mean loss of the batch in the last checked step. All executors start with the same weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The peak memory of the process, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_mib: Option<f64>,
    /// The version of a peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Row {
    /// Creates the row of a step of this model.
    pub fn of_step(model: Network, executor: &str, cpu_ms: f64) -> Self {
        Self::new(model, executor, cpu_ms, model.flops())
    }

    /// Creates a row from a number of operations and the CPU milliseconds that they took.
    pub fn new(model: Network, executor: &str, cpu_ms: f64, flops: u64) -> Self {
        let gflops = flops as f64 / cpu_ms / 1e6;
        let executor = executor.to_owned();
        Self { model, executor, cpu_ms, gflops, loss: None, peak_memory_mib: None, version: None }
    }
}
