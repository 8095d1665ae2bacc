//! Rounds with masked updates, over real sockets.

mod committee;
mod member;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use folkmoot_protocol::{
    ErrorCode, UpdateDigest,
    secure::{SecureAnswered, SecureMessage, SecureProgress, ShareCommitment},
};
use folkmoot_secure_aggregation::NoiseShare;
use folkmoot_storage::{LedgerRepository, ModelVersionRepository, RoundRepository};
use folkmoot_tests::{
    client_process::{ClientConfig, ClientMoment, ClientProcess},
    deployment::Deployment,
    oracle::{next_parts, next_weights},
    patience::patiently,
    task::{TaskSpec, now},
    update::TestUpdate,
};
use futures::future::join_all;
use serde_json::{Value, json};

use self::member::Member;
use crate::{
    CLIENT, COORDINATOR,
    cohort::{assert_accepted, await_abandoned, await_version},
    edge_aggregators::Site,
};

fn example_folder(name: &str) -> PathBuf {
    let tests = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the tests are");
    Path::new(&tests).join("../examples").join(name)
}

fn spec(settings: Value, count: u64, minimum: u64) -> TaskSpec {
    TaskSpec::synthetic(&[30, 20, 3], count, 1)
        .with_scheduling("minimum_cohort", minimum)
        .with_part("protection", json!({ "secure_aggregation": settings }))
}

/// A client whose update is in a sum.
trait Averaged {
    /// Returns the plain update.
    fn update(&self) -> &TestUpdate;
}

impl Averaged for Member {
    fn update(&self) -> &TestUpdate {
        &self.update
    }
}

/// Makes a task train the digits of the example in two rounds.
fn digits(mut spec: TaskSpec) -> TaskSpec {
    spec.rounds = 2;
    let path = example_folder("digits").join("model.onnx");
    spec.onnx = std::fs::read(path).expect("the example's model is there");
    spec.plan = json!({
        "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.05 } },
        "epochs": 1, "batch_size": 16,
    });
    spec
}

/// Draws a cohort and takes it through the keys and the shares.
async fn exchanged(deployment: &mut Deployment, count: usize, restarts: bool) -> Vec<Member> {
    let mut members = join_all((0..count).map(|_| Member::drawn(deployment))).await;
    join_all(members.iter().map(Member::advertise)).await;
    if restarts {
        restart(deployment).await;
    }
    join_all(members.iter_mut().map(Member::share)).await;
    if restarts {
        restart(deployment).await;
    }
    join_all(members.iter_mut().map(Member::receive)).await;
    members
}

async fn restart(deployment: &mut Deployment) {
    deployment.kill().await;
    deployment.restart().await;
}

/// Asserts that the first version is the mean of these members' plain updates, bit for bit, and has their metrics.
async fn verify_version<T: Averaged>(deployment: &Deployment, members: &[&T]) {
    patiently("the version", await_version(deployment, 1)).await;
    let storage = deployment.storage().await;
    let task = &deployment.task;
    let version =
        storage.model_version(task.id, 1).await.expect("the database can be read").expect("it is there");
    let bytes = deployment.blobs().get(version.weights).await.expect("its weights are stored");
    let released: Vec<f32> =
        bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    let plain: Vec<&TestUpdate> = members.iter().map(|member| member.update()).collect();
    let updates: Vec<_> = plain.iter().map(|update| (update.header.weight, update.values.clone())).collect();
    let (base, grid, rate) = (&task.initial_weights, &task.grid, task.server_learning_rate);
    match task.part_count() {
        1 => assert_eq!(released, next_weights(base, &updates, grid, rate)),
        _ => {
            // The division by the share rounds once more.
            let expected = next_parts(task, base, &updates);
            let off = released.iter().zip(&expected).map(|(one, other)| (one - other).abs());
            assert!(off.fold(0.0, f32::max) < 1e-6, "{released:?} is not {expected:?}");
        }
    }
    let examples = plain.iter().map(|update| update.header.metrics.example_count).sum::<u64>();
    let losses = plain.iter().map(|update| update.header.metrics.loss_sum).sum::<f64>();
    assert_eq!((version.metrics.example_count, version.metrics.loss_sum), (examples, losses));
    let round = storage.rounds(task.id, 1, Some(2)).await.expect("the database can be read");
    for step in folkmoot_coordinator::round::SecureStep::ALL {
        let kept =
            folkmoot_storage::SecureRepository::secure_messages(&storage, round[0].round.id, step).await;
        assert_eq!(kept.expect("the database can be read"), [], "messages are deleted with their round");
    }
    storage.close().await;
}

#[tokio::test]
async fn the_version_is_that_of_plain_updates_although_clients_vanish() {
    for restarts in [false, true] {
        let mut deployment = Deployment::start(COORDINATOR, &spec(json!({}), 6, 4), |_| {}).await;
        let mut members = exchanged(&mut deployment, 6, restarts).await;
        // One member vanishes before its upload, another one after it.
        members[5].abort().await;
        for answer in join_all(members[..5].iter().map(Member::upload)).await {
            assert_accepted(&answer);
        }
        if restarts {
            restart(&mut deployment).await;
        }
        for opened in join_all(members[..4].iter_mut().map(Member::open)).await {
            opened.expect("the survivors are honest");
        }
        verify_version(&deployment, &members[..5].iter().collect::<Vec<_>>()).await;
        deployment.assert_answers().await;
    }
}

/// Three clients of a site send their messages and masked updates through its aggregator, which adds the updates up with their
/// masks. One of them vanishes after its upload.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edge_aggregator_sums_masked_updates() {
    let deployment = Deployment::start(COORDINATOR, &spec(json!({}), 6, 4), |_| {}).await;
    let site = Site::of(&deployment).await;
    let (own, other) = (&deployment.endpoint, &site.endpoint);
    let places = [own, own, own, other, other, other];
    let mut members = join_all(places.map(|place| Member::drawn_at(&deployment, place))).await;
    join_all(members.iter().map(Member::advertise)).await;
    join_all(members.iter_mut().map(Member::share)).await;
    join_all(members.iter_mut().map(Member::receive)).await;
    members[0].abort().await;
    for answer in join_all(members[1..].iter().map(Member::upload)).await {
        assert_accepted(&answer);
    }
    for opened in join_all(members[1..5].iter_mut().map(Member::open)).await {
        opened.expect("the survivors are honest");
    }
    verify_version(&deployment, &members[1..].iter().collect::<Vec<_>>()).await;
    deployment.assert_answers().await;
}

/// The coordinator sees neither the updates nor their clusters or widths, and moves each tensor by the updates that have trained it.
#[tokio::test]
async fn clusters_and_widths_move_by_their_own_updates_under_masks() {
    for (key, parts) in [("clusters", json!({ "count": 2 })), ("widths", json!({ "ratios": [1.0, 0.5] }))] {
        parts_move_under_masks(key, parts).await;
    }
}

async fn parts_move_under_masks(key: &str, parts: Value) {
    let mut spec = spec(json!({}), 6, 4).with_part("aggregator", json!({ "kind": "weighted_mean" }));
    spec.plan[key] = parts;
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let mut members = exchanged(&mut deployment, 6, false).await;
    members[5].abort().await;
    for answer in join_all(members[..5].iter().map(Member::upload)).await {
        assert_accepted(&answer);
    }
    for opened in join_all(members[..5].iter_mut().map(Member::open)).await {
        opened.expect("the survivors are honest");
    }
    verify_version(&deployment, &members[..5].iter().collect::<Vec<_>>()).await;
    deployment.assert_answers().await;
}

/// One client has an update that is far too long, and all others send zeros. The released model has the noise of all clients
/// together, and no update of a norm above 1. The budget is charged.
#[tokio::test]
async fn the_released_model_has_the_noise_of_all_clients_together() {
    let privacy = json!({
        "kind": "distributed", "epsilon": 4.0, "delta": 1e-6, "clipping_norm": 1.0, "noise_multiplier": 5.0,
    });
    let spec = TaskSpec::synthetic(&[200, 100, 10], 6, 1)
        .with_scheduling("minimum_cohort", 5)
        .with_part("aggregator", json!({ "kind": "uniform_mean" }))
        .with_part("privacy", privacy)
        .with_part("protection", json!({ "secure_aggregation": {} }));
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let mut members = exchanged(&mut deployment, 6, false).await;
    for (index, member) in members.iter_mut().enumerate() {
        member.update.values.fill(if index == 0 { 8.0 } else { 0.0 });
    }
    for answer in join_all(members.iter().map(Member::upload)).await {
        assert_accepted(&answer);
    }
    let terms = *members[0].terms();
    for opened in join_all(members.iter_mut().map(Member::open)).await {
        opened.expect("the survivors are honest");
    }
    patiently("the version", await_version(&deployment, 1)).await;
    let (task, storage) = (&deployment.task, deployment.storage().await);
    let version = storage.model_version(task.id, 1).await.expect("the database can be read");
    let version = version.expect("it is there");
    assert_eq!(version.metrics.example_count, 0, "private clients tell no counts");
    let bytes = deployment.blobs().get(version.weights).await.expect("its weights are stored");
    let released = bytes.as_chunks::<4>().0.iter().map(|value| f64::from(f32::from_le_bytes(*value)));
    let changes = released.zip(&task.initial_weights).map(|(after, before)| after - f64::from(*before));
    let variance = changes.map(|change| change * change).sum::<f64>() / task.parameter_count() as f64;
    let share =
        NoiseShare::of(&terms, task.parameter_count() as u64).expect("there is noise").expect("it fits");
    let deviation = share.scale as f64 / f64::from(task.grid.fraction_bits).exp2();
    // The mean of six updates. An estimate from 21,110 values has a relative deviation of 1 %.
    let expected = deviation * deviation / 6.0 * task.server_learning_rate.powi(2);
    assert!((variance / expected - 1.0).abs() < 0.08, "{variance} {expected}");
    // Four honest clients of five are enough for a multiplier of 5.
    assert_eq!((share.shares, (deviation * 1e6).round()), (4, 2_500_000.0));
    let sum = storage.ledger_sum(task.organisation, &task.population).await.expect("the ledger can be read");
    assert!(sum.totals.has_begun(task.id));
    storage.close().await;
}

#[tokio::test]
async fn against_a_malicious_coordinator_clients_agree_on_the_survivors() {
    let settings = json!({ "threat": "malicious" });
    let mut deployment = Deployment::start(COORDINATOR, &spec(settings, 10, 8), |_| {}).await;
    let mut members = exchanged(&mut deployment, 10, false).await;
    members[9].abort().await;
    for answer in join_all(members[..9].iter().map(Member::upload)).await {
        assert_accepted(&answer);
    }
    for opened in join_all(members[..9].iter_mut().map(Member::open)).await {
        opened.expect("the survivors are signed");
    }
    verify_version(&deployment, &members[..9].iter().collect::<Vec<_>>()).await;
}

/// Real clients train and mask. One of them is killed while it trains, and one after its update was accepted, before it has
/// opened its shares. Both resume where they were.
#[tokio::test]
async fn real_clients_train_and_one_that_is_killed_goes_on() {
    let settings = json!({ "step_deadline_seconds": 600 });
    let spec = digits(spec(settings, 5, 4).with_scheduling("reporting_deadline_seconds", 600));
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let states = tempfile::tempdir().expect("there is room for a folder");
    let moments = [Some(ClientMoment::Trained), Some(ClientMoment::Uploading), None, None, None];
    let mut clients: Vec<ClientProcess> = (0..5)
        .map(|part| {
            let config = ClientConfig {
                url: deployment.url(),
                certificate: deployment.certificate_path(),
                token: deployment.task.token.clone(),
                state_directory: states.path().join(part.to_string()),
                examples: example_folder("digits").join("digits.csv"),
                part,
                parts: 5,
                clock_anchor: now(),
                clock_rate: 1,
                halt_at: moments[part],
            };
            ClientProcess::start(CLIENT, config)
        })
        .collect();
    for client in &mut clients[..2] {
        client.halted(0).await;
        client.kill().await;
        client.config.halt_at = None;
        client.restart();
    }
    patiently("two versions", await_version(&deployment, 2)).await;
    let storage = deployment.storage().await;
    let version = storage.model_version(deployment.task.id, 2).await.expect("the database can be read");
    let metrics = version.expect("it was released").metrics;
    assert!(metrics.example_count > 1000 && metrics.accuracy().is_some(), "{metrics:?}");
    storage.close().await;
    deployment.assert_answers().await;
}

#[tokio::test]
async fn one_drop_out_too_many_abandons_the_round() {
    // Six members need three shares of each secret; the uploads must be at least five.
    let mut deployment = Deployment::start(COORDINATOR, &spec(json!({}), 6, 5), |_| {}).await;
    let members = exchanged(&mut deployment, 6, false).await;
    join_all(members[..2].iter().map(Member::abort)).await;
    patiently("the end of the round", await_abandoned(&deployment, 0)).await;
    let late = members[3].upload().await;
    assert_eq!(late.code(), Some(ErrorCode::RoundClosed), "a late update is not taken");
}

#[tokio::test]
async fn messages_that_break_the_protocol_are_refused() {
    let mut deployment = Deployment::start(COORDINATOR, &spec(json!({}), 4, 3), |_| {}).await;
    let mut members = join_all((0..4).map(|_| Member::drawn(&deployment))).await;
    let SecureMessage::Keys { advertisement } = members[0].keys() else { panic!("keys are keys") };
    let mut weak = advertisement.clone();
    weak.mask_key.0 = [0; 32];
    let refused = members[0].send(&SecureMessage::Keys { advertisement: weak }).await;
    assert_eq!(refused.code(), Some(ErrorCode::UpdateMalformed), "a weak key");
    let early = members[0].send(&SecureMessage::Shares { shares: Vec::new() }).await;
    assert_eq!(early.code(), Some(ErrorCode::RoundClosed), "shares before the roster");
    members[0].advertise().await;
    let mut other = advertisement.clone();
    other.self_mask = ShareCommitment([1; 32]);
    let changed = members[0].send(&SecureMessage::Keys { advertisement: other }).await;
    assert_eq!(changed.code(), Some(ErrorCode::UpdateConflict), "other keys than before");
    join_all(members[1..].iter().map(Member::advertise)).await;
    let SecureProgress::Roster { .. } = members[0].progress(SecureAnswered::Keys).await else {
        panic!("the roster answers the keys")
    };
    let short = members[0].send(&SecureMessage::Shares { shares: Vec::new() }).await;
    assert_eq!(short.code(), Some(ErrorCode::UpdateMalformed), "not one share for each neighbour");
    join_all(members.iter_mut().map(Member::share)).await;
    join_all(members.iter_mut().map(Member::receive)).await;
    // Two updates of the same values are different bytes, because each client has its own masks.
    let masked: BTreeSet<_> = members.iter().map(|member| UpdateDigest::of(&member.masked())).collect();
    assert_eq!(masked.len(), 4);
    for answer in join_all(members.iter().map(Member::upload)).await {
        assert_accepted(&answer);
    }
    for opened in join_all(members.iter_mut().map(Member::open)).await {
        opened.expect("the survivors are honest");
    }
    verify_version(&deployment, &members.iter().collect::<Vec<_>>()).await;
    deployment.stop().await;
}
