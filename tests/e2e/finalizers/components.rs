//! Tests components between a coordinator and clients that send known updates.

use folkmoot_protocol::messages::Artifact;
use folkmoot_tests::{deployment::Deployment, task::TaskSpec};

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol},
};

/// The example of the guide.
const EXAMPLE: &[u8] = include_bytes!("../../strategies/strategy.wasm");
/// The settings of its aggregator.
const QUANTILE: f64 = 0.5;
const SPEED: f64 = 0.2;
/// The length of a step of its finalizer.
const RATE: f64 = 0.5;

async fn weights(member: &Member) -> Vec<f64> {
    let Artifact { digest, .. } = member.assignment.weights;
    let answer = member.client.send(&member.client.get(&format!("/v1/blobs/{digest}"))).await;
    assert_eq!(answer.status, 200, "{:?}", answer.code());
    answer.body.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect()
}

/// The algorithms of the example, written a second time: adaptive clipping without noise, and Lion.
struct Expected {
    norm: f64,
    momenta: Vec<f64>,
}

impl Expected {
    /// Returns the weights after a commit of these updates.
    fn step(&mut self, before: &[f64], updates: &[&[f32]]) -> Vec<Option<f64>> {
        let norms: Vec<f64> = updates
            .iter()
            .map(|update| update.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt())
            .collect();
        let mean = |index: usize| {
            let clipped =
                |(update, norm): (&&[f32], &f64)| f64::from(update[index]) * (self.norm / norm).min(1.0);
            updates.iter().zip(&norms).map(clipped).sum::<f64>() / updates.len() as f64
        };
        let means: Vec<f64> = (0..before.len()).map(mean).collect();
        let below = norms.iter().filter(|norm| **norm <= self.norm).count() as f64 / norms.len() as f64;
        self.norm *= (-SPEED * (below - QUANTILE)).exp();
        let mut after = Vec::new();
        for ((weight, mean), momentum) in before.iter().zip(&means).zip(&mut self.momenta) {
            let direction = 0.9 * *momentum + 0.1 * mean;
            // The component rounds its momenta to float32, so the sign of a tiny direction is open.
            after.push((direction.abs() > 1e-6).then(|| weight + RATE * direction.signum()));
            *momentum = 0.99 * *momentum + 0.01 * mean;
        }
        after
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn components_compute_what_they_say_and_keep_their_state_through_a_kill() {
    let spec = TaskSpec::synthetic(&[8, 6, 3], 2, 1000)
        .with_component("aggregator", EXAMPLE, &format!("quantile={QUANTILE} rate={SPEED}"))
        .with_component("finalizer", EXAMPLE, &format!("rate={RATE}"));
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let clients = enrol(&deployment, 2).await;
    let mut expected = Expected { norm: 1.0, momenta: vec![0.0; deployment.task.parameter_count()] };
    let mut next: Option<Vec<Option<f64>>> = None;
    for version in 0..5u64 {
        if version == 2 {
            deployment.kill().await;
            deployment.restart().await;
        }
        let members = draw(&deployment, &clients).await;
        let before = weights(&members[0]).await;
        if let Some(next) = next {
            assert!(next.iter().flatten().count() > next.len() / 2);
            for (index, (found, expected)) in before.iter().zip(&next).enumerate() {
                let expected = expected.unwrap_or(*found);
                assert!(
                    (found - expected).abs() < 1e-5,
                    "version {version}, element {index}: {found}, {expected}"
                );
            }
        }
        let updates: Vec<&[f32]> = members.iter().map(|member| &member.update.values[..]).collect();
        next = Some(expected.step(&before, &updates));
        for member in &members {
            assert_accepted(&member.upload().await);
        }
        await_version(&deployment, version + 1).await;
    }
    assert!(expected.norm != 1.0, "the norm adapts");
    deployment.stop().await;
}
