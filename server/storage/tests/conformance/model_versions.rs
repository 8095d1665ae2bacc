//! Model versions.

use folkmoot_coordinator::participation::StartClocks;
use folkmoot_protocol::{TaskId, update::UpdateMetrics};
use folkmoot_storage::{
    ModelVersionRecord, ModelVersionRepository, Rest, RoundRepository, Storage, StorageError, TaskRepository,
};

use super::fixture::{Fixture, NOW, aggregating, commit_of, committed, fresh, reporting, stored, version_of};

pub(super) async fn metrics_survive_bit_for_bit(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let awkward = [0.1 + 0.2, -0.0, f64::MIN_POSITIVE / 3.0, f64::MAX, f64::NAN, f64::NEG_INFINITY, 3.0];
    for loss_sum in awkward {
        let task = fixture.task_record();
        let metrics = UpdateMetrics { loss_sum, ..UpdateMetrics::default() };
        storage.create_task(&task, &ModelVersionRecord { metrics, ..version_of(task.id, 0) }).await?;
        let read = storage.model_version(task.id, 0).await?.map(|version| version.metrics.loss_sum.to_bits());
        assert_eq!(read, Some(loss_sum.to_bits()), "{loss_sum}");
    }
    Ok(())
}

pub(super) async fn versions_are_listed_in_pages(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task().await?;
    let mut versions = vec![version_of(task.id, 0)];
    for number in 1..=3 {
        let record = fixture.open_round(task.id, number).await?;
        let record = reporting(record, 0);
        storage.assign(&record, &[], &StartClocks::default()).await?;
        let record = aggregating(stored(record), 0);
        assert_eq!(storage.close_reporting(&record, Rest::Expires, NOW).await?, []);
        let record = committed(stored(record), number);
        let version = ModelVersionRecord { round_id: Some(record.round.id), ..version_of(task.id, number) };
        storage.commit_round(&commit_of(&record, &version, None)).await?;
        versions.insert(0, version);
    }
    assert_eq!(storage.model_versions(task.id, 2, None).await?, versions[..2]);
    assert_eq!(storage.model_versions(task.id, 9, Some(2)).await?, versions[2..]);
    assert_eq!(storage.model_versions(task.id, 9, Some(u64::MAX)).await?, versions);
    assert_eq!(storage.latest_model_version(task.id).await?.as_ref(), versions.first());
    assert_eq!(storage.model_version(task.id, 2).await?.as_ref(), versions.get(1));
    assert_eq!(storage.model_version(task.id, 4).await?, None);
    let nobody = TaskId::from_random_bytes(fresh());
    assert_eq!(storage.latest_model_version(nobody).await?, None);
    Ok(())
}

pub(super) async fn every_so_many_versions_are_listed(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task().await?;
    for number in 1..=7 {
        storage.release_version(fixture.organisation_id, &version_of(task.id, number)).await?;
    }
    for (stride, expected) in
        [(1, vec![0, 1, 2, 3, 4, 5, 6, 7]), (3, vec![0, 3, 6, 7]), (7, vec![0, 7]), (99, vec![0, 7])]
    {
        let versions = storage.every_version(task.id, stride).await?;
        let numbers: Vec<u64> = versions.iter().map(|version| version.number).collect();
        assert_eq!(numbers, expected, "every {stride}");
    }
    let nobody = TaskId::from_random_bytes(fresh());
    assert_eq!(storage.every_version(nobody, 1).await?, []);
    Ok(())
}
