use folkmoot_protocol::{
    UpdateDigest, Work,
    messages::{AbortReason, Assignment, ProtectionLevel},
    secure::{CommitteeTerms, MaskedExtras, MaskedHeader, SecureTerms},
    update::{UpdateHeader, UpdateMetrics},
};
use folkmoot_secure_aggregation::{Context, Journal, JournalError, Masks, Root, mask_for_committee};
use folkmoot_update::{
    Compression, MakeError, MaskError, Unmasked, ValueFault, codec::Memory, make_update, mask_update,
};
use folkmoot_work::{Budget, DeviceKey, secure_setting};
use rand::{RngExt, SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

use crate::{
    FinishedWork, WorkError,
    plan::{check_own_loss, update_metrics},
};

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
/// task's memory from earlier updates; an unreadable memory is ignored. For a committee, masks the update instead of
/// compressing it.
///
/// # Errors
/// [`AbortReason::TrainingFailed`] if a value is not finite or outside the plan's grid, or no random bytes are
/// available for the noise. [`AbortReason::PlanUnsupported`] if the update must be masked.
pub fn make(trained: &FinishedWork, stored: Option<&[u8]>) -> Result<Made, WorkError> {
    check_own_loss(trained.outcome.metrics, &trained.plan.training)?;
    let assignment = &trained.assignment;
    let is_training = trained.plan.work == Work::Training;
    if let Some(committee) = trained.plan.protection.committee().filter(|_| is_training) {
        return make_for_committee(trained, committee);
    }
    if is_training && trained.plan.protection.secure().is_some() {
        let detail = "the plan demands a masked update; this client must not send a plain one";
        return Err(WorkError::new(AbortReason::PlanUnsupported, detail));
    }
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
    let mut rng = seeded()?;
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
    if plan.local_noise.is_none() {
        trained.outcome.sums.iter().for_each(|sums| sums.append_to(&mut bytes));
        trained.outcome.fine_tuned.iter().for_each(|measured| measured.append_to(&mut bytes));
    }
    Ok(Made { digest: UpdateDigest::of(&bytes), memory: made.memory.map(|memory| memory.to_bytes()), bytes })
}

/// Builds a masked update from a finished training: clip, weigh, round, mask. The masks come from the assignment's journal.
/// The weight and the metrics travel inside the mask. A private task reports no metrics.
///
/// # Errors
/// [`AbortReason::StateLost`] if the journal has no masks, [`AbortReason::PlanUnsupported`] if the plan demands none, and
/// [`AbortReason::TrainingFailed`] if a value is not finite or outside the plan's grid.
pub fn make_masked(
    trained: &FinishedWork,
    journal: Option<&Journal>,
    budget: &Budget,
    device_key: &DeviceKey,
) -> Result<Made, WorkError> {
    let setting = secure_setting(&trained.assignment, &trained.plan, budget)?;
    let masking = journal.ok_or(JournalError::Missing);
    let masking = masking.and_then(|journal| journal.masking(&setting, &device_key.0));
    let masking = masking.map_err(|error| WorkError::new(AbortReason::StateLost, error))?;
    let bytes = mask(trained, &setting.terms, &masking.masks())?;
    Ok(Made { digest: UpdateDigest::of(&bytes), memory: None, bytes })
}

/// Builds an update whose masks a committee removes. Each call draws new masks: only the update that is stored is sent.
fn make_for_committee(trained: &FinishedWork, terms: &CommitteeTerms) -> Result<Made, WorkError> {
    let context = Context::of(&trained.assignment);
    let root = Root::new(seeded()?.random());
    let masks = mask_for_committee(&context, terms, trained.assignment.assignment_id, &root)
        .map_err(|error| WorkError::new(AbortReason::PlanUnsupported, error))?;
    let mut bytes = mask(trained, &terms.sum, &masks.masks)?;
    bytes.extend_from_slice(&masks.seal.0);
    Ok(Made { digest: UpdateDigest::of(&bytes), memory: None, bytes })
}

fn mask(trained: &FinishedWork, terms: &SecureTerms, masks: &Masks) -> Result<Vec<u8>, WorkError> {
    let (assignment, plan) = (&trained.assignment, &trained.plan);
    check_own_loss(trained.outcome.metrics, &plan.training)?;
    let header = MaskedHeader {
        assignment_id: assignment.assignment_id,
        schema_digest: plan.schema.digest(),
        base_version: assignment.base_version,
        element_count: trained.outcome.delta.len() as u64,
    };
    let weight = weight(trained).max(1);
    let is_promised = !matches!(assignment.protection_level, None | Some(ProtectionLevel::None));
    let is_private = is_promised || terms.noise.is_some();
    let metrics = match is_private {
        true => UpdateMetrics::default(),
        false => update_metrics(trained.outcome.metrics, &plan.training),
    };
    let unmasked = Unmasked {
        delta: &trained.outcome.delta,
        weight,
        // If all updates count the same, the number of examples is of no use to the coordinator.
        extras: MaskedExtras { weight: if terms.is_weighted { weight } else { 1 }, metrics },
        clipping_norm: assignment.clipping_norm,
    };
    mask_update(&header, plan, terms, masks, unmasked, &mut seeded()?).map_err(|error| match error {
        // An index or a value would tell the coordinator a part of the update.
        MaskError::Value(_) => WorkError::new(
            AbortReason::TrainingFailed,
            "a value of the model delta is not finite or outside the plan's grid; a smaller learning rate or fewer steps may help",
        ),
        MaskError::Ring(error) => WorkError::new(AbortReason::PlanUnsupported, error),
        MaskError::Scale(error) => WorkError::new(AbortReason::PlanUnsupported, error),
    })
}

/// Returns a generator with a seed from the operating system.
fn seeded() -> Result<ChaCha20Rng, WorkError> {
    ChaCha20Rng::try_from_rng(&mut SysRng).map_err(|error| {
        let detail = format!("the operating system provided no random bytes: {error}");
        WorkError::new(AbortReason::TrainingFailed, detail)
    })
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
pub(crate) fn weight(trained: &FinishedWork) -> u64 {
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

#[cfg(test)]
mod tests {
    use folkmoot_engine::{Metrics, TrainingOutcome};
    use folkmoot_protocol::{Plan, ValueGrid};
    use folkmoot_work::samples;

    use super::*;

    #[test]
    fn the_weight_is_what_was_used_capped_by_the_plan() {
        let plan = Plan { grid: ValueGrid { weight_max: 50, ..ValueGrid::default() }, ..samples::plan() };
        let metrics = Metrics { example_count: 60, ..Metrics::default() };
        let outcome = TrainingOutcome { delta: vec![0.0; 2], ..TrainingOutcome::of_metrics(metrics) };
        let assignment = samples::assignment();
        let mut work = FinishedWork { assignment, plan, outcome, held_example_count: 1000, own: None };
        assert_eq!(weight(&work), 50);
        work.outcome.metrics.example_count = 8;
        assert_eq!(weight(&work), 8);
    }
}
