//! Tests a real client whose training would take far too long. The coordinator asks it for its partial update.

use folkmoot_coordinator::round::Phase;
use folkmoot_protocol::{AssignmentId, ErrorCode, messages::AskResponse};
use folkmoot_storage::{AssignmentRepository, RoundRepository};
use folkmoot_tests::{
    client_process::{ClientConfig, ClientProcess},
    deployment::Deployment,
    halt::Halt,
    patience::patiently,
    task::{TaskSpec, now},
};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    CLIENT, COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol},
};

/// The number of fast clients. They send updates with arbitrary values, without training.
const FAST: usize = 2;
const EPOCHS: u64 = 10_000;

/// Returns a task whose rounds have three clients. After two have reported, the coordinator asks the third. The grace
/// period and the deadline are so long that they cannot end the round during the test.
fn spec() -> TaskSpec {
    let examples = examples_folder();
    let mut spec = TaskSpec::synthetic(&[1, 1], 3, 1);
    spec.onnx = std::fs::read(examples.join("model.onnx")).expect("the example's model is there");
    spec.plan = json!({
        "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.0001 } },
        "epochs": EPOCHS, "batch_size": 1,
    });
    spec.with_part(
        "scheduling",
        json!({
            "kind": "aggressive_synchronous", "cohort": FAST + 1, "ask_at": FAST, "minimum_cohort": FAST,
            "grace_seconds": 3_600, "selection_deadline_seconds": 3_600, "reporting_deadline_seconds": 7_200,
        }),
    )
}

fn examples_folder() -> std::path::PathBuf {
    let tests = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the tests are");
    std::path::Path::new(&tests).join("../examples/digits")
}

/// A deployment with a round of two fast clients and one real client, which has trained for some steps.
struct Scene {
    deployment: Deployment,
    fast: Vec<Member>,
    slow: ClientProcess,
    slow_assignment: AssignmentId,
    steps_total: u64,
    _state: TempDir,
}

impl Scene {
    async fn begin(halt: Option<Halt>) -> Self {
        let deployment = Deployment::start(COORDINATOR, &spec(), |config| config.halt = halt).await;
        let state = tempfile::tempdir().expect("there is room for a folder");
        let config = ClientConfig {
            url: deployment.url(),
            certificate: deployment.certificate_path(),
            token: deployment.task.token.clone(),
            state_directory: state.path().join("client"),
            examples: examples_folder().join("digits.csv"),
            part: 0,
            parts: 1,
            clock_anchor: now(),
            clock_rate: 1,
            halt_at: None,
        };
        let slow = ClientProcess::start(CLIENT, config);
        let fast = draw(&deployment, &enrol(&deployment, FAST).await).await;
        let (slow_assignment, steps_total) =
            patiently("the first steps", slow.events.wait_for(0, steps)).await;
        Self { deployment, fast, slow, slow_assignment, steps_total, _state: state }
    }

    /// Asserts that the round combines all three updates, and that the real client's update has fewer steps than
    /// planned.
    async fn assert_all_count(mut self) {
        await_version(&self.deployment, 1).await;
        let storage = self.deployment.storage().await;
        let rounds = storage.rounds(self.deployment.task.id, 10, None).await.expect("it can be read");
        let [record] = rounds.as_slice() else { panic!("one round is enough: {rounds:?}") };
        let Phase::Committed { cohort, accepted, .. } = record.round.phase else { panic!("{record:?}") };
        assert_eq!((cohort, accepted), (3, 3), "nobody's work is thrown away");
        let updates = storage.accepted_updates(record.round.id).await.expect("it can be read");
        storage.close().await;
        let partial = updates.iter().find(|update| update.assignment_id == self.slow_assignment);
        let metrics = partial.expect("the real client's update counts").metrics;
        assert!((1..self.steps_total).contains(&metrics.step_count), "{metrics:?} of {}", self.steps_total);
        assert_eq!(
            metrics.example_count, metrics.step_count,
            "an example a step, and no more than that counts"
        );
        self.slow.kill().await;
        self.slow.log.assert_no_panic();
        self.deployment.assert_answers().await;
    }
}

/// Parses a progress line of a training with at least one step. Returns the assignment and the number of planned steps.
fn steps(line: &str) -> Option<(AssignmentId, u64)> {
    let mut words = line.strip_prefix("training ")?.split(' ');
    let (id, step, total) = (words.next()?, words.next()?.parse::<u64>().ok()?, words.next()?.parse().ok()?);
    (step > 0).then_some((id.parse().ok()?, total))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_straggler_is_asked_and_its_round_commits_with_all() {
    let scene = Scene::begin(None).await;
    let [first, second] = scene.fast.as_slice() else { panic!("two were drawn") };
    assert!(first.assignment.may_be_asked);
    let ask = |member: &Member, of: AssignmentId| {
        member.client.get(&format!("/v1/assignments/{of}/ask?wait_seconds=0"))
    };
    let told: AskResponse = first.client.send(&ask(first, first.id())).await.json();
    assert_eq!(told, AskResponse { asked: false }, "nobody is done yet");
    let strange = first.client.send(&ask(first, second.id())).await;
    assert_eq!(strange.code(), Some(ErrorCode::AssignmentUnknown), "it is another client's");
    assert_accepted(&first.upload().await);
    let over = first.client.send(&ask(first, first.id())).await;
    assert_eq!(over.code(), Some(ErrorCode::AssignmentExpired), "what is done is asked for no more");
    assert_accepted(&second.upload().await);
    scene.deployment.log.wait_for(0, |line| line.contains("stragglers are asked").then_some(())).await;
    scene.assert_all_count().await;
}

/// The coordinator is killed after it has recorded that it asks for partial updates, but before it has asked any
/// client.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_that_is_killed_after_it_asked_still_closes_the_round() {
    let mut scene = Scene::begin(Some(Halt::at("stragglers are asked", 1))).await;
    for member in &scene.fast {
        assert_accepted(&member.upload().await);
    }
    assert_eq!(scene.deployment.halted().await, 1);
    scene.deployment.kill().await;
    let (storage, _copy) = scene.deployment.dead_storage().await;
    let round = storage.unfinished_round(scene.deployment.task.id).await.expect("it can be read");
    assert!(round.is_some_and(|record| record.round.phase.asked().is_some()), "that it asks is stored");
    storage.close().await;
    scene.deployment.halt_at(None);
    scene.deployment.restart().await;
    scene.assert_all_count().await;
}
