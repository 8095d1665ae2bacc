//! Tests the control variate of SCAFFOLD between a coordinator and clients that send known updates.

use folkmoot_protocol::{BlobDigest, ErrorCode, messages::Artifact};
use folkmoot_tests::{deployment::Deployment, task::TaskSpec};
use serde_json::json;

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol},
};

/// The number of clients that the task counts with. Two of them take part.
const CLIENTS: u64 = 4;
/// The number of local steps that the updates report, and their learning rate.
const STEPS: (u32, f64) = (10, 0.125);

async fn fetch(member: &Member, artifact: Artifact) -> Vec<f64> {
    let answer = member.client.send(&member.client.get(&format!("/v1/blobs/{}", artifact.digest))).await;
    assert_eq!(answer.status, 200, "{:?}", answer.code());
    assert_eq!((answer.body.len() as u64, BlobDigest::of(&answer.body)), (artifact.bytes, artifact.digest));
    answer.body.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_control_variate_follows_from_the_updates_and_survives_a_kill() {
    let (steps, rate) = STEPS;
    let mut spec = TaskSpec::synthetic(&[8, 6, 3], 2, 1000)
        .with_part("finalizer", json!({ "kind": "scaffold", "clients": CLIENTS }))
        .with_part("aggregator", json!({ "kind": "uniform_mean" }));
    // The updates report up to 100 examples.
    spec.plan["batch_size"] = 100.into();
    spec.plan["optimizer"] = json!({ "sgd": { "learning_rate": rate } });
    (spec.plan["epochs"], spec.plan["steps_max"]) = (steps.into(), steps.into());
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let clients = enrol(&deployment, 2).await;
    let mut before: Option<(Vec<f64>, Vec<f64>)> = None;
    for version in 0..4u64 {
        if version == 2 {
            deployment.kill().await;
            deployment.restart().await;
        }
        let members = draw(&deployment, &clients).await;
        let member = &members[0];
        let weights = fetch(member, member.assignment.weights).await;
        let control = match member.assignment.control_variate {
            Some(artifact) => fetch(member, artifact).await,
            None => vec![0.0; weights.len()],
        };
        assert_eq!(member.assignment.control_variate.is_some(), version > 0);
        if let Some((weights_before, control_before)) = before {
            // The mean of the updates is the change of the weights. c ← c + S/N·(−c − mean(Δ)/(K·r)).
            let scale = 1.0 / (f64::from(steps) * rate);
            for index in 0..weights.len() {
                let change = weights[index] - weights_before[index];
                let expected = control_before[index] + 0.5 * (-control_before[index] - scale * change);
                assert!((control[index] - expected).abs() < 1e-5, "version {version}, element {index}");
            }
            assert!(control.iter().any(|value| value.abs() > 0.01), "the updates move it");
        }
        let stranger = BlobDigest::of(b"no control variate");
        let answer = member.client.send(&member.client.get(&format!("/v1/blobs/{stranger}"))).await;
        assert_eq!(answer.code(), Some(ErrorCode::BlobUnknown));
        before = Some((weights, control));
        for member in &members {
            assert_accepted(&member.upload().await);
        }
        await_version(&deployment, version + 1).await;
    }
    deployment.stop().await;
}
