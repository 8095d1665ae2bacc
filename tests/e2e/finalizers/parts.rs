//! Tests tasks with clusters and with widths, with clients that send known updates, each of one part.

use folkmoot_storage::ModelVersionRepository;
use folkmoot_tests::{deployment::Deployment, oracle::next_parts, task::TaskSpec};
use serde_json::{Value, json};

use crate::{
    COORDINATOR,
    cohort::{assert_accepted, await_version, draw, enrol},
};

/// With four clients and three clusters, some clusters get several updates and some get none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_cluster_moves_by_its_own_updates_and_survives_a_kill() {
    expect_parts("clusters", json!({ "count": 3 })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_value_moves_by_the_updates_of_the_widths_that_have_it_and_survives_a_kill() {
    expect_parts("widths", json!({ "ratios": [1.0, 0.5, 0.2] })).await;
}

async fn expect_parts(key: &str, parts: Value) {
    let mut spec =
        TaskSpec::synthetic(&[8, 6, 3], 4, 1000).with_part("aggregator", json!({ "kind": "weighted_mean" }));
    spec.plan[key] = parts;
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let clients = enrol(&deployment, 4).await;
    let mut expected = deployment.task.initial_weights.clone();
    for version in 0..4u64 {
        if version == 2 {
            deployment.kill().await;
            deployment.restart().await;
        }
        let members = draw(&deployment, &clients).await;
        for member in &members {
            assert_accepted(&member.upload().await);
        }
        let updates: Vec<_> = members
            .iter()
            .map(|member| (member.update.header.weight, member.update.values.clone()))
            .collect();
        let task = &deployment.task;
        expected = next_parts(task, &expected, &updates);
        await_version(&deployment, version + 1).await;
    }
    let (storage, task) = (deployment.storage().await, &deployment.task);
    let version = storage.model_version(task.id, 4).await.expect("the database can be read");
    let weights = deployment.blobs().get(version.expect("it is there").weights).await;
    let weights = weights.expect("its weights are stored");
    for (found, expected) in weights.as_chunks::<4>().0.iter().zip(&expected) {
        let found = f32::from_le_bytes(*found);
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }
    storage.close().await;
    deployment.stop().await;
}
