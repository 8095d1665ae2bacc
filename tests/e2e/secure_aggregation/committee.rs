//! Rounds whose masks a committee removes: each client sends one message. The members serve TLS on loopback.

use std::{net::SocketAddr, path::Path};

use folkmoot_committee::{MemberConfig, MemberHost, MemberHostConfig, MemberLimits};
use folkmoot_edge::HttpLimits;
use folkmoot_protocol::{
    AssignmentId, ErrorCode, Plan,
    messages::Assignment,
    secure::{CommitteeKey, CommitteeSeal, MaskedExtras, MaskedHeader},
};
use folkmoot_secure_aggregation::{Context, Root, mask_for_committee};
use folkmoot_tests::{
    client_process::{ClientConfig, ClientMoment, ClientProcess},
    deployment::{Deployment, reserve_port},
    patience::patiently,
    raw::Answer,
    raw_client::RawClient,
    task::{TaskSpec, now, random_bytes},
    update::TestUpdate,
};
use folkmoot_update::{Unmasked, mask_update};
use futures::future::join_all;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpSocket;

use super::{Averaged, digits, verify_version};
use crate::{
    CLIENT, COORDINATOR,
    cohort::{assert_accepted, await_version},
};

/// The members of a committee, some of which run.
struct Committee {
    members: Vec<Member>,
}

struct Member {
    config: MemberConfig,
    folder: TempDir,
    port: u16,
    host: Option<MemberHost>,
    _reserved: TcpSocket,
}

impl Committee {
    /// Starts all members, so that their keys and certificates exist.
    fn start(count: usize) -> Self {
        let member = |_| {
            let folder = tempfile::tempdir().expect("there is room for a folder");
            let (reserved, port) = reserve_port().expect("a port is free");
            let host = host(folder.path(), port);
            let config = MemberConfig {
                key: host.key,
                url: host.url(),
                token_file: Some(host.token_file.clone()),
                token_variable: None,
                root_certificate: host.root_certificate.clone(),
            };
            Member { config, folder, port, host: Some(host), _reserved: reserved }
        };
        Self { members: (0..count).map(member).collect() }
    }

    async fn stop(&mut self, member: usize) {
        let host = self.members[member].host.take().expect("it runs");
        host.stop().await.expect("it served");
    }

    fn restart(&mut self, member: usize) {
        let Member { folder, port, host: place, .. } = &mut self.members[member];
        *place = Some(host(folder.path(), *port));
    }

    fn configs(&self) -> Vec<MemberConfig> {
        self.members.iter().map(|member| member.config.clone()).collect()
    }

    fn protection(&self, mut settings: Value) -> Value {
        let keys: Vec<CommitteeKey> = self.members.iter().map(|member| member.config.key).collect();
        settings["members"] = json!(keys);
        json!({ "committee": settings })
    }

    async fn deployment(&self, settings: Value, clients: u64, minimum: u64) -> Deployment {
        let spec = TaskSpec::synthetic(&[30, 20, 3], clients, 1)
            .with_scheduling("minimum_cohort", minimum)
            .with_part("protection", self.protection(settings));
        Deployment::start(COORDINATOR, &spec, |config| config.committee = self.configs()).await
    }
}

fn host(folder: &Path, port: u16) -> MemberHost {
    let config = MemberHostConfig {
        data: folder.to_owned(),
        listen: SocketAddr::from(([127, 0, 0, 1], port)),
        has_tls: true,
        host_names: Vec::new(),
        certificate: None,
        http_limits: HttpLimits::default(),
        limits: MemberLimits::default(),
        cohort_min: 3,
        values_max: 1_000_000,
    };
    MemberHost::start(config, now()).expect("its folder and port are free")
}

/// A client that masks for a committee.
struct Masker {
    client: RawClient,
    assignment: Assignment,
    plan: Plan,
    update: TestUpdate,
}

impl Averaged for Masker {
    fn update(&self) -> &TestUpdate {
        &self.update
    }
}

impl Masker {
    async fn drawn(deployment: &Deployment) -> Self {
        let client = RawClient::enrolled(&deployment.endpoint, &deployment.task.token).await;
        let assignment = client.await_assignment().await;
        assert!(!assignment.is_masked, "the clients exchange no messages");
        let path = format!("/v1/blobs/{}", assignment.plan.digest);
        let plan: Plan = client.send(&client.get(&path)).await.json();
        let update = TestUpdate::of(&deployment.task, &assignment);
        Self { client, assignment, plan, update }
    }

    fn id(&self) -> AssignmentId {
        self.assignment.assignment_id
    }

    /// Returns the masked update, without and with what the client encrypted for the committee.
    fn masked(&self) -> (Vec<u8>, CommitteeSeal) {
        let context = Context::of(&self.assignment);
        let terms = self.plan.protection.committee().expect("the plan has a committee");
        let masks = mask_for_committee(&context, terms, self.id(), &Root::new(random_bytes()));
        let masks = masks.expect("the terms are possible");
        let header = MaskedHeader {
            assignment_id: self.id(),
            schema_digest: self.update.header.schema_digest,
            base_version: self.update.header.base_version,
            element_count: self.update.header.element_count,
        };
        let weight = self.update.header.weight;
        let extras = MaskedExtras { weight, metrics: self.update.header.metrics };
        let unmasked = Unmasked { delta: &self.update.values, weight, extras, clipping_norm: None };
        let mut rng = ChaCha20Rng::from_seed(random_bytes());
        let masked = mask_update(&header, &self.plan, &terms.sum, &masks.masks, unmasked, &mut rng);
        (masked.expect("its values are on the grid"), masks.seal)
    }

    async fn send(&self, bytes: &[u8]) -> Answer {
        self.client.send(&self.client.upload(self.id(), bytes)).await
    }

    async fn upload(&self) -> Answer {
        let (mut bytes, seal) = self.masked();
        bytes.extend(seal.0);
        self.send(&bytes).await
    }
}

async fn maskers(deployment: &Deployment, count: usize) -> Vec<Masker> {
    join_all((0..count).map(|_| Masker::drawn(deployment))).await
}

/// Waits until a round is abandoned because its committee has not summed the masks.
async fn await_lost(deployment: &Deployment) {
    let is_lost = |line: &str| line.contains("round abandoned: a sum is missing").then_some(());
    patiently("the end of the round", deployment.log.wait_for(0, is_lost)).await;
}

async fn upload_all(maskers: &[Masker]) {
    for answer in join_all(maskers.iter().map(Masker::upload)).await {
        assert_accepted(&answer);
    }
}

#[tokio::test]
async fn one_message_of_each_client_is_enough_although_a_member_is_missing() {
    for (members, threat) in [(3, "honest_but_curious"), (4, "malicious")] {
        let mut committee = Committee::start(members);
        committee.stop(1).await;
        let deployment = committee.deployment(json!({ "threat": threat }), 5, 4).await;
        let clients = maskers(&deployment, 5).await;
        upload_all(&clients).await;
        verify_version(&deployment, &clients.iter().collect::<Vec<_>>()).await;
        deployment.assert_answers().await;
    }
}

/// Two of three members are gone when the round closes, and the coordinator is killed. Nothing is lost: when they are back, the sum
/// is released. Members that have answered before answer the same again.
#[tokio::test]
async fn a_round_waits_for_its_committee_across_restarts() {
    let mut committee = Committee::start(3);
    let mut deployment = committee.deployment(json!({}), 4, 3).await;
    let clients = maskers(&deployment, 4).await;
    for member in [0, 2] {
        committee.stop(member).await;
    }
    upload_all(&clients).await;
    let is_missing = |line: &str| line.contains("takes no part in a round").then_some(());
    patiently("a question to the committee", deployment.log.wait_for(0, is_missing)).await;
    deployment.kill().await;
    committee.restart(2);
    deployment.restart().await;
    verify_version(&deployment, &clients.iter().collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn without_a_committee_the_round_is_given_up_in_the_end() {
    let mut committee = Committee::start(2);
    committee.stop(0).await;
    let deployment = committee.deployment(json!({ "give_up_seconds": 1 }), 3, 3).await;
    upload_all(&maskers(&deployment, 3).await).await;
    await_lost(&deployment).await;
}

#[tokio::test]
async fn an_update_without_seeds_is_refused() {
    let committee = Committee::start(3);
    let deployment = committee.deployment(json!({}), 3, 3).await;
    let clients = maskers(&deployment, 3).await;
    let (masked, _) = clients[0].masked();
    assert_eq!(clients[0].send(&masked).await.code(), Some(ErrorCode::UploadLengthInvalid));
}

/// A client encrypts its seeds so that nobody can read them. Its round is lost, and the client is blamed.
#[tokio::test]
async fn a_client_that_spoils_a_round_is_blamed() {
    let committee = Committee::start(3);
    let deployment = committee.deployment(json!({}), 3, 3).await;
    let clients = maskers(&deployment, 3).await;
    let (mut spoiled, seal) = clients[0].masked();
    spoiled.extend(vec![7; seal.0.len()]);
    assert_accepted(&clients[0].send(&spoiled).await);
    upload_all(&clients[1..]).await;
    await_lost(&deployment).await;
    let lines = deployment.log.since(0);
    let blamed: Vec<&String> = lines.iter().filter(|line| line.contains("unreadable_seal")).collect();
    assert_eq!(blamed.len(), 1, "{blamed:?}");
    assert!(blamed[0].contains(&clients[0].id().to_string()), "{}", blamed[0]);
}

/// Real clients train and mask. One of them is killed while it uploads, and sends the same bytes after its restart.
#[tokio::test]
async fn real_clients_train_for_a_committee() {
    let committee = Committee::start(3);
    let spec = digits(TaskSpec::synthetic(&[30, 20, 3], 4, 1))
        .with_scheduling("minimum_cohort", 4)
        .with_scheduling("reporting_deadline_seconds", 600)
        .with_part("protection", committee.protection(json!({})));
    let deployment =
        Deployment::start(COORDINATOR, &spec, |config| config.committee = committee.configs()).await;
    let states = tempfile::tempdir().expect("there is room for a folder");
    let mut clients: Vec<ClientProcess> = (0..4)
        .map(|part| {
            let config = ClientConfig {
                url: deployment.url(),
                certificate: deployment.certificate_path(),
                token: deployment.task.token.clone(),
                state_directory: states.path().join(part.to_string()),
                examples: super::example_folder("digits").join("digits.csv"),
                part,
                parts: 4,
                clock_anchor: now(),
                clock_rate: 1,
                halt_at: (part == 0).then_some(ClientMoment::Uploading),
            };
            ClientProcess::start(CLIENT, config)
        })
        .collect();
    clients[0].halted(0).await;
    clients[0].kill().await;
    clients[0].config.halt_at = None;
    clients[0].restart();
    patiently("two versions", await_version(&deployment, 2)).await;
    deployment.assert_answers().await;
}
