//! Real clients that are killed with SIGKILL while they train, prepare, upload, and after it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use folkmoot_coordinator::round::Phase;
use folkmoot_protocol::{AssignmentId, ErrorCode, UpdateDigest};
use folkmoot_storage::{AssignmentRepository, AssignmentStatus, DropReason, RoundRepository};
use folkmoot_tests::{
    client_process::{ClientConfig, ClientProcess},
    deployment::{Deployment, patiently},
    raw::RawRequest,
    task::{TaskSpec, now},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use tempfile::TempDir;

use crate::{CLIENT, COORDINATOR, cohort::await_version};

const SEED: u64 = 20_261_121;
const CLIENTS: usize = 3;
const ROUNDS: u64 = 14;
/// Local steps: about a second of training on an idle machine.
const STEPS: u32 = 12_000;
/// The clients' clocks run so many times as fast: they store a checkpoint every quarter of a second.
const CLOCK_RATE: u64 = 20;

/// Where a client is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// At the first steps.
    TrainingBegins,
    /// After more than half of the steps: there ought to be a checkpoint.
    TrainingGoesOn,
    /// After the last step, while the update is made.
    Preparing,
    /// When the upload has begun.
    Uploading,
    /// When the update counts.
    Accepted,
}

const MOMENTS: [Moment; 10] = [
    Moment::TrainingGoesOn,
    Moment::Preparing,
    Moment::Uploading,
    Moment::Accepted,
    Moment::TrainingBegins,
    Moment::TrainingGoesOn,
    Moment::Preparing,
    Moment::Uploading,
    Moment::Accepted,
    Moment::TrainingBegins,
];

impl Moment {
    fn is_reached(self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| words.get(index)?.parse::<u64>().ok();
        let is_so = match (self, *words.first()?) {
            (Moment::TrainingBegins, "training") => number(2)? < number(3)? / 2,
            (Moment::TrainingGoesOn, "training") => number(2)? > number(3)? / 2 && number(2)? < number(3)?,
            (Moment::Preparing, "training") => number(2)? == number(3)?,
            (Moment::Uploading, "uploading") | (Moment::Accepted, "accepted") => true,
            _ => false,
        };
        is_so.then_some(())
    }
}

fn spec() -> TaskSpec {
    let examples = examples_folder();
    let mut spec = TaskSpec::synthetic(&[1, 1], CLIENTS as u64, ROUNDS);
    spec.onnx = std::fs::read(examples.join("model.onnx")).expect("the example's model is there");
    spec.plan = json!({
        "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.01 } },
        "epochs": 10_000, "steps_max": STEPS, "batch_size": 16,
    });
    // The clients' clocks run fast: what is long for them is short here.
    spec.with_scheduling("reporting_deadline_seconds", 600 * CLOCK_RATE)
}

fn examples_folder() -> PathBuf {
    let tests = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the tests are");
    Path::new(&tests).join("../examples/digits")
}

fn start_client(deployment: &Deployment, states: &TempDir, part: usize) -> ClientProcess {
    let config = ClientConfig {
        url: deployment.url(),
        certificate: deployment.certificate_path(),
        token: deployment.task.token.clone(),
        state_directory: states.path().join(part.to_string()),
        examples: examples_folder().join("digits.csv"),
        part,
        parts: CLIENTS,
        clock_anchor: now(),
        clock_rate: CLOCK_RATE,
    };
    ClientProcess::start(CLIENT, config)
}

/// The digests of the updates that were found in the state directories, by assignment.
#[derive(Default)]
struct Digests(BTreeMap<AssignmentId, UpdateDigest>);

impl Digests {
    /// Reads the updates of a killed client. One that is found again must be the same.
    fn collect(&mut self, client: &ClientProcess) {
        let folder = client.config.state_directory.join("assignments");
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let id = name.strip_suffix(".update").and_then(|id| id.parse().ok());
            if let (Some(id), Ok(bytes)) = (id, std::fs::read(entry.path())) {
                let digest = UpdateDigest::of(&bytes);
                let first = *self.0.entry(id).or_insert(digest);
                assert_eq!(first, digest, "two updates for assignment {id}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_client_goes_on_and_sends_one_update() {
    let deployment = Deployment::start(COORDINATOR, &spec(), |_| {}).await;
    let states = tempfile::tempdir().expect("there is room for a folder");
    let mut clients: Vec<_> = (0..CLIENTS).map(|part| start_client(&deployment, &states, part)).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let (mut digests, mut resumed) = (Digests::default(), 0);
    for (index, moment) in MOMENTS.into_iter().enumerate() {
        let victim = &mut clients[index % CLIENTS];
        let line = victim.events.len();
        let reached = victim.events.wait_for(line, |line| moment.is_reached(line));
        patiently(&format!("{moment:?}"), reached).await;
        tokio::time::sleep(Duration::from_micros(rng.random_range(0..2_000))).await;
        victim.kill().await;
        digests.collect(victim);
        let line = victim.events.len();
        victim.restart();
        if moment == Moment::TrainingGoesOn {
            resumed += u32::from(first_step(victim, line).await > 0);
        }
    }
    assert!(resumed > 0, "no training was gone on with from its checkpoint");
    await_version(&deployment, ROUNDS).await;
    for client in &mut clients {
        client.kill().await;
        digests.collect(client);
        client.log.assert_no_panic();
    }
    assert_one_update_each(&deployment, &digests).await;
    deployment.assert_answers().await;
}

/// Returns the step at which the training begins again.
async fn first_step(client: &ClientProcess, line: usize) -> u64 {
    let step = |line: &str| {
        let mut words = line.split(' ').skip_while(|word| *word != "training");
        words.nth(2)?.parse().ok()
    };
    patiently("the training to go on", client.events.wait_for(line, step)).await
}

/// Asserts that every round committed what its clients sent, and that nobody tried to send two updates.
async fn assert_one_update_each(deployment: &Deployment, digests: &Digests) {
    let storage = deployment.storage().await;
    let rounds = storage.rounds(deployment.task.id, 100, None).await.expect("the database can be read");
    let committed = rounds.iter().filter(|record| matches!(record.round.phase, Phase::Committed { .. }));
    assert_eq!(committed.count() as u64, ROUNDS);
    for record in &rounds {
        let assignments = storage.assignments(record.round.id).await.expect("the database can be read");
        for assignment in assignments {
            match assignment.status {
                AssignmentStatus::Accepted { digest, .. } => {
                    let found = digests.0.get(&assignment.id).copied().unwrap_or(digest);
                    assert_eq!(found, digest, "another update was sent than was stored");
                }
                // A client that lost what it had says so.
                AssignmentStatus::Dropped { reason: DropReason::Aborted { .. } } => {}
                other => panic!("assignment {} ended as {other:?}", assignment.id),
            }
        }
    }
    storage.close().await;
    let metrics = deployment.endpoint.send(&RawRequest::new("GET", "/metrics")).await.text();
    for code in [ErrorCode::UpdateConflict, ErrorCode::UpdateDigestMismatch] {
        assert!(!metrics.contains(code.as_str()), "{code} was needed:\n{metrics}");
    }
}
