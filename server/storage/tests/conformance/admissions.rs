//! Admission of tasks to a population.

use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy},
    task::TaskState,
};
use folkmoot_privacy::{Delta, Epsilon};
use folkmoot_protocol::{PopulationName, TaskId};
use folkmoot_storage::{
    Admission, LedgerRepository, ModelVersionRepository, PrivacyOutcome, Storage, StorageError, TaskRecord,
    TaskRepository,
};

use super::fixture::{Fixture, version_of};

const NOTHING: Admission<'_> = Admission { privacy: WITHOUT_BUDGET, entries: 0, running: &[] };
const WITHOUT_BUDGET: PopulationPrivacy =
    PopulationPrivacy { unit: folkmoot_privacy::Unit::Client, budget: None };

/// Returns a task with privacy. The ledger gets an entry with its terms.
fn private(fixture: &Fixture, state: TaskState) -> TaskRecord {
    let mut record = TaskRecord { state, ..fixture.task_record() };
    let privacy = r#"{"kind": "central", "epsilon": 8.0, "delta": 1e-6, "participations_max": 2,
        "clipping": {"kind": "fixed", "norm": 1.0}}"#;
    record.description.privacy = serde_json::from_str(privacy).expect("it is one");
    record.description.aggregator = serde_json::from_str(r#"{"kind": "uniform_mean"}"#).expect("it is one");
    record
}

async fn admit(storage: &Storage, task: &TaskRecord, admission: Admission<'_>) -> Result<(), StorageError> {
    storage.admit_task(task, &version_of(task.id, 0), &admission).await
}

fn is_conflict(outcome: &Result<(), StorageError>) -> bool {
    matches!(outcome, Err(StorageError::LeaveConflict))
}

pub(super) async fn of_two_that_saw_the_same_one_is_let_in(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let [first, second] = [private(&fixture, TaskState::ACTIVE), private(&fixture, TaskState::ACTIVE)];
    // Both admissions were read before either task was stored.
    admit(storage, &first, NOTHING).await?;
    let late = admit(storage, &second, NOTHING).await;
    assert!(is_conflict(&late), "{late:?}");
    assert_eq!(storage.task_of_any_organisation(second.id).await?, None);
    assert_eq!(storage.model_version(second.id, 0).await?, None);
    // A task without privacy writes no entry into an empty ledger. The check finds the task because it is active.
    let other = Fixture::new(storage).await?;
    let [plain, beside] =
        [TaskRecord { state: TaskState::ACTIVE, ..other.task_record() }, private(&other, TaskState::Draft)];
    admit(storage, &plain, NOTHING).await?;
    assert_eq!(storage.ledger_sum(other.organisation_id, &other.population).await?.entries, 0);
    assert!(is_conflict(&admit(storage, &beside, NOTHING).await));
    // With an admission that was read again, the task is admitted.
    let seen = Admission { running: &[plain.id], ..NOTHING };
    admit(storage, &beside, seen).await?;
    let seen = Admission { entries: 1, running: &[first.id], ..NOTHING };
    admit(storage, &second, seen).await?;
    assert_eq!(storage.task_of_any_organisation(second.id).await?, Some(second));
    Ok(())
}

pub(super) async fn only_what_the_population_has_is_seen(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let elsewhere = Fixture::new(storage).await?;
    let mut beside = private(&fixture, TaskState::ACTIVE);
    beside.description.population = "letters".parse::<PopulationName>().expect("it is a name");
    admit(storage, &beside, NOTHING).await?;
    admit(storage, &private(&elsewhere, TaskState::ACTIVE), NOTHING).await?;
    // Tasks in another population of the organisation, or in a population of the same name in another organisation, do
    // not conflict.
    admit(storage, &private(&fixture, TaskState::Draft), NOTHING).await
}

pub(super) async fn a_task_starts_in_the_population_that_was_seen(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let [first, second] = [private(&fixture, TaskState::PAUSED), private(&fixture, TaskState::PAUSED)];
    for (entries, task) in [&first, &second].into_iter().enumerate() {
        admit(storage, task, Admission { entries: entries as u64, ..NOTHING }).await?;
    }
    let start = async |task: &TaskRecord, entries, privacy, running: &[TaskId]| {
        let admission = Admission { privacy, entries, running };
        storage.start_task(task, TaskState::ACTIVE, &admission).await
    };
    start(&first, 2, WITHOUT_BUDGET, &[]).await?;
    let late = start(&second, 2, WITHOUT_BUDGET, &[]).await;
    assert!(is_conflict(&late), "the first runs: {late:?}");
    assert_eq!(storage.task_of_any_organisation(second.id).await?.map(|task| task.state), Some(second.state));
    // A budget that was set after the check is detected by the settings and by the ledger entry.
    let budget = Epsilon::new(1.0).ok().zip(Delta::new(1e-6).ok());
    let budget = budget.map(|(epsilon, delta)| PopulationBudget { epsilon, delta });
    let privacy = PopulationPrivacy { budget, ..WITHOUT_BUDGET };
    assert_eq!(fixture.set_privacy(privacy, None).await?, PrivacyOutcome::Set);
    assert!(is_conflict(&start(&second, 3, WITHOUT_BUDGET, &[first.id]).await));
    assert!(is_conflict(&start(&second, 2, privacy, &[first.id]).await));
    start(&second, 3, privacy, &[first.id]).await?;
    // A task with an open round is running, and a stale revision starts no task.
    storage.set_task_state(first.id, TaskState::PAUSED, 1).await?;
    let open = fixture.open_round(first.id, 1).await?;
    let mut running = [first.id, second.id];
    running.sort();
    let third = TaskRecord { revision: 7, ..first.clone() };
    assert!(is_conflict(&start(&third, 3, privacy, &[second.id]).await), "round {}", open.round.number);
    let stale = start(&third, 3, privacy, &running).await;
    assert!(matches!(stale, Err(StorageError::RevisionConflict("task"))), "{stale:?}");
    Ok(())
}

pub(super) async fn however_many_come_at_once_one_is_let_in(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let tasks = [(); 4].map(|()| private(&fixture, TaskState::ACTIVE));
    let outcomes = futures::future::join_all(tasks.iter().map(|task| admit(storage, task, NOTHING))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| is_conflict(outcome)).count(), 3, "{outcomes:?}");
    Ok(())
}
