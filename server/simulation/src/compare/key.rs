use folkmoot_engine::Examples;
use folkmoot_rounds::{components, registry::evaluation_data};

use crate::device::Trace;
use crate::simulate::{DataSource, SimulateError, Simulation};

/// Returns a digest of the inputs that all runs of a comparison share: the model, the trace and the examples.
///
/// # Errors
/// If the examples cannot be written as bytes.
pub fn shared_key(
    onnx: &[u8],
    source: &DataSource,
    trace: Option<&Trace>,
) -> Result<[u8; 32], SimulateError> {
    let mut hasher = blake3::Hasher::new();
    add(&mut hasher, onnx);
    add(&mut hasher, format!("{trace:?}").as_bytes());
    if let DataSource::Given { training, held_out } = source {
        add(&mut hasher, &written(&training.examples)?);
        add(&mut hasher, format!("{:?}", training.groups).as_bytes());
        if let Some(held_out) = held_out {
            add(&mut hasher, &written(held_out)?);
        }
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Returns a digest of everything that the result of a simulation depends on, in hexadecimal. Two simulations with the
/// same key have the same result. `shared` is the result of [`shared_key`] for any run of the comparison.
///
/// # Errors
/// If the task or the settings cannot be written as bytes, or a component of the task cannot be read.
pub fn run_key(shared: &[u8; 32], simulation: &Simulation) -> Result<String, SimulateError> {
    let Simulation { description, settings, evaluate_every, .. } = simulation;
    let unwritable = |error: serde_json::Error| SimulateError::Results(error.to_string());
    let mut description = description.clone();
    components::read_files(&mut description).map_err(|error| SimulateError::Data(error.to_string()))?;
    let mut hasher = blake3::Hasher::new();
    add(&mut hasher, env!("CARGO_PKG_VERSION").as_bytes());
    add(&mut hasher, shared);
    add(&mut hasher, &serde_json::to_vec(&description).map_err(unwritable)?);
    add(&mut hasher, &serde_json::to_vec(settings).map_err(unwritable)?);
    add(&mut hasher, &evaluate_every.to_le_bytes());
    Ok(hasher.finalize().to_hex().to_string())
}

/// Adds bytes with their length, so that different lists of byte strings have different hashes.
fn add(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn written(examples: &Examples) -> Result<Vec<u8>, SimulateError> {
    evaluation_data::write(examples).map_err(|error| SimulateError::Data(error.to_string()))
}
