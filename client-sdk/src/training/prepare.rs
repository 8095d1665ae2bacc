use folkmoot_protocol::{
    Plan, UpdateDigest,
    messages::{AbortReason, Assignment},
    update::UpdateHeader,
};
use folkmoot_update::{Compression, MakeError, ValueFault, codec::Memory, make_update};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

use super::{FinishedWork, WorkError, plan::update_metrics};
use crate::storage::{StorageError, WorkStore};

/// The update that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub digest: UpdateDigest,
    pub length: u64,
}

/// Makes the update of what was trained or measured and stores it durably: clip, weigh, noise, compress, check.
///
/// # Errors
/// [`AbortReason::TrainingFailed`] if a value is not finite or outside the plan's grid, there is no noise, or the update
/// cannot be stored.
pub(crate) fn prepare(trained: &FinishedWork, work: &WorkStore) -> Result<Prepared, WorkError> {
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
        .map_err(|error| failed(format!("the operating system gave no randomness: {error}")))?;
    let store_failed = |error| WorkError::new(AbortReason::TrainingFailed, error);
    let memory = memory(assignment, plan, work).map_err(store_failed)?;
    let how = Compression { recipe: assignment.recipe.as_deref(), memory: memory.as_ref() };
    let made = make_update(header, delta, plan, how, assignment.clipping_norm, &mut rng).map_err(
        |error| match error {
            MakeError::Value(fault) => fault_error(fault, plan.grid.value_max),
            // A detail would tell an element as it was before the noise.
            MakeError::Noise(_) => failed("the update cannot be given its noise".to_owned()),
            MakeError::Codec(error) => failed(error.to_string()),
        },
    )?;
    let (id, bytes) = (assignment.assignment_id, made.bytes);
    match made.memory {
        Some(memory) => work.save_pending_memory(id, assignment.task_id, &memory.to_bytes()),
        None => work.forget_pending_memory(id),
    }
    .map_err(store_failed)?;
    work.save_update(id, &bytes).map_err(store_failed)?;
    Ok(Prepared { digest: UpdateDigest::of(&bytes), length: bytes.len() as u64 })
}

/// Returns what earlier updates of the task left out, or a memory of nothing; none where nothing is left out, or what there
/// is cannot be read.
fn memory(assignment: &Assignment, plan: &Plan, work: &WorkStore) -> Result<Option<Memory>, StorageError> {
    let (task, version) = (assignment.task_id, assignment.base_version);
    if !assignment.recipe.as_ref().is_some_and(|recipe| recipe.uses_memory()) {
        return Ok(None);
    }
    let stored = work.memories().load(task)?.and_then(|bytes| Memory::from_bytes(&bytes).ok());
    Ok(Memory::with_recipe(assignment.recipe.as_deref(), stored, task, &plan.schema, version))
}

/// The weight in the mean: the different examples that were used, capped by the plan.
///
/// Passes do not count: whoever trains longer would weigh more. A training that ends within its first pass has
/// not used all that the client holds. With example privacy it is not told how many were drawn: all count that it holds.
fn weight(trained: &FinishedWork) -> u64 {
    let held = trained.held_example_count;
    let used = match trained.plan.training.example_privacy {
        Some(_) => held,
        None => held.min(trained.outcome.metrics.example_count),
    };
    used.min(trained.plan.grid.weight_max)
}

fn fault_error(fault: ValueFault, value_max: f32) -> WorkError {
    let detail = match fault {
        ValueFault::NotFinite { index } => format!("element {index} of the model delta is not finite"),
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
    use folkmoot_protocol::{ValueGrid, update::HEADER_BYTES};

    use super::*;
    use crate::training::samples;

    fn trained(delta: Vec<f32>) -> FinishedWork {
        let plan = Plan {
            grid: ValueGrid { value_max: 4.0, weight_max: 50, ..ValueGrid::default() },
            ..samples::plan()
        };
        let assignment = Assignment { base_version: 7, ..samples::assignment() };
        let metrics = Metrics { example_count: 60, loss_sum: 30.0, correct_count: 9, step_count: 15 };
        let outcome = TrainingOutcome { delta, weights: vec![0.0; 2], metrics };
        FinishedWork { assignment, plan, outcome, held_example_count: 20 }
    }

    #[test]
    fn an_update_is_stored_with_its_header() {
        let directory = tempfile::tempdir().unwrap();
        let work = WorkStore::open(&directory.path().join("work")).unwrap();
        let trained = trained(vec![1.0, -4.0]);
        let prepared = prepare(&trained, &work).unwrap();
        let bytes = std::fs::read(work.update_path(trained.assignment.assignment_id)).unwrap();
        assert_eq!((prepared.length, prepared.digest), (120, UpdateDigest::of(&bytes)));
        let header = UpdateHeader::decode(bytes.first_chunk().unwrap()).unwrap();
        assert_eq!((header.weight, header.base_version, header.element_count), (20, 7, 2));
        assert_eq!(header.metrics.example_count, 60);
    }

    #[test]
    fn the_update_of_an_evaluation_is_a_header() {
        let directory = tempfile::tempdir().unwrap();
        let work = WorkStore::open(&directory.path().join("work")).unwrap();
        let mut evaluated = trained(Vec::new());
        evaluated.outcome.metrics =
            Metrics { example_count: 20, loss_sum: 2.5, correct_count: 9, step_count: 0 };
        let prepared = prepare(&evaluated, &work).unwrap();
        assert_eq!(prepared.length, HEADER_BYTES as u64);
        let bytes = std::fs::read(work.update_path(evaluated.assignment.assignment_id)).unwrap();
        let header = UpdateHeader::decode(bytes.first_chunk().unwrap()).unwrap();
        assert_eq!((header.element_count, header.weight), (0, 20));
        assert_eq!((header.metrics.loss_sum, header.metrics.step_count), (2.5, 0));
    }

    #[test]
    fn the_weight_is_what_was_used_capped_by_the_plan() {
        let mut work = trained(vec![0.0; 2]);
        work.held_example_count = 1000;
        assert_eq!(weight(&work), 50);
        work.outcome.metrics.example_count = 8;
        assert_eq!(weight(&work), 8);
    }

    #[test]
    fn values_that_cannot_be_summed_end_the_work() {
        let directory = tempfile::tempdir().unwrap();
        let work = WorkStore::open(&directory.path().join("work")).unwrap();
        for (bad, word) in [(f32::NAN, "finite"), (4.5, "±4"), (f32::NEG_INFINITY, "finite")] {
            let error = prepare(&trained(vec![0.0, bad]), &work).unwrap_err();
            assert_eq!(error.reason, AbortReason::TrainingFailed);
            assert!(error.detail.contains(word) && error.detail.contains("element 1"), "{}", error.detail);
        }
        assert!(!work.has_update(samples::assignment().assignment_id, 120));
    }
}
