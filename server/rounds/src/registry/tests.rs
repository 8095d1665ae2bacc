//! Tests of tasks that are created at the same time.

use bytes::Bytes;
use folkmoot_api::tasks::CreateTaskRequest;
use folkmoot_coordinator::task::TaskFilter;
use folkmoot_engine::onnx::build::mlp;
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{BlobDigest, ErrorCode, OrganisationId, Timestamp};
use folkmoot_round_log::RoundLog;
use folkmoot_storage::{MemoryStorage, PopulationRepository, TaskRepository};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::{Value, json};

use super::{
    admission::{ACTIVE_TASKS_MAX, admit},
    create_model,
    task::prepare,
};
use crate::coordinator::Coordinator;

const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// A coordinator in memory with one model.
async fn coordinator() -> (Coordinator, OrganisationId, BlobDigest) {
    let (blobs, chance) = (BlobStore::in_memory(), ChaCha20Rng::seed_from_u64(1));
    let coordinator = Coordinator::new(MemoryStorage::new(), blobs, RoundLog::in_memory(), chance);
    let organisation = OrganisationId::from_random_bytes([1; 16]);
    let organisation = coordinator.storage.ensure_organisation("default", organisation, NOW).await.unwrap();
    let onnx = Bytes::from(mlp(&[4, 3], 1));
    let bytes_max = onnx.len();
    let model = create_model(&coordinator, organisation, onnx, bytes_max, NOW).await.unwrap().model;
    (coordinator, organisation, model)
}

fn plain() -> Value {
    json!({
        "name": "digits",
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 8 },
        "stop": { "rounds": 30 },
    })
}

fn private() -> Value {
    let mut description = plain();
    description["aggregator"] = json!({ "kind": "uniform_mean" });
    description["privacy"] = json!({
        "kind": "central", "epsilon": 8.0, "delta": 1e-6, "participations_max": 2,
        "clipping": { "kind": "fixed", "norm": 1.0 },
    });
    description
}

fn request(description: Value, model: BlobDigest) -> CreateTaskRequest {
    let description = serde_json::from_value(description).unwrap();
    CreateTaskRequest { description, model, evaluation_data: None, warm_start: None, activate: true }
}

/// Both tasks are checked before either is stored, as happens with two concurrent requests.
#[tokio::test]
async fn of_two_tasks_that_are_made_at_the_same_moment_the_second_finds_the_first() {
    for (first, second, is_let_in) in [
        (private(), private(), false),
        (private(), plain(), false),
        (plain(), private(), true),
        (plain(), plain(), true),
    ] {
        let (coordinator, organisation, model) = coordinator().await;
        let first = prepare(&coordinator, organisation, request(first, model), NOW).await.unwrap();
        let second = prepare(&coordinator, organisation, request(second, model), NOW).await.unwrap();
        admit(&coordinator, first).await.unwrap();
        let outcome = admit(&coordinator, second).await;
        let all = coordinator.storage.tasks(organisation, &TaskFilter::default(), 10, None).await.unwrap();
        if is_let_in {
            assert!(outcome.is_ok() && all.len() == 2, "{outcome:?}");
            continue;
        }
        let refusal = outcome.unwrap_err();
        assert_eq!((refusal.code(), all.len()), (ErrorCode::TaskInvalid, 1));
        assert!(refusal.to_string().contains("no budget limits their total spending"), "{refusal}");
    }
}

#[tokio::test]
async fn the_last_place_of_a_population_is_given_once() {
    let (coordinator, organisation, model) = coordinator().await;
    for _ in 1..ACTIVE_TASKS_MAX {
        let next = prepare(&coordinator, organisation, request(plain(), model), NOW).await.unwrap();
        admit(&coordinator, next).await.unwrap();
    }
    let last = prepare(&coordinator, organisation, request(plain(), model), NOW).await.unwrap();
    let late = prepare(&coordinator, organisation, request(plain(), model), NOW).await.unwrap();
    admit(&coordinator, last).await.unwrap();
    let refusal = admit(&coordinator, late).await.unwrap_err();
    assert!(refusal.to_string().contains("this population already has 64 active tasks"), "{refusal}");
}
