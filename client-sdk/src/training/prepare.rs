use folkmoot_protocol::{UpdateDigest, messages::AbortReason};
use folkmoot_training::{FinishedWork, Made, make, make_masked};
use folkmoot_work::WorkError;
use folkmoot_work::{Budget, DeviceKey};

use super::work::forget_failed_replica;
use crate::storage::{Keep, WorkStore};

/// The update as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub digest: UpdateDigest,
    pub length: u64,
}

/// Builds the update from a finished training or evaluation and stores it durably.
///
/// # Errors
/// The errors of [`make()`], and [`AbortReason::TrainingFailed`] if the update cannot be stored.
pub(crate) fn prepare(trained: &FinishedWork, work: &WorkStore) -> Result<Prepared, WorkError> {
    let (id, task) = (trained.assignment.assignment_id, trained.assignment.task_id);
    let store_failed = |error| WorkError::new(AbortReason::TrainingFailed, error);
    let uses_memory = trained.assignment.recipe.as_ref().is_some_and(|recipe| recipe.uses_memory());
    let stored = if uses_memory { work.memories().load(task).map_err(store_failed)? } else { None };
    let made = make(trained, stored.as_deref())
        .inspect_err(|error| forget_failed_replica(work, task, &trained.plan, error))?;
    match &made.memory {
        Some(memory) => work.save_pending_memory(id, task, memory),
        None => work.forget_pending_memory(id),
    }
    .map_err(store_failed)?;
    save(trained, &made, work)
}

/// Stores the update, after the client's own tensors that belong to it.
fn save(trained: &FinishedWork, made: &Made, work: &WorkStore) -> Result<Prepared, WorkError> {
    let (id, task) = (trained.assignment.assignment_id, trained.assignment.task_id);
    let when = Keep::of(&trained.plan);
    let own = trained.own.as_ref().map_or(Ok(()), |own| work.save_pending_own(id, task, own, when));
    let saved = own.and_then(|()| work.save_update(id, &made.bytes));
    saved.map_err(|error| WorkError::new(AbortReason::TrainingFailed, error))?;
    Ok(Prepared { digest: made.digest, length: made.bytes.len() as u64 })
}

/// Builds a masked update from a finished training and stores it durably. The masks come from the assignment's journal.
///
/// # Errors
/// The errors of [`make_masked`], and [`AbortReason::TrainingFailed`] if the update cannot be stored.
pub(crate) fn prepare_masked(
    trained: &FinishedWork,
    work: &WorkStore,
    budget: &Budget,
    device_key: &DeviceKey,
) -> Result<Prepared, WorkError> {
    let id = trained.assignment.assignment_id;
    let journal = work.load_journal(id).map_err(|error| WorkError::new(AbortReason::StateLost, error))?;
    let task = trained.assignment.task_id;
    let made = make_masked(trained, journal.as_ref(), budget, device_key)
        .inspect_err(|error| forget_failed_replica(work, task, &trained.plan, error))?;
    save(trained, &made, work)
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{Metrics, TrainingOutcome};
    use folkmoot_protocol::{
        Plan, Protection, ValueGrid,
        messages::Assignment,
        secure::Threat,
        update::{HEADER_BYTES, UpdateHeader},
    };
    use folkmoot_work::samples;

    use super::*;

    fn trained(delta: Vec<f32>) -> FinishedWork {
        let plan = Plan {
            grid: ValueGrid { value_max: 4.0, weight_max: 50, ..ValueGrid::default() },
            ..samples::plan()
        };
        let assignment = Assignment { base_version: 7, ..samples::assignment() };
        let metrics = Metrics { example_count: 60, loss_sum: 30.0, correct_count: 9, step_count: 15 };
        let outcome =
            TrainingOutcome { delta, weights: vec![0.0; 2], ..TrainingOutcome::of_metrics(metrics) };
        FinishedWork { assignment, plan, outcome, held_example_count: 20, own: None }
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
    fn an_update_that_must_be_masked_is_never_made_without_masks() {
        let directory = tempfile::tempdir().unwrap();
        let work = WorkStore::open(&directory.path().join("work")).unwrap();
        let mut trained = trained(vec![1.0, -4.0]);
        let terms = samples::secure_terms(Threat::HonestButCurious);
        trained.plan.protection = Protection::SecureAggregation(terms);
        assert_eq!(prepare(&trained, &work).unwrap_err().reason, AbortReason::PlanUnsupported);
        let masked = prepare_masked(&trained, &work, &Budget::default(), &DeviceKey([5; 32]));
        assert_eq!(masked.unwrap_err().reason, AbortReason::StateLost, "there is no journal");
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
