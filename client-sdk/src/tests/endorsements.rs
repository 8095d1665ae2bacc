//! A client that takes part only in tasks that its operator has endorsed.

use std::sync::Arc;

use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    TaskId, Timestamp,
    endorsement::{EndorsedPlan, Endorsement, STATEMENT_FORMAT, TaskStatement},
    messages::{AbortReason, ProtectionLevel},
    signing::encode_public_key,
};

use super::{
    fake::{Fake, Trouble, artifact},
    listener::listen,
    story::{builder_of, never},
    until,
};
use crate::{ClientBuilder, LogAction};

const KEY: [u8; 32] = [4; 32];

struct Scene {
    fake: Arc<Fake>,
    coordinator: String,
    directory: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        let fake = Arc::new(Fake::new(1, Trouble::default()));
        let coordinator = format!("http://127.0.0.1:{}", listen(Arc::clone(&fake), None).await);
        Self { fake, coordinator, directory: tempfile::tempdir().unwrap() }
    }

    fn builder(&self) -> ClientBuilder {
        let key = encode_public_key(&SigningKey::from_bytes(&KEY));
        builder_of(&self.coordinator, self.directory.path()).endorsement_keys(vec![key])
    }

    fn statement(&self) -> TaskStatement {
        let plan = artifact(&serde_json::to_vec(&self.fake.plan).unwrap());
        TaskStatement {
            format: STATEMENT_FORMAT,
            task_id: TaskId::from_random_bytes([1; 16]),
            sequence: 2,
            coordinators: vec![self.coordinator.clone()],
            not_before: Timestamp(0),
            expires_at: Timestamp(u64::MAX),
            model: self.fake.plan.model,
            plans: vec![EndorsedPlan {
                digest: plan.digest,
                cohort_min: 0,
                protection_level: ProtectionLevel::None,
            }],
        }
    }

    fn endorse(&self, statement: &TaskStatement, key: [u8; 32]) {
        let statement = serde_json::to_string(statement).unwrap();
        let signed = Endorsement::sign(statement, &SigningKey::from_bytes(&key)).unwrap();
        *self.fake.endorsement.lock().unwrap() = Some(serde_json::to_string(&signed).unwrap());
    }

    async fn take_part(&self) {
        self.builder().build().unwrap().run_rounds(1, never()).await.unwrap();
        assert!(self.fake.seen().is_accepted);
        self.fake.next_assignment();
    }

    /// Runs the client until it gives up its assignment. Returns the details for the coordinator and for the user.
    async fn refusal(&self) -> [String; 2] {
        let before = self.fake.seen().requests.len();
        let mut client = self.builder().build().unwrap();
        let log = client.transparency_log().clone();
        client.run(until("an abort", || !self.fake.seen().aborts.is_empty())).await.unwrap();
        let mut seen = self.fake.seen();
        let fetched = seen.requests[before..].iter().any(|sent| sent.line.starts_with("GET /v1/blobs"));
        assert!(!fetched, "nothing is fetched for a task that is not endorsed");
        let abort = seen.aborts.pop().unwrap();
        assert_eq!(abort.reason, AbortReason::PlanUnsupported);
        let entries = log.entries().unwrap();
        let given_up = entries.iter().rfind(|entry| entry.action == LogAction::GaveUp).unwrap();
        [abort.detail, given_up.detail.clone().unwrap()]
    }
}

#[tokio::test]
async fn only_what_the_operator_signed_is_trained() {
    let scene = Scene::new().await;
    let statement = scene.statement();
    scene.endorse(&statement, KEY);
    scene.take_part().await;

    let mut other = statement.clone();
    other.plans[0].digest = artifact(b"another plan").digest;
    let cases = [
        (other, KEY, "the plan is not a signed one"),
        (TaskStatement { sequence: 1, ..statement.clone() }, KEY, "this client has seen number 2"),
        (TaskStatement { expires_at: Timestamp(1), ..statement.clone() }, KEY, "has expired"),
        (statement.clone(), [5; 32], "a key that this app does not accept"),
        (
            TaskStatement { coordinators: vec!["https://other.example".into()], ..statement.clone() },
            KEY,
            "not signed for the coordinator http://127.0.0.1",
        ),
    ];
    for (statement, key, words) in cases {
        scene.endorse(&statement, key);
        for told in scene.refusal().await {
            assert!(told.contains(words), "{told}");
        }
    }
    *scene.fake.endorsement.lock().unwrap() = None;
    assert!(scene.refusal().await[1].contains("the task has no endorsement"));

    scene.endorse(&TaskStatement { sequence: 3, ..statement }, KEY);
    scene.take_part().await;
}

#[tokio::test]
async fn a_key_that_is_none_is_named_when_the_client_is_built() {
    let scene = Scene::new().await;
    let error = scene.builder().endorsement_keys(vec!["c2hvcnQ=".into()]).build().err().unwrap();
    assert!(error.to_string().contains("`c2hvcnQ=` is not a public key"), "{error}");
}
