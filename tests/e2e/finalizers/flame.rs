//! Tests FLAME, and the scores of updates, between a coordinator and clients that send known updates.

use folkmoot_storage::{AssignmentRepository, ModelVersionRepository};
use folkmoot_tests::{deployment::Deployment, task::TaskSpec};
use serde_json::json;

use crate::{
    COORDINATOR,
    cohort::{assert_accepted, await_version, draw, enrol},
};

/// The factors of the six updates, and their number in the cluster. They come from these lines, with numpy 2.4.6 and hdbscan 0.8.44;
/// scikit-learn 1.9.1 keeps the same updates:
///
/// ```python
/// i, k = np.arange(6)[:, None], np.arange(75)[None]
/// x = (k * 37 % 41 - 20) / 32 + ((i * 53 * k + k * k * 7 + i * i * 11) % 29 - 14) / 64 * (i + 1) / 2
/// x[4] *= -1; x[5] *= 4
/// settings = dict(min_cluster_size=len(x) // 2 + 1, min_samples=1, allow_single_cluster=True)
/// kept = HDBSCAN(metric="precomputed", **settings).fit_predict(cosine_distances(x)) == 0
/// norms = np.linalg.norm(x, axis=1); f = np.where(kept, np.minimum(1, np.median(norms) / norms), 0)
/// ```
const FACTORS: [f64; 6] = [1.0, 1.0, 1.0, 0.9840133275942956, 0.0, 0.0];
const KEPT: f64 = 4.0;
/// The first values of `f @ x / kept.sum()`.
const MEAN: [f64; 4] = [-0.6710804156802695, 0.42295385385281303, 0.39926656209647393, 0.14112458351267826];
/// The norm ratios, cosines and scores, with the lines of `server/aggregation/src/anomaly/alignments.rs`.
const SCORES: [(f64, f64, f64); 6] = [
    (0.881, 0.956, 0.604),
    (0.856, 0.936, 0.745),
    (0.984, 0.925, 0.078),
    (1.016, 0.891, 0.231),
    (1.227, -0.796, 22.99),
    (5.506, 0.676, 8.155),
];

fn value(i: u16, k: u16) -> f64 {
    let (client, index) = (f64::from(i), u32::from(k));
    let own = (u32::from(i) * 53 * index + index * index * 7 + u32::from(i) * u32::from(i) * 11) % 29;
    let shared = (f64::from(index * 37 % 41) - 20.0) / 32.0;
    let sum = shared + (f64::from(own) - 14.0) / 64.0 * (client + 1.0) / 2.0;
    match i {
        4 => -sum,
        5 => 4.0 * sum,
        _ => sum,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_under_flame_is_that_of_hdbscan_and_unusual_updates_are_found() {
    let mut spec = TaskSpec::synthetic(&[8, 6, 3], 6, 1000)
        .with_part("aggregator", json!({ "kind": "flame", "noise_factor": 0.0 }));
    spec.server_learning_rate = 1.0;
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let clients = enrol(&deployment, 6).await;
    let mut members = draw(&deployment, &clients).await;
    for (i, member) in (0..).zip(&mut members) {
        for (k, one) in (0..).zip(&mut member.update.values) {
            *one = value(i, k) as f32;
        }
        assert_accepted(&member.upload().await);
    }
    await_version(&deployment, 1).await;

    let storage = deployment.storage().await;
    let version =
        storage.model_version(deployment.task.id, 1).await.expect("it is read").expect("it is there");
    let weights = deployment.blobs().get(version.weights).await.expect("they are there");
    let after = weights.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
    for ((after, before), k) in after.zip(&deployment.task.initial_weights).zip(0..) {
        let mean = (0..).zip(FACTORS).map(|(i, factor)| factor * value(i, k)).sum::<f64>() / KEPT;
        assert!(
            MEAN.get(usize::from(k)).is_none_or(|expected| (mean - expected).abs() < 1e-9),
            "{k}: {mean}"
        );
        assert!((after - f64::from(*before) - mean).abs() < 1e-5, "parameter {k}: {after}, {mean}");
    }

    let scores = version.making.scores.expect("updates that are read back are scored");
    assert_eq!((scores.updates, scores.unusual), (6, 2));
    assert!((scores.cosine_median - 0.9083326023241769).abs() < 1e-6);
    let mut found = Vec::new();
    for (assignment, score) in scores.most_unusual {
        let assignment = storage.assignment(assignment).await.expect("it is read").expect("it is there");
        let client = clients.iter().position(|client| client.id == Some(assignment.client_id));
        let client = client.expect("it is one of the clients");
        let (norm_ratio, cosine, expected) = SCORES[client];
        let is_near = |one: f64, other: f64| (one - other).abs() < 2e-3;
        assert!(
            is_near(score.norm_ratio, norm_ratio)
                && is_near(score.cosine, cosine)
                && is_near(score.score(), expected),
            "client {client}: {score:?}"
        );
        found.push((client, score.explanation(scores.cosine_median)));
    }
    let order: Vec<usize> = found.iter().map(|(client, _)| *client).collect();
    assert_eq!(order, [4, 5, 1, 0, 3, 2]);
    assert!(found[0].1.starts_with("it points against the aggregate: the cosine is -0.80"), "{}", found[0].1);
    assert_eq!(found[1].1, "5.5 times the median norm");
    storage.close().await;
    deployment.stop().await;
}
