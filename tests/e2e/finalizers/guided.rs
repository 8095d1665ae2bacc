//! Tests rules that use the coordinator's own examples, with clients that send known updates and a coordinator that is killed.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use folkmoot_engine::{Examples, ImportLimits, Labels, Model, Trainer};
use folkmoot_tests::{deployment::Deployment, halt::Halt, task::TaskSpec};
use serde_json::{Value, json};

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol},
};

/// The number of the coordinator's examples, all of which the rule uses.
const EXAMPLES: usize = 12;
/// The version whose release is interrupted.
const INTERRUPTED: u64 = 2;

/// Returns examples of three classes with eight features.
fn examples() -> Examples {
    let features = (0..EXAMPLES * 8).map(|index| ((index * 37 % 41) as f32 - 20.0) / 16.0).collect();
    let labels = (0..EXAMPLES).map(|index| (index * 7 % 3) as u32).collect();
    Examples::new(features, vec![8], Labels::Classes(labels)).expect("they have as many rows")
}

fn spec(aggregator: Value) -> TaskSpec {
    let mut spec = TaskSpec::synthetic(&[8, 6, 3], 4, 1000).with_part("aggregator", aggregator);
    spec.plan = json!({
        "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.25 } },
        "epochs": 3, "batch_size": 100,
    });
    spec.server_learning_rate = 1.0;
    spec.examples = Some(examples());
    spec
}

/// Returns the update of a client. Two clients each send opposite updates, so one of them agrees with any direction. They have different
/// lengths, so their mean moves the model.
fn values(version: usize, client: usize, length: usize) -> Vec<f32> {
    let sign = if client.is_multiple_of(2) { 1.0 } else { -0.75 };
    let value = |index: usize| ((index * 37 + version * 13 + client / 2 * index * 5) % 41) as f32 - 20.0;
    (0..length).map(|index| sign * value(index) / 32.0).collect()
}

async fn weights(deployment: &Deployment, member: &Member) -> Vec<f32> {
    let digest = member.assignment.weights.digest;
    let bytes = deployment.blobs().get(digest).await.expect("the version is stored");
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Returns the names of all stored blobs, which follow from their contents.
fn blobs(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
        match entry.path().is_dir() {
            true => found.append(&mut blobs(&entry.path())),
            false => _ = found.insert(entry.path()),
        }
    }
    found
}

/// The change of the model by these updates under FLTrust (Cao et al. 2021, algorithm 2).
fn fl_trust(spec: &TaskSpec, before: &[f32], updates: &[&[f32]]) -> Vec<f64> {
    let model = Model::from_onnx(&spec.onnx, &ImportLimits::default()).expect("it is a model");
    let plan = serde_json::from_value(spec.plan.clone()).expect("it is a plan");
    let mut trainer = Trainer::new(&model, before, plan, &examples(), 1).expect("the examples fit");
    trainer.advance(u64::MAX).expect("it does not diverge");
    let root: Vec<f64> = trainer.finish().delta.into_iter().map(f64::from).collect();
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let norm = |one: &[f64]| product(one, one).sqrt();
    let (mut sum, mut trusts) = (vec![0.0; root.len()], 0.0);
    for update in updates {
        let update: Vec<f64> = update.iter().copied().map(f64::from).collect();
        let trust = (product(&update, &root) / (norm(&update) * norm(&root))).max(0.0);
        trusts += trust;
        let factor = trust * norm(&root) / norm(&update);
        sum.iter_mut().zip(&update).for_each(|(sum, value)| *sum += factor * value);
    }
    sum.into_iter().map(|value| if trusts > 0.0 { value / trusts } else { 0.0 }).collect()
}

type Change = fn(&TaskSpec, &[f32], &[&[f32]]) -> Vec<f64>;

/// Kills the coordinator when it has computed a version but not released it. It must compute the same bytes again.
async fn expect_the_same_after_a_kill(aggregator: Value, change: Option<Change>) {
    let spec = spec(aggregator);
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let clients = enrol(&deployment, 4).await;
    let mut expected: Option<Vec<f64>> = None;
    let mut last = Vec::new();
    for version in 1..=4u64 {
        if version == INTERRUPTED {
            deployment.kill().await;
            deployment.halt_at(Some(Halt::at("version made", version)));
            deployment.restart().await;
        }
        let mut members = draw(&deployment, &clients).await;
        for (client, member) in members.iter_mut().enumerate() {
            member.update.values = values(version as usize, client, member.update.values.len());
        }
        let before = weights(&deployment, &members[0]).await;
        for (found, expected) in before.iter().zip(expected.iter().flatten()) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "version {version}: {found}, {expected}");
        }
        assert_ne!(before, last, "the model moves");
        last.clone_from(&before);
        if let Some(change) = &change {
            let updates: Vec<&[f32]> = members.iter().map(|member| &member.update.values[..]).collect();
            let changes = change(&spec, &before, &updates);
            assert!(changes.iter().any(|change| change.abs() > 1e-3), "the model moves");
            let after = before.iter().zip(changes).map(|(before, change)| f64::from(*before) + change);
            expected = Some(after.collect());
        }
        for member in &members {
            assert_accepted(&member.upload().await);
        }
        if version == INTERRUPTED {
            assert_eq!(deployment.halted().await, version);
            deployment.kill().await;
            let stored = blobs(&deployment.data().join("blobs"));
            deployment.halt_at(None);
            deployment.restart().await;
            await_version(&deployment, version).await;
            assert_eq!(
                blobs(&deployment.data().join("blobs")),
                stored,
                "the version was stored before the kill"
            );
        }
        await_version(&deployment, version).await;
    }
    deployment.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fl_trust_gives_the_same_version_after_a_kill() {
    let aggregator = json!({ "kind": "fl_trust", "examples": EXAMPLES });
    expect_the_same_after_a_kill(aggregator, Some(fl_trust)).await;
}

/// These rules have the same numbers as in `server/cli/tests/algorithms/guided.rs`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_coordinator_learns_is_the_same_after_a_kill() {
    let aggregator = json!({ "kind": "fed_law", "examples": EXAMPLES, "steps": 4 });
    expect_the_same_after_a_kill(aggregator, None).await;
    let aggregator = json!({ "kind": "afl", "clients": 4 });
    expect_the_same_after_a_kill(aggregator, None).await;
    let aggregator = json!({ "kind": "fed_df", "examples": EXAMPLES, "steps": 9, "batch_size": 5 });
    expect_the_same_after_a_kill(aggregator, None).await;
}
