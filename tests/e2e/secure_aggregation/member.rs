//! A client that takes the steps of secure aggregation one at a time, so that a test can let it vanish between two of them.

use folkmoot_protocol::{
    AssignmentId, Plan,
    messages::Assignment,
    secure::{
        Identity, MaskedExtras, MaskedHeader, SecureAnswered, SecureMessage, SecureProgress, SecureTerms,
    },
    signing::{encode_public_key, sign_text},
    update::UpdateMetrics,
};
use folkmoot_secure_aggregation::{Context, Journal, JournalError, Policy, Setting};
use folkmoot_tests::{
    deployment::Deployment,
    raw::{Answer, Endpoint},
    raw_client::RawClient,
    task::random_bytes,
    update::TestUpdate,
};
use folkmoot_update::{Unmasked, mask_update};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

const DEVICE_KEY: [u8; 32] = [5; 32];

pub struct Member {
    client: RawClient,
    assignment: Assignment,
    plan: Plan,
    journal: Journal,
    /// The plain update.
    pub update: TestUpdate,
}

impl Member {
    /// Waits until the client is drawn, and reads its plan.
    pub async fn drawn(deployment: &Deployment) -> Self {
        Self::drawn_at(deployment, &deployment.endpoint).await
    }

    /// Does the same through another address.
    pub async fn drawn_at(deployment: &Deployment, endpoint: &Endpoint) -> Self {
        let client = RawClient::enrolled(endpoint, &deployment.task.token).await;
        let assignment = client.await_assignment().await;
        assert!(assignment.is_masked);
        let path = format!("/v1/blobs/{}", assignment.plan.digest);
        let plan: Plan = client.send(&client.get(&path)).await.json();
        let journal = Journal::new(random_bytes(), &DEVICE_KEY, assignment.assignment_id);
        let update = TestUpdate::of(&deployment.task, &assignment);
        Self { client, assignment, plan, journal, update }
    }

    pub fn id(&self) -> AssignmentId {
        self.assignment.assignment_id
    }

    pub fn terms(&self) -> &SecureTerms {
        self.plan.protection.secure().expect("the plan demands masked updates")
    }

    fn setting(&self) -> Setting {
        let context = Context::of(&self.assignment);
        Setting { context, terms: *self.terms(), assignment_id: self.id(), policy: Policy::default() }
    }

    fn identity(&self, text: &str) -> Identity {
        let key = &self.client.key;
        Identity { public_key: encode_public_key(key), signature: sign_text(key, text) }
    }

    fn path(&self) -> String {
        format!("/v1/assignments/{}/secure", self.id())
    }

    /// Sends a message, even an invalid one.
    pub async fn send(&self, message: &SecureMessage) -> Answer {
        self.client.send(&self.client.message(&self.path(), message)).await
    }

    async fn send_well(&self, message: &SecureMessage) {
        let answer = self.send(message).await;
        assert_eq!(answer.status, 204, "{:?}", answer.problem());
        // A client that has lost the answer sends the same message again.
        assert_eq!(self.send(message).await.status, 204);
    }

    /// Waits for the coordinator's answer to a step.
    pub async fn progress(&self, after: SecureAnswered) -> SecureProgress {
        let path = format!("{}?after={}&wait_seconds=20", self.path(), after.name());
        loop {
            match self.client.send(&self.client.get(&path)).await.json() {
                SecureProgress::Wait => {}
                progress => return progress,
            }
        }
    }

    pub fn keys(&self) -> SecureMessage {
        let keys = self.journal.keys(&self.setting(), &DEVICE_KEY).expect("the device key is its own");
        keys.sign_with(|text| self.identity(text))
    }

    pub async fn advertise(&self) {
        self.send_well(&self.keys()).await;
    }

    pub async fn share(&mut self) {
        let SecureProgress::Roster { roster } = self.progress(SecureAnswered::Keys).await else {
            panic!("the roster answers the keys")
        };
        let setting = self.setting();
        self.journal.take_roster(&setting, &DEVICE_KEY, roster).expect("the roster is honest");
        self.send_well(&self.journal.shares(&setting, &DEVICE_KEY).expect("it has a roster")).await;
    }

    pub async fn receive(&mut self) {
        let SecureProgress::Shares { shares } = self.progress(SecureAnswered::Shares).await else {
            panic!("shares answer the shares")
        };
        let setting = self.setting();
        self.journal.take_shares(&setting, &DEVICE_KEY, shares).expect("the shares are honest");
    }

    /// Returns the masked update.
    pub fn masked(&self) -> Vec<u8> {
        let masking = self.journal.masking(&self.setting(), &DEVICE_KEY).expect("it has its shares");
        let header = MaskedHeader {
            assignment_id: self.id(),
            schema_digest: self.update.header.schema_digest,
            base_version: self.update.header.base_version,
            element_count: self.update.header.element_count,
        };
        let weight = self.update.header.weight;
        let extras = match self.terms().noise {
            Some(_) => MaskedExtras { weight: 1, metrics: UpdateMetrics::default() },
            None => MaskedExtras { weight, metrics: self.update.header.metrics },
        };
        let unmasked = Unmasked { delta: &self.update.values, weight, extras, clipping_norm: None };
        let mut rng = ChaCha20Rng::from_seed(random_bytes());
        mask_update(&header, &self.plan, self.terms(), &masking.masks(), unmasked, &mut rng)
            .expect("its values are on the grid")
    }

    pub async fn upload(&self) -> Answer {
        self.client.send(&self.client.upload(self.id(), &self.masked())).await
    }

    /// Gives up the assignment, so that the round does not wait for it.
    pub async fn abort(&self) {
        let path = format!("/v1/assignments/{}/abort", self.id());
        let abort = folkmoot_protocol::messages::AbortRequest {
            reason: folkmoot_protocol::messages::AbortReason::Stopped,
            detail: String::new(),
        };
        assert_eq!(self.client.send(&self.client.message(&path, &abort)).await.status, 204);
    }

    /// Opens the shares, after an agreement if the coordinator may be malicious.
    pub async fn open(&mut self) -> Result<(), JournalError> {
        let mut after = SecureAnswered::Update;
        loop {
            let survivors = match self.progress(after).await {
                SecureProgress::Survivors { survivors } => survivors,
                SecureProgress::Done => return Ok(()),
                other => panic!("{other:?} does not answer the update"),
            };
            let setting = self.setting();
            let draft = self.journal.take_survivors(&setting, &DEVICE_KEY, &survivors)?;
            let message = draft.sign_with(|text| self.identity(text));
            let answer = self.send(&message).await;
            assert_eq!(answer.status, 204, "{:?}", answer.problem());
            match message.answered() {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }
}
