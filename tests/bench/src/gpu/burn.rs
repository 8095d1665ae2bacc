//! Measures burn's wgpu backend. cargo first compiles it from a package with its own lock file.

use std::process::Command;

use serde::Deserialize;

use super::{Arguments, model::BenchModel, own::Measured};
use crate::{
    Failure,
    train::peers::{BURN, BURN_TARGET},
};

/// The output of burn's program.
#[derive(Deserialize)]
struct Report {
    version: String,
    adapter: serde_json::Value,
    wall_ms: Wall,
    warm_up_ms: f64,
}

#[derive(Deserialize)]
struct Wall {
    min: f64,
}

/// Measures burn. Its program waits for the device once, after `steps` steps. Its batch is already on the device.
///
/// # Errors
/// Returns the message of the compiler or of burn.
pub fn measure(
    model: BenchModel,
    batch: usize,
    steps: u32,
    arguments: &Arguments,
) -> Result<Measured, Failure> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "--quiet", "--release", "--features", "gpu", "--manifest-path", BURN]);
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        command.args(["--target-dir", BURN_TARGET]);
    }
    command.args(["--", "--backend", "wgpu", "--warm-up", "1", "--model", model.name()]);
    command.args(["--batch", &batch.to_string(), "--steps", &steps.to_string()]);
    command.args(["--repetitions", &arguments.repetitions.to_string()]);
    let output = command.output()?;
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("burn could not train {}:\n{errors}", model.name()).into());
    }
    let report: Report = serde_json::from_str(text.trim().lines().last().unwrap_or_default())?;
    Ok(Measured {
        step_ms: report.wall_ms.min,
        start_ms: report.warm_up_ms,
        version: format!("{} on {}", report.version, report.adapter),
    })
}
