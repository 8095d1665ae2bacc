//! Old versions that are dropped, and blobs that nothing needs.

use bytes::Bytes;
use folkmoot_api::{TaskVerb, populations::CreateRolloutRequest, tasks::CreateTaskRequest};
use folkmoot_coordinator::task::{TaskDescription, WarmStart};
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{
    BlobDigest, ErrorCode, MetricValues, PopulationName, TaskId, Timestamp, update::UpdateMetrics,
};
use folkmoot_rounds::{
    clock::system_clock,
    collection::{ASIDE_MILLISECONDS, Amount, Collection},
};
use folkmoot_service::{collection::collect, host::HostConfig};
use folkmoot_storage::{
    DatabaseReader, EvaluationRecord, EvaluationRepository, EvaluationSource, LeaseRepository, ModelRecord,
    ModelRepository, ModelVersionRecord, ModelVersionRepository,
};
use folkmoot_test_postgres::TestPostgres;
use serde_json::json;

use super::{Running, description, model, refused, start_with, tasks::newest};

/// Stores versions 1 to `last` of a task. Each has weights of its own.
async fn release(running: &Running, task_id: TaskId, last: u64) -> Vec<BlobDigest> {
    let coordinator = &running.host.coordinator;
    let first = coordinator.storage.model_version(task_id, 0).await.unwrap().unwrap();
    let mut weights = vec![first.weights];
    for number in 1..=last {
        let bytes = vec![number as u8; first.weights_bytes as usize];
        weights.push(coordinator.blobs.put(bytes.into()).await.unwrap());
        let created_at = system_clock()();
        let version =
            ModelVersionRecord { number, weights: *weights.last().unwrap(), created_at, ..first.clone() };
        coordinator.storage.release_version(running.host.organisation, &version).await.unwrap();
    }
    weights
}

/// Records that clients evaluated a version, and classified `correct` of 100 examples correctly.
async fn evaluate(running: &Running, task_id: TaskId, version: u64, correct: u64) {
    let evaluation = EvaluationRecord {
        organisation_id: running.host.organisation,
        task_id,
        version,
        source: EvaluationSource::Federated,
        slice: String::new(),
        client_count: 4,
        metrics: UpdateMetrics {
            example_count: 100,
            loss_sum: 1.0,
            correct_count: correct,
            ..UpdateMetrics::default()
        },
        values: MetricValues::default(),
        classes: None,
        created_at: system_clock()(),
    };
    running.host.coordinator.storage.record_evaluation(&evaluation).await.unwrap();
}

async fn is_stored(running: &Running, digest: BlobDigest) -> bool {
    let inventory = running.host.coordinator.blobs.inventory().await.unwrap();
    inventory.stored.iter().any(|blob| blob.digest == digest)
}

#[tokio::test]
async fn old_versions_are_dropped_and_say_so() {
    let running = start_with(|config| config.keep_versions = Some(2)).await;
    let (admin, host) = (running.admin(), &running.host);
    let kept = admin.create_model(model()).await.unwrap();
    let federated = json!({ "metric": "accuracy", "federated": { "report_goal": 4 } });
    let evaluation = Some(serde_json::from_value(federated).unwrap());
    let evaluated = TaskDescription { evaluation, ..description() };
    let task = admin.create_task(evaluated, kept.model, false).await.unwrap();
    let now = system_clock()();
    // No driver opens a round, which would need version 0.
    let (lease, until) = (format!("task/{}", task.id), now.plus_seconds(3600));
    assert!(host.coordinator.storage.acquire_lease(&lease, "this test", now, until).await.unwrap());
    admin.change_task(task.id, TaskVerb::Activate).await.unwrap();
    admin.change_task(task.id, TaskVerb::Pause).await.unwrap();
    let weights = release(&running, task.id, 6).await;
    evaluate(&running, task.id, 2, 90).await;
    evaluate(&running, task.id, 4, 80).await;
    let digits: PopulationName = "digits".parse().unwrap();
    let rollout = |version: u64| -> CreateRolloutRequest {
        let request = json!({ "task": task.id.to_string(), "version": version, "share": 1.0 });
        serde_json::from_value(request).unwrap()
    };
    admin.create_rollout(&digits, &rollout(1)).await.unwrap();

    let collected = collect(&host.coordinator, "one", host.organisation, now).await.unwrap().unwrap();
    assert_eq!(collected.set_aside, Amount { blobs: 2, bytes: 2 * 4 * 15 }, "the model also names version 0");
    let versions = admin.versions(task.id, newest()).await.unwrap();
    let dropped: Vec<u64> = versions
        .iter()
        .filter(|version| version.dropped_at.is_some())
        .map(|version| version.number)
        .collect();
    assert_eq!(dropped, [4, 3, 0], "version 1 is rolled out, and version 2 is the best");
    let request = CreateTaskRequest {
        description: description(),
        model: kept.model,
        evaluation_data: None,
        warm_start: Some(WarmStart { task_id: task.id, version: 3 }),
        activate: false,
    };
    for (code, detail) in [
        refused(admin.download_model(task.id, Some(3), None).await),
        refused(admin.roll_back(task.id, 3).await),
        refused(admin.create_rollout(&digits, &rollout(3)).await),
    ] {
        assert_eq!(code, ErrorCode::ModelVersionUnknown);
        assert!(
            detail.contains("weights of version 3") && detail.contains("storage.keep_versions"),
            "{detail}"
        );
    }
    let (code, detail) = refused(admin.create_task_from(&request).await);
    assert!(code == ErrorCode::TaskInvalid && detail.contains("weights of version 3"), "{detail}");
    for number in [None, Some(1), Some(2), Some(5)] {
        admin.download_model(task.id, number, None).await.unwrap();
    }

    let later = now.plus_milliseconds(ASIDE_MILLISECONDS);
    let freed = collect(&host.coordinator, "one", host.organisation, later).await.unwrap().unwrap().freed;
    assert_eq!(freed.blobs, 2);
    for (digest, is_kept) in weights.iter().zip([true, true, true, false, false, true, true]) {
        assert_eq!(is_stored(&running, *digest).await, is_kept);
    }
    assert!(!host.coordinator.storage.acquire_lease("collection", "other", later, later).await.unwrap());
    assert_eq!(collect(&host.coordinator, "other", host.organisation, later).await.unwrap(), None);
    running.host.stop().await.unwrap();
}

/// A database, and a place of blobs that two coordinators share.
struct Place {
    running: Running,
    /// The blobs as another coordinator sees them.
    other: BlobStore,
}

/// Starts a coordinator on each kind of database.
async fn places() -> (Vec<Place>, Option<TestPostgres>) {
    let server = TestPostgres::start();
    let urls = [None].into_iter().chain(server.iter().map(|server| Some(server.database())));
    let mut places = Vec::new();
    for url in urls {
        let running = start_with(|config: &mut HostConfig| config.database = url).await;
        let other = BlobStore::local(running.folder.path().join("blobs")).unwrap();
        running.host.coordinator.blobs.note_database(running.host.organisation).await.unwrap();
        places.push(Place { running, other });
    }
    (places, server)
}

/// Commits a row that names a blob.
async fn name(place: &Place, blob: BlobDigest) {
    let record = ModelRecord {
        name: None,
        organisation_id: place.running.host.organisation,
        model: blob,
        model_bytes: 1,
        weights: blob,
        schema: folkmoot_protocol::TensorSchema { tensors: Vec::new() },
        created_at: Timestamp(0),
    };
    place.running.host.coordinator.storage.create_model(&record).await.unwrap();
}

/// A time at which everything that the test stores is old.
const OLD: Timestamp = Timestamp(9_000_000_000_000_000);

/// The steps of a collection can meet those of another coordinator in any order. Nothing that it names is lost, whether it
/// has stored the blob again or only found it.
#[tokio::test]
async fn what_is_named_meanwhile_is_kept() {
    let (places, _server) = places().await;
    for place in places {
        let host = &place.running.host;
        let (blobs, database) = (&host.coordinator.blobs, host.coordinator.storage.database().unwrap());
        for (number, is_put_again) in [(1, true), (2, false), (3, true), (4, false)] {
            let bytes = Bytes::from(vec![number; 9]);
            let blob = blobs.put(bytes.clone()).await.unwrap();
            let use_again = async || match is_put_again {
                true => assert_eq!(place.other.put(bytes.clone()).await.unwrap(), blob),
                false => assert!(place.other.exists(blob).await.unwrap()),
            };
            let collection = Collection::begin(blobs, host.organisation, OLD).await.unwrap();
            let names = database.blob_names(collection.released_since()).await.unwrap();
            if number <= 2 {
                // The other coordinator uses it after the names were read, and commits before or after the blob is set aside.
                use_again().await;
                if number == 1 {
                    name(&place, blob).await;
                }
                collection.end(&names, false).await.unwrap();
                name(&place, blob).await;
                assert!(!is_stored(&place.running, blob).await, "it is set aside");
                assert_eq!(place.other.size(blob).await.unwrap(), 9, "and not lost");
            } else {
                // The other coordinator uses it when it waits to be deleted, after the names of that collection were read.
                collection.end(&names, false).await.unwrap();
                let later = OLD.plus_milliseconds(ASIDE_MILLISECONDS);
                let collection = Collection::begin(blobs, host.organisation, later).await.unwrap();
                let names = database.blob_names(collection.released_since()).await.unwrap();
                use_again().await;
                collection.end(&names, false).await.unwrap();
                name(&place, blob).await;
            }
            for hours in 2..4 {
                let later = OLD.plus_milliseconds(hours * ASIDE_MILLISECONDS);
                collect(&host.coordinator, "one", host.organisation, later).await.unwrap().unwrap();
                assert!(is_stored(&place.running, blob).await, "{number}");
            }
            assert_eq!(place.other.get(blob).await.unwrap(), bytes);
        }
        let inventory = blobs.inventory().await.unwrap();
        assert!(inventory.aside.is_empty(), "{inventory:?}");
        place.running.host.stop().await.unwrap();
    }
}

#[tokio::test]
async fn what_is_not_named_is_deleted_after_it_has_waited() {
    let (places, _server) = places().await;
    for place in places {
        let host = &place.running.host;
        let blob = host.coordinator.blobs.put(Bytes::from_static(b"nobody's")).await.unwrap();
        let at = async |now| collect(&host.coordinator, "one", host.organisation, now).await.unwrap();
        let fresh = at(system_clock()()).await.unwrap();
        assert_eq!((fresh.kept.blobs, fresh.set_aside.blobs), (1, 0), "it may wait for its row");
        let first = at(OLD).await.unwrap();
        assert_eq!((first.set_aside, first.freed), (Amount { blobs: 1, bytes: 8 }, Amount::default()));
        let waiting = at(OLD.plus_milliseconds(ASIDE_MILLISECONDS - 1)).await.unwrap();
        assert_eq!((waiting.waiting.blobs, waiting.freed.blobs), (1, 0));
        let later = OLD.plus_milliseconds(ASIDE_MILLISECONDS);
        assert_eq!(at(later).await.unwrap().freed.blobs, 1);
        assert!(!place.other.exists(blob).await.unwrap());

        let stranger = folkmoot_protocol::OrganisationId::from_random_bytes([9; 16]);
        place.other.note_database(stranger).await.unwrap();
        let error = collect(&host.coordinator, "one", host.organisation, later).await.unwrap_err();
        assert!(error.to_string().contains(&stranger.to_string()), "{error}");
        place.running.host.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_backup_in_progress_keeps_everything() {
    let Some(server) = TestPostgres::start() else { return };
    let url = server.database();
    let running = start_with(|config| config.database = Some(url.clone())).await;
    let host = &running.host;
    host.coordinator.blobs.put(Bytes::from_static(b"nobody's")).await.unwrap();
    let mut backup = DatabaseReader::open(&url).await.unwrap();
    backup.hold_blobs().await.unwrap();
    assert_eq!(collect(&host.coordinator, "one", host.organisation, OLD).await.unwrap(), None);
    backup.close().await;
    let collected = collect(&host.coordinator, "one", host.organisation, OLD).await.unwrap().unwrap();
    assert_eq!(collected.set_aside.blobs, 1);
    running.host.stop().await.unwrap();
}
