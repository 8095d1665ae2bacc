use folkmoot_protocol::{
    UpdateDigest,
    messages::{AbortReason, Assignment},
    update::UpdateHeader,
};
use folkmoot_update::{Compression, MakeError, ValueFault, codec::Memory, make_update};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

use super::{FinishedWork, WorkError, plan::update_metrics};

/// An update that must be stored before it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The bytes to send.
    pub bytes: Vec<u8>,
    /// The digest of the bytes.
    pub digest: UpdateDigest,
    /// The compression residual. It becomes the task's memory when the update is accepted.
    pub memory: Option<Vec<u8>>,
}

/// Builds the update from a finished training or evaluation: clip, weigh, add noise, compress, check. `stored` is the
/// task's memory from earlier updates; an unreadable memory is ignored.
///
/// # Errors
/// [`AbortReason::TrainingFailed`] if a value is not finite or outside the plan's grid, or no random bytes are
/// available for the noise.
pub fn make(trained: &FinishedWork, stored: Option<&[u8]>) -> Result<Made, WorkError> {
    let assignment = &trained.assignment;
    let (delta, plan) = (&trained.outcome.delta, &trained.plan);
    let header = UpdateHeader {
        assignment_id: assignment.assignment_id,
        schema_digest: trained.plan.schema.digest(),
        base_version: assignment.base_version,
        weight: weight(trained),
        metrics: update_metrics(trained.outcome.metrics, &plan.training),
        element_count: delta.len() as u64,
        is_compressed: false,
    };
    let failed = |error: String| WorkError::new(AbortReason::TrainingFailed, error);
    let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng)
        .map_err(|error| failed(format!("the operating system provided no random bytes: {error}")))?;
    let memory = memory(assignment, trained, stored);
    let how = Compression {
        recipe: assignment.recipe.as_deref(),
        memory: memory.as_ref(),
        products: &trained.outcome.products,
    };
    let made = make_update(header, delta, plan, how, assignment.clipping_norm, &mut rng).map_err(
        |error| match error {
            MakeError::Value(fault) => fault_error(fault, plan.grid.value_max),
            // More detail would reveal the value of an element before the noise.
            MakeError::Noise(_) => failed("could not add noise to the update".to_owned()),
            MakeError::Codec(error) => failed(error.to_string()),
        },
    )?;
    let mut bytes = made.bytes;
    // With local noise, the header reports no metrics either.
    if let (Some(sums), None) = (&trained.outcome.sums, plan.local_noise) {
        sums.append_to(&mut bytes);
    }
    Ok(Made { digest: UpdateDigest::of(&bytes), memory: made.memory.map(|memory| memory.to_bytes()), bytes })
}

/// Returns the task's memory, or an empty one if there is none. Returns `None` if the recipe uses no memory.
fn memory(assignment: &Assignment, trained: &FinishedWork, stored: Option<&[u8]>) -> Option<Memory> {
    let stored = stored.and_then(|bytes| Memory::from_bytes(bytes).ok());
    let (task, version) = (assignment.task_id, assignment.base_version);
    Memory::with_recipe(assignment.recipe.as_deref(), stored, task, &trained.plan.schema, version)
}

/// Returns the update's weight in the mean: the number of distinct examples used, capped by the plan.
///
/// Repeated passes do not count; otherwise clients that train longer would weigh more. A training that ends within its
/// first pass has not used all examples. With example privacy, the number drawn is secret, so all held examples count.
pub(super) fn weight(trained: &FinishedWork) -> u64 {
    let held = trained.held_example_count;
    let used = match trained.plan.training.example_privacy {
        Some(_) => held,
        None => held.min(trained.outcome.metrics.example_count),
    };
    used.min(trained.plan.grid.weight_max)
}

fn fault_error(fault: ValueFault, value_max: f32) -> WorkError {
    let detail = match fault {
        ValueFault::NotFinite { index } => {
            format!("element {index} of the model delta is NaN or infinite; a smaller learning rate may help")
        }
        ValueFault::OutOfRange { index, value } => format!(
            "element {index} of the model delta is {value}, outside the plan's grid of ±{value_max}; \
             a smaller learning rate or fewer steps may help"
        ),
    };
    WorkError::new(AbortReason::TrainingFailed, detail)
}
