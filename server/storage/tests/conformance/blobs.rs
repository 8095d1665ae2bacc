//! The blobs that rows name, and dropped versions. Only a database lists them.

use folkmoot_coordinator::{
    rollout::{Reports, Share},
    round::{AbandonReason, Phase},
};
use folkmoot_protocol::{BlobDigest, TaskId, Timestamp, messages::Artifact};
use folkmoot_storage::{
    EndorsementRecord, EndorsementRepository, LedgerRepository, ModelRepository, ModelVersionRecord,
    ModelVersionRepository, RolloutRecord, RoundRepository, SqlStorage, Storage, StorageError, TaskRecord,
    TaskRepository, VersionMaking,
};

use super::fixture::{Fixture, NOW, fresh, later, schema, version_of, with_phase};

/// Returns a digest that no other case uses.
fn fresh_digest() -> BlobDigest {
    BlobDigest::of(&fresh())
}

fn with_states(task_id: TaskId, number: u64) -> ModelVersionRecord {
    let [finalizer_state, noise_state] = [Some(fresh_digest()), Some(fresh_digest())];
    let making = VersionMaking { finalizer_state, noise_state, ..VersionMaking::default() };
    ModelVersionRecord { weights: fresh_digest(), making, ..version_of(task_id, number) }
}

async fn is_needed(database: &SqlStorage, digest: BlobDigest) -> Result<bool, StorageError> {
    Ok(database.blob_names(NOW).await?.needed.contains(&digest))
}

fn rollout_of(fixture: &Fixture, task_id: TaskId, version: u64) -> RolloutRecord {
    RolloutRecord {
        organisation_id: fixture.organisation_id,
        population: fixture.population.clone(),
        number: 0,
        channel: folkmoot_protocol::ChannelName::default(),
        task_id,
        version,
        share: Share::ALL,
        failures_max: Share::ALL,
        held: None,
        reports: Reports::default(),
        last_failure: None,
        created_at: NOW,
    }
}

pub(super) async fn every_blob_of_a_row_is_named(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let evaluation_plan = Some(Artifact { digest: fresh_digest(), bytes: 4 });
    let mut task = TaskRecord {
        model: fresh_digest(),
        plan: fresh_digest(),
        evaluation_plan,
        evaluation_data: Some(fresh_digest()),
        ..fixture.task_record()
    };
    let component = fresh_digest();
    task.description.name = format!("a component {component} in JSON");
    let first = with_states(task.id, 0);
    storage.create_task(&task, &first).await?;
    let model = folkmoot_storage::ModelRecord {
        name: None,
        organisation_id: fixture.organisation_id,
        model: fresh_digest(),
        model_bytes: 1,
        weights: fresh_digest(),
        schema: schema(),
        created_at: NOW,
    };
    storage.create_model(&model).await?;
    let record = fixture.open_round(task.id, 1).await?;
    let unreleased = [fresh_digest(), fresh_digest()];
    storage.note_unreleased(&record, &unreleased).await?;
    let names = database.blob_names(NOW).await?;
    let of_task = [task.model, task.plan, component, first.weights, model.model, model.weights];
    let others = [task.evaluation_data, task.evaluation_plan.map(|plan| plan.digest)];
    for digest in
        of_task.into_iter().chain(first.blobs()).chain(others.into_iter().flatten()).chain(unreleased)
    {
        assert!(names.needed.contains(&digest), "{digest}");
    }
    assert!(first.blobs().iter().all(|digest| names.released.contains(digest)));
    let later_names = database.blob_names(later(1)).await?;
    assert!(first.blobs().iter().all(|digest| !later_names.released.contains(digest)));
    assert_eq!(later_names.needed, names.needed);
    storage.forget_unreleased(record.round.id, &unreleased).await?;
    assert!(!is_needed(database, unreleased[0]).await?);
    Ok(())
}

pub(super) async fn a_state_is_needed_by_the_next_version_and_by_clients(
    storage: &Storage,
) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task_record();
    let versions = [0, 1, 2].map(|number| with_states(task.id, number));
    storage.create_task(&task, &versions[0]).await?;
    let are_needed = async |number: usize| {
        let names = database.blob_names(NOW).await?.needed;
        Ok::<_, StorageError>(
            versions[number].blobs().into_iter().map(|one| names.contains(&one)).collect::<Vec<_>>(),
        )
    };
    assert_eq!(are_needed(0).await?, [true; 3]);
    let record = fixture.open_round(task.id, 1).await?;
    storage.release_version(fixture.organisation_id, &versions[1]).await?;
    assert_eq!(are_needed(0).await?, [true; 3], "a round starts from it");
    let phase = Phase::Abandoned { at: NOW, reason: AbandonReason::TooFewClients };
    storage.abandon_round(&with_phase(record, phase), NOW).await?;
    assert_eq!(are_needed(0).await?, [false, false, true], "only the weights are kept");
    storage.release_version(fixture.organisation_id, &versions[2]).await?;
    assert_eq!([are_needed(1).await?, are_needed(2).await?], [vec![false, false, true], vec![true; 3]]);
    Ok(())
}

pub(super) async fn weights_are_dropped_unless_a_rollout_names_them(
    storage: &Storage,
) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task().await?;
    for number in 1..=4 {
        storage.release_version(fixture.organisation_id, &with_states(task.id, number)).await?;
    }
    assert!(database.tasks_with_versions(4).await?.contains(&task.id));
    database.create_rollout(&rollout_of(&fixture, task.id, 2)).await?;
    let kept = database.kept_versions(task.id).await?;
    assert_eq!(kept.kept, (0..=4).collect());
    assert_eq!((kept.in_rounds, kept.rolled_out), ([].into(), [2].into()));
    assert_eq!(database.drop_versions(task.id, &[1, 2, 3, 9], later(5)).await?, [1, 3]);
    assert_eq!(database.drop_versions(task.id, &[1], later(6)).await?, [0; 0]);
    let dropped = storage.model_version(task.id, 1).await?.expect("the row stays");
    assert_eq!(dropped.dropped_at, Some(later(5)));
    assert!(!is_needed(database, dropped.weights).await?);
    assert_eq!(database.kept_versions(task.id).await?.kept, [0, 2, 4].into());
    assert!(!database.tasks_with_versions(4).await?.contains(&task.id));
    let late = database.create_rollout(&rollout_of(&fixture, task.id, 1)).await;
    assert!(matches!(late, Err(StorageError::RevisionConflict("model version"))), "{late:?}");
    Ok(())
}

/// However a rollout and a drop follow each other, no rollout names dropped weights.
pub(super) async fn a_rollout_and_a_drop_exclude_each_other(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    for _ in 0..8 {
        let task = fixture.task().await?;
        storage.release_version(fixture.organisation_id, &with_states(task.id, 1)).await?;
        let rollout = rollout_of(&fixture, task.id, 0);
        let (rolled_out, dropped) =
            tokio::join!(database.create_rollout(&rollout), database.drop_versions(task.id, &[0], NOW));
        assert_eq!(rolled_out.is_ok(), dropped?.is_empty());
    }
    Ok(())
}

pub(super) async fn a_warm_start_is_listed(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let (source, task) = (fixture.task().await?, fixture.task_record());
    let start = folkmoot_coordinator::task::WarmStart { task_id: source.id, version: 7 };
    let making = VersionMaking { warm_start: Some(start), ..VersionMaking::default() };
    storage.create_task(&task, &ModelVersionRecord { making, ..version_of(task.id, 0) }).await?;
    assert!(database.warm_starts().await?.contains(&start));
    Ok(())
}

/// Endorsements name blobs of their task, and are searched as any text.
pub(super) async fn unknown_places_are_searched(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let (task, digest) = (fixture.task().await?, fresh_digest());
    let record = EndorsementRecord {
        organisation_id: fixture.organisation_id,
        task_id: task.id,
        sequence: 1,
        signed: format!("{{\"a\":[\"{digest}\"]}}"),
        public_key: String::new(),
        published_at: Timestamp(1),
    };
    storage.publish_endorsement(&record).await?;
    assert!(is_needed(database, digest).await?);
    Ok(())
}
