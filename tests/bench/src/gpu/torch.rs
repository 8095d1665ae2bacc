//! Measures torch on CUDA with a Python script.

use std::process::Command;

use serde::Deserialize;

use super::{Arguments, model::BenchModel, own::Measured};
use crate::Failure;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/gpu_torch.py");

/// The output of the script.
#[derive(Deserialize)]
#[serde(untagged)]
enum Report {
    Measured { eager_ms: f64, graph_ms: f64, start_ms: f64, version: String },
    Missing { missing: String },
}

/// Measures torch as written, and as a CUDA graph. Its batch is already on the device. Without torch or a CUDA device,
/// prints so to standard error and returns nothing.
///
/// # Errors
/// Returns the message of the interpreter.
pub fn measure(
    python: &str,
    model: BenchModel,
    batch: usize,
    steps: u32,
    arguments: &Arguments,
) -> Result<Vec<(&'static str, Measured)>, Failure> {
    let mut command = Command::new(python);
    command.args([SCRIPT, "--model", model.name(), "--batch", &batch.to_string()]);
    command.args(["--steps", &steps.to_string()]);
    command.args(["--repetitions", &arguments.repetitions.to_string()]);
    let output = command.output().map_err(|error| format!("`{python}` cannot be started: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("torch could not train {}:\n{errors}", model.name()).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    match serde_json::from_str(text.trim().lines().last().unwrap_or_default())? {
        Report::Measured { eager_ms, graph_ms, start_ms, version } => {
            let of = |step_ms| Measured { step_ms, start_ms, version: version.clone() };
            Ok(vec![("torch eager", of(eager_ms)), ("torch graph", of(graph_ms))])
        }
        Report::Missing { missing } => {
            eprintln!("torch is skipped: `{python}` lacks {missing}");
            Ok(Vec::new())
        }
    }
}
