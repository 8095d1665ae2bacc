use folkmoot_engine::Examples;
use folkmoot_rounds::registry::evaluation_data;

use crate::simulate::{DataSource, SimulateError, Simulation};

/// Returns a digest of everything that the result of a simulation depends on, in hexadecimal. Two simulations with the
/// same key have the same result.
///
/// # Errors
/// If the task, the settings or the examples cannot be written as bytes.
pub fn run_key(simulation: &Simulation) -> Result<String, SimulateError> {
    let Simulation { description, onnx, settings, source, trace, evaluate_every, .. } = simulation;
    let unwritable = |error: serde_json::Error| SimulateError::Results(error.to_string());
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(&serde_json::to_vec(description).map_err(unwritable)?);
    add(&serde_json::to_vec(settings).map_err(unwritable)?);
    add(onnx);
    add(&evaluate_every.to_le_bytes());
    add(format!("{trace:?}").as_bytes());
    if let DataSource::Given { training, held_out } = source {
        add(&written(&training.examples)?);
        add(format!("{:?}", training.groups).as_bytes());
        if let Some(held_out) = held_out {
            add(&written(held_out)?);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn written(examples: &Examples) -> Result<Vec<u8>, SimulateError> {
    evaluation_data::write(examples).map_err(|error| SimulateError::Data(error.to_string()))
}
