//! Functions of the process that runs the simulation, in place of parts of its task.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_objects::BlobStore;
use folkmoot_rounds::refusal::Refusal;
use folkmoot_strategy::FUNCTIONS;

use super::SimulateError;
use crate::functions::CallingProcess;

/// Puts functions into a description, and checks it. Call this before the masks are removed from the description: with
/// masks, a function may not see single updates.
pub(super) fn replace(
    functions: Option<&CallingProcess>,
    description: &mut TaskDescription,
) -> Result<(), SimulateError> {
    let Some(functions) = functions else { return Ok(()) };
    functions.replace(description);
    let faults = description.validate();
    match faults.is_empty() {
        true => Ok(()),
        false => Err(SimulateError::NoFunctions(Refusal::faults(&faults))),
    }
}

/// Stores the bytes that stand for functions, because a task's components must be in the store.
pub(super) async fn keep(functions: Option<&CallingProcess>, blobs: &BlobStore) -> Result<(), SimulateError> {
    if functions.is_some() {
        let kept = blobs.put(FUNCTIONS.into()).await;
        kept.map_err(|error| SimulateError::Data(error.to_string()))?;
    }
    Ok(())
}
