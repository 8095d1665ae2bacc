//! Models and tasks.

use folkmoot_coordinator::{
    round::{AbandonReason, Phase},
    task::{StopReason, TaskFilter, TaskState},
};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId, TaskId};
use folkmoot_storage::{
    EndorsementRecord, EndorsementRepository, ModelRecord, ModelRepository, ModelVersionRecord,
    ModelVersionRepository, RoundRepository, Storage, StorageError, TaskRecord, TaskRepository,
};

use super::fixture::{Fixture, NOW, fresh, later, schema, version_of, with_phase};

pub(super) async fn a_model_is_stored_once(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let model = ModelRecord {
        name: None,
        organisation_id: fixture.organisation_id,
        model: BlobDigest::of(b"onnx"),
        model_bytes: 4,
        weights: BlobDigest::of(b"weights"),
        schema: schema(),
        created_at: NOW,
    };
    storage.create_model(&model).await?;
    storage.create_model(&ModelRecord { created_at: later(1), ..model.clone() }).await?;
    assert_eq!(storage.model(fixture.organisation_id, model.model).await?, Some(model.clone()));
    assert_eq!(storage.model(other.organisation_id, model.model).await?, None);
    assert_eq!(storage.model(fixture.organisation_id, model.weights).await?, None);
    let stray = ModelRecord { organisation_id: OrganisationId::from_random_bytes(fresh()), ..model };
    let refused = storage.create_model(&stray).await;
    assert!(matches!(refused, Err(StorageError::NotFound("organisation"))), "{refused:?}");
    Ok(())
}

pub(super) async fn models_are_listed_newest_first(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let model = |name: &[u8], seconds| ModelRecord {
        name: None,
        organisation_id: fixture.organisation_id,
        model: BlobDigest::of(name),
        model_bytes: 4,
        weights: BlobDigest::of(b"weights"),
        schema: schema(),
        created_at: later(seconds),
    };
    let [older, newer] = [model(b"older", 0), model(b"newer", 1)];
    storage.create_model(&older).await?;
    storage.create_model(&newer).await?;
    assert_eq!(storage.models(fixture.organisation_id, 9).await?, [newer.clone(), older]);
    assert_eq!(storage.models(fixture.organisation_id, 1).await?, [newer]);
    assert_eq!(storage.models(other.organisation_id, 9).await?, []);
    Ok(())
}

pub(super) async fn a_task_comes_back_as_it_was(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let task = fixture.task().await?;
    assert_eq!(storage.task(fixture.organisation_id, task.id).await?, Some(task.clone()));
    assert_eq!(storage.task_of_any_organisation(task.id).await?, Some(task.clone()));
    assert_eq!(storage.task(other.organisation_id, task.id).await?, None);
    assert_eq!(storage.task_of_any_organisation(TaskId::from_random_bytes(fresh())).await?, None);
    assert_eq!(storage.latest_model_version(task.id).await?, Some(version_of(task.id, 0)));
    let taken = storage.create_task(&task, &version_of(task.id, 0)).await;
    assert!(matches!(taken, Err(StorageError::NameTaken("task"))), "{taken:?}");
    Ok(())
}

pub(super) async fn a_task_and_its_first_version_are_stored_together(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let nobody = OrganisationId::from_random_bytes(fresh());
    let stray = TaskRecord { organisation_id: nobody, ..fixture.task_record() };
    let refused = storage.create_task(&stray, &version_of(stray.id, 0)).await;
    assert!(matches!(refused, Err(StorageError::NotFound("organisation"))), "{refused:?}");
    let task = fixture.task_record();
    let another = fixture.task_record();
    for version in [version_of(another.id, 0), made_by_no_round(task.id)] {
        let refused = storage.create_task(&task, &version).await;
        assert!(matches!(refused, Err(StorageError::NotFound("task"))), "{refused:?}");
        assert_eq!(storage.task_of_any_organisation(task.id).await?, None);
        assert_eq!(storage.latest_model_version(version.task_id).await?, None);
    }
    storage.create_task(&task, &version_of(task.id, 0)).await?;
    for version in [version_of(another.id, 1), made_by_no_round(task.id)] {
        let refused = storage.release_version(fixture.organisation_id, &version).await;
        assert!(matches!(refused, Err(StorageError::NotFound("task"))), "{refused:?}");
    }
    let unknown = storage.set_task_state(another.id, TaskState::ACTIVE, 0).await;
    assert!(matches!(unknown, Err(StorageError::RevisionConflict("task"))), "{unknown:?}");
    Ok(())
}

/// Returns a version 1 whose round does not exist.
fn made_by_no_round(task_id: TaskId) -> ModelVersionRecord {
    ModelVersionRecord { round_id: Some(RoundId::from_random_bytes(fresh())), ..version_of(task_id, 1) }
}

pub(super) async fn tasks_are_listed_in_pages(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let mut tasks = Vec::new();
    for seconds in [5, 1, 3, 3] {
        let task = TaskRecord { created_at: later(seconds), ..fixture.task_record() };
        storage.create_task(&task, &version_of(task.id, 0)).await?;
        tasks.push(task);
    }
    tasks.sort_by_key(|task| std::cmp::Reverse((task.created_at, task.id)));
    let all = TaskFilter::default();
    let first = storage.tasks(fixture.organisation_id, &all, 2, None).await?;
    assert_eq!(first, tasks[..2]);
    let second = storage.tasks(fixture.organisation_id, &all, 9, Some(first[1].id)).await?;
    assert_eq!(second, tasks[2..]);
    assert_eq!(storage.tasks(fixture.organisation_id, &all, 9, Some(tasks[3].id)).await?, []);
    assert_eq!(storage.tasks(other.organisation_id, &all, 9, None).await?, []);
    assert_eq!(storage.tasks(other.organisation_id, &all, 9, Some(tasks[0].id)).await?, []);
    Ok(())
}

pub(super) async fn tasks_are_found_by_state_population_and_name(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let other: PopulationName = "keyboard".parse().expect("it is a population's name");
    let mut named = Vec::new();
    for (name, population) in
        [("Digits 100 %", &fixture.population), ("under_score", &other), ("Ärger\\", &other)]
    {
        let mut task = fixture.task_record();
        task.description.name = name.into();
        task.description.population = population.clone();
        storage.create_task(&task, &version_of(task.id, 0)).await?;
        named.push(task.id);
    }
    storage.set_task_state(named[2], TaskState::ACTIVE, 0).await?;
    let found = async |filter: TaskFilter| -> Result<Vec<usize>, StorageError> {
        let tasks = storage.tasks(fixture.organisation_id, &filter, 9, None).await?;
        assert!(tasks.iter().all(|task| filter.passes(task.id, &task.description, task.state)), "{filter:?}");
        let place = |task: &TaskRecord| named.iter().position(|id| *id == task.id);
        let mut places: Vec<usize> = tasks.iter().filter_map(place).collect();
        places.sort_unstable();
        Ok(places)
    };
    let by_name = |name: &str| TaskFilter { name: Some(name.into()), ..TaskFilter::default() };
    assert_eq!(found(by_name("DIGITS")).await?, [0]);
    assert_eq!(found(by_name("0 %")).await?, [0]);
    assert_eq!(found(by_name("%")).await?, [0]);
    assert_eq!(found(by_name("_")).await?, [1]);
    assert_eq!(found(by_name("\\")).await?, [2]);
    assert_eq!(found(by_name("äRG")).await?, [2]);
    assert_eq!(found(TaskFilter { population: Some(other.clone()), ..TaskFilter::default() }).await?, [1, 2]);
    assert_eq!(found(TaskFilter { state: Some("active".into()), ..TaskFilter::default() }).await?, [2]);
    let all_three = TaskFilter {
        state: Some("draft".into()),
        population: Some(other),
        name: Some("under".into()),
        called: Some("UNDER_score".into()),
    };
    assert_eq!(found(all_three).await?, [1]);
    let called = |called: &str| found(TaskFilter { called: Some(called.into()), ..TaskFilter::default() });
    assert_eq!(called("digits 100 %").await?, [0]);
    assert_eq!(called("ärger\\").await?, [2]);
    for part in ["digits", "%", "under_scor_", "_", "nobody"] {
        assert!(called(part).await?.is_empty(), "{part}");
    }
    for (place, id) in named.iter().map(ToString::to_string).enumerate() {
        assert_eq!(called(&id).await?, [place]);
        assert_eq!(called(&id[..20].to_uppercase()).await?, [place]);
        assert!(called(&id[1..]).await?.is_empty());
    }
    Ok(())
}

pub(super) async fn a_task_changes_its_state_by_revision(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task().await?;
    let completed = TaskState::Completed { reason: StopReason::Rounds };
    for (revision, state) in [TaskState::ACTIVE, TaskState::PAUSED, completed].into_iter().enumerate() {
        storage.set_task_state(task.id, state, revision as u64).await?;
        let expected = TaskRecord { state, revision: revision as u64 + 1, ..task.clone() };
        assert_eq!(storage.task_of_any_organisation(task.id).await?, Some(expected));
    }
    let stale = storage.set_task_state(task.id, TaskState::ACTIVE, 2).await;
    assert!(matches!(stale, Err(StorageError::RevisionConflict("task"))), "{stale:?}");
    Ok(())
}

pub(super) async fn only_a_higher_endorsement_takes_the_place_of_one(
    storage: &Storage,
) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let task = fixture.task().await?;
    let endorsement = |sequence: u64| EndorsementRecord {
        organisation_id: fixture.organisation_id,
        task_id: task.id,
        sequence,
        signed: format!("statement {sequence}"),
        public_key: "key".into(),
        published_at: NOW,
    };
    assert_eq!(storage.endorsement(task.id).await?, None);
    let stray = EndorsementRecord { organisation_id: other.organisation_id, ..endorsement(1) };
    let refused = storage.publish_endorsement(&stray).await;
    assert!(matches!(refused, Err(StorageError::NotFound("task"))), "{refused:?}");
    for sequence in [2, 5] {
        storage.publish_endorsement(&endorsement(sequence)).await?;
        for lower in [1, sequence] {
            let refused = storage.publish_endorsement(&endorsement(lower)).await;
            assert!(matches!(refused, Err(StorageError::RevisionConflict("endorsement"))), "{refused:?}");
        }
        assert_eq!(storage.endorsement(task.id).await?, Some(format!("statement {sequence}")));
    }
    let other_task = other.task().await?;
    assert_eq!(storage.endorsement(other_task.id).await?, None);
    Ok(())
}

pub(super) async fn drivers_see_active_tasks_and_open_rounds(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let [draft, active, cancelled] = [fixture.task().await?, fixture.task().await?, fixture.task().await?];
    storage.set_task_state(active.id, TaskState::ACTIVE, 0).await?;
    storage.set_task_state(cancelled.id, TaskState::Cancelled, 0).await?;
    let open = fixture.open_round(cancelled.id, 1).await?;
    fixture.open_round(active.id, 1).await?;
    let driven = async || -> Result<[usize; 3], StorageError> {
        let all = storage.tasks_to_drive().await?;
        assert!(all.is_sorted());
        Ok([&draft, &active, &cancelled].map(|task| all.iter().filter(|id| **id == task.id).count()))
    };
    assert_eq!(driven().await?, [0, 1, 1]);
    let phase = Phase::Abandoned { at: NOW, reason: AbandonReason::TaskCancelled };
    storage.abandon_round(&with_phase(open, phase), NOW).await?;
    assert_eq!(driven().await?, [0, 1, 0]);
    Ok(())
}

pub(super) async fn a_change_of_state_is_told_once(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task().await?;
    let untold = async || -> Result<Option<u64>, StorageError> {
        let tasks = database.untold_tasks(1000, None).await?;
        Ok(tasks.iter().find(|other| other.id == task.id).map(|task| task.revision))
    };
    let watched = async || -> Result<_, StorageError> {
        let tasks = database.watched_tasks().await?;
        Ok(tasks.into_iter().find(|other| other.task.id == task.id))
    };
    assert_eq!((untold().await?, watched().await?), (None, None));
    storage.set_task_state(task.id, TaskState::ACTIVE, 0).await?;
    assert_eq!(untold().await?, Some(1));
    assert!(!database.untold_tasks(1000, Some(task.id)).await?.iter().any(|other| other.id == task.id));
    let told = async |stall, budget| -> Result<(), StorageError> {
        let watched = watched().await?.map(|one| (one.task.revision, one.told_stall, one.told_budget));
        assert_eq!(watched, Some((1, stall, budget)));
        Ok(())
    };
    told(None, false).await?;
    database.tell_state(task.id, 1).await?;
    // Another process records an older state.
    database.tell_state(task.id, 0).await?;
    database.tell_stall(task.id, 3).await?;
    database.tell_budget(task.id, true).await?;
    assert_eq!(untold().await?, None);
    told(Some(3), true).await?;
    database.tell_budget(task.id, false).await?;
    told(Some(3), false).await?;
    assert_eq!(database.trying_since(task.id, 0).await?, None);
    let first = fixture.open_round(task.id, 1).await?;
    assert_eq!(database.trying_since(task.id, 0).await?, Some(first.created_at));
    assert_eq!(database.trying_since(task.id, 1).await?, None);
    Ok(())
}
