//! Tests real clients that are killed with SIGKILL while they train, encode and upload, and after they have finished.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use folkmoot_coordinator::round::Phase;
use folkmoot_protocol::{AssignmentId, ErrorCode, UpdateDigest};
use folkmoot_storage::{AssignmentRepository, AssignmentStatus, DropReason, RoundRepository};
use folkmoot_tests::{
    client_process::{ClientConfig, ClientMoment, ClientProcess},
    deployment::Deployment,
    patience::patiently,
    raw::RawRequest,
    task::{TaskSpec, now},
};
use futures::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{CLIENT, COORDINATOR, cohort::await_version};

const CLIENTS: usize = 3;
/// The number of local steps of each phase. Both together take about a second on an idle machine.
const STEPS: u32 = 6_000;
/// The speed of the clients' clocks. At this speed, the clients store a checkpoint every twentieth of a second, so that
/// even a short training on a fast machine has several checkpoints.
const CLOCK_RATE: u64 = 100;

/// The moments at which each client is killed. Each client begins with a different one.
const MOMENTS: [ClientMoment; 5] = [
    ClientMoment::TrainingGoesOn,
    ClientMoment::Trained,
    ClientMoment::Uploading,
    ClientMoment::Accepted,
    ClientMoment::TrainingBegins,
];

/// The clients of a task that are killed.
struct Scene {
    /// Additional keys of the plan. With them, a training depends on what the previous one has stored on the client.
    plan: Value,
    finalizer: Value,
    /// The number of clients, each of which begins with a different one of `moments`.
    clients: usize,
    moments: &'static [ClientMoment],
    /// The number of values that a client keeps for each weight, and of single ones.
    kept: [usize; 2],
}

impl Scene {
    /// Returns the number of rounds. After its last kill, a client needs this round or the next one. The last rounds run without kills.
    fn rounds(&self) -> u64 {
        self.moments.len() as u64 + 3
    }

    fn spec(&self) -> TaskSpec {
        let examples = examples_folder();
        let mut spec = TaskSpec::synthetic(&[1, 1], self.clients as u64, self.rounds());
        spec.onnx = std::fs::read(examples.join("model.onnx")).expect("the example's model is there");
        spec.plan = json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.01 } },
            "epochs": STEPS, "steps_max": STEPS, "batch_size": 16,
        });
        for (key, value) in self.plan.as_object().expect("it is an object") {
            spec.plan[key] = value.clone();
        }
        let spec = spec
            .with_part("finalizer", self.finalizer.clone())
            .with_part("aggregator", json!({ "kind": "uniform_mean" }));
        // The clients' clocks run fast, so the deadline must be longer.
        spec.with_scheduling("reporting_deadline_seconds", 600 * CLOCK_RATE)
    }
}

fn examples_folder() -> PathBuf {
    let tests = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the tests are");
    Path::new(&tests).join("../examples/digits")
}

fn start_client(
    deployment: &Deployment,
    states: &TempDir,
    (part, parts): (usize, usize),
    moment: ClientMoment,
) -> ClientProcess {
    let config = ClientConfig {
        url: deployment.url(),
        certificate: deployment.certificate_path(),
        token: deployment.task.token.clone(),
        state_directory: states.path().join(part.to_string()),
        examples: examples_folder().join("digits.csv"),
        part,
        parts,
        clock_anchor: now(),
        clock_rate: CLOCK_RATE,
        halt_at: Some(moment),
    };
    ClientProcess::start(CLIENT, config)
}

/// The digests of the updates in the clients' state directories, by assignment.
#[derive(Default)]
struct Digests(BTreeMap<AssignmentId, UpdateDigest>);

impl Digests {
    /// Reads the updates of a killed client. An update that was already read must not have changed.
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
    let scaffold_and_ditto = Scene {
        plan: json!({ "personal_training": { "ditto": { "lambda": 0.1, "epochs": STEPS } } }),
        finalizer: json!({ "kind": "scaffold", "clients": CLIENTS }),
        clients: CLIENTS,
        moments: &MOMENTS,
        kept: [2, 0],
    };
    survives(scaffold_and_ditto).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_keeps_for_any_algorithm_survives_a_kill() {
    let plain = json!({ "kind": "fed_avg" });
    let scenes = [
        (json!({ "personal_training": { "apfl": { "alpha": 0.5 } } }), plain.clone(), [1, 1]),
        (json!({}), json!({ "kind": "fed_dc", "clients": 1, "alpha": 0.1 }), [2, 0]),
        (json!({ "model_contrast": { "features": "activated" } }), plain.clone(), [1, 0]),
        (json!({ "elastic_averaging": { "alpha": 0.5 } }), plain, [1, 0]),
    ];
    // The second training uses the state that the first has stored. It is killed during the training and after it.
    let moments = &[ClientMoment::Accepted, ClientMoment::TrainingGoesOn, ClientMoment::Trained];
    let scenes = scenes.map(|(plan, finalizer, kept)| Scene { plan, finalizer, clients: 1, moments, kept });
    join_all(scenes.map(survives)).await;
}

/// Kills the clients of a scene. All updates must be the ones that were stored first, and a client's stored state must
/// be there at the end.
async fn survives(scene: Scene) {
    let deployment = Deployment::start(COORDINATOR, &scene.spec(), |_| {}).await;
    let states = tempfile::tempdir().expect("there is room for a folder");
    let kills = (0..scene.clients).map(|part| kill_often(&deployment, &states, &scene, part));
    let (mut clients, digests): (Vec<_>, Vec<_>) = join_all(kills).await.into_iter().unzip();
    await_version(&deployment, scene.rounds()).await;
    let mut digests = Digests(digests.into_iter().flat_map(|digests| digests.0).collect());
    for client in &mut clients {
        client.kill().await;
        digests.collect(client);
        client.log.assert_no_panic();
        let kept = client.config.state_directory.join("personal").join(deployment.task.id.to_string());
        let kept = std::fs::read(kept).expect("the client keeps something");
        let [of_weights, single] = scene.kept;
        assert_eq!(kept.len(), 40 + 4 * (of_weights * deployment.task.parameter_count() + single));
    }
    assert_one_update_each(&deployment, &digests, scene.rounds()).await;
    deployment.assert_answers().await;
}

/// Kills a client at every moment and restarts it each time. The last process is not killed. Each client follows its
/// own schedule: a round needs all clients, so it could block if clients waited for each other's kills.
async fn kill_often(
    deployment: &Deployment,
    states: &TempDir,
    scene: &Scene,
    part: usize,
) -> (ClientProcess, Digests) {
    let mut digests = Digests::default();
    let mut moments = scene.moments.to_vec();
    moments.rotate_left(part);
    let mut client = start_client(deployment, states, (part, scene.clients), moments[0]);
    let (mut line, mut kept) = (0, None);
    let keeps = states.path().join(part.to_string()).join("personal").join(deployment.task.id.to_string());
    for (kill, moment) in moments.iter().copied().enumerate() {
        patiently(&format!("{moment:?}"), client.halted(line)).await;
        client.kill().await;
        digests.collect(&client);
        // Between the kills of one training, the stored state stays as the previous training has left it.
        if moment == ClientMoment::TrainingGoesOn {
            kept = std::fs::read(&keeps).ok();
            assert!(
                kept.is_some() || moments[0] != ClientMoment::Accepted,
                "the first training has left nothing"
            );
        } else if moment == ClientMoment::Trained
            && let Some(kept) = kept.take()
        {
            assert!(std::fs::read(&keeps).is_ok_and(|now| now == kept), "what a client keeps has changed");
        }
        line = client.events.len();
        client.config.halt_at = moments.get(kill + 1).copied();
        client.restart();
        if moment == ClientMoment::TrainingGoesOn {
            assert!(first_step(&client, line).await > 0, "the training did not go on from its checkpoint");
        }
    }
    (client, digests)
}

/// Returns the step at which a restarted client resumes the training.
async fn first_step(client: &ClientProcess, line: usize) -> u64 {
    let step = |line: &str| {
        let mut words = line.split(' ').skip_while(|word| *word != "training");
        words.nth(2)?.parse().ok()
    };
    patiently("the training to go on", client.events.wait_for(line, step)).await
}

/// Asserts that every round combined the updates that its clients had stored, and that no client tried to send two
/// different updates.
async fn assert_one_update_each(deployment: &Deployment, digests: &Digests, rounds_expected: u64) {
    let storage = deployment.storage().await;
    let rounds = storage.rounds(deployment.task.id, 100, None).await.expect("the database can be read");
    let committed = rounds.iter().filter(|record| matches!(record.round.phase, Phase::Committed { .. }));
    assert_eq!(committed.count() as u64, rounds_expected);
    for record in &rounds {
        let assignments = storage.assignments(record.round.id).await.expect("the database can be read");
        for assignment in assignments {
            match assignment.status {
                AssignmentStatus::Accepted { digest, .. } => {
                    let found = digests.0.get(&assignment.id).copied().unwrap_or(digest);
                    assert_eq!(found, digest, "another update was sent than was stored");
                }
                // A client that has lost its state reports that it aborts.
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
