//! Edge aggregators: clients send their updates to a site, and the coordinator gets the sum of the site.

mod site;

use std::{path::Path, time::Duration};

use folkmoot_api::{
    AdminClient, AdminError, Page,
    rounds::aggregators::{AdmissionRequest, AggregatorWorkRequest, HeldUpdateRequest, RefusedUpdateRequest},
};
use folkmoot_backup::{Places, restore, save};
use folkmoot_coordinator::round::AbandonReason;
use folkmoot_protocol::{ErrorCode, OrganisationId, Role, RoundId};
use folkmoot_rounds::combine::PartialSum;
use folkmoot_storage::{AssignmentRepository, PopulationRepository};
use folkmoot_tests::{
    deployment::Deployment,
    keys::key,
    log::{fields_of, phase_of},
    patience::patiently,
    raw_client::RawClient,
    task::{TaskSpec, now, random_bytes},
};
use serde_json::json;

use self::site::ORIGIN;
pub use self::site::Site;
use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, sent_by, verify},
};

fn spec(clients: u64) -> TaskSpec {
    TaskSpec::synthetic(&[30, 20, 3], clients, 2).with_scheduling("minimum_cohort", 2)
}

/// Enrols a client at the coordinator and two at each site.
async fn enrol(deployment: &Deployment, sites: &[&Site]) -> Vec<RawClient> {
    let token = &deployment.task.token;
    let mut clients = vec![RawClient::enrolled(&deployment.endpoint, token).await];
    for site in sites {
        for _ in 0..2 {
            clients.push(RawClient::enrolled(&site.endpoint, token).await);
        }
    }
    clients
}

/// Asserts how many accepted updates of the last round the coordinator does not have.
async fn assert_held(deployment: &Deployment, members: &[Member], held: usize) {
    let storage = deployment.storage().await;
    let round =
        storage.assignment(members[0].id()).await.expect("it can be read").expect("it was drawn").round_id;
    let accepted = storage.accepted_updates(round).await.expect("they can be read");
    assert_eq!(accepted.iter().filter(|update| update.held.is_some()).count(), held);
    storage.close().await;
}

/// One client is at the coordinator, two are at a site, and two at a site behind this site. An upload of a site is
/// interrupted and continued.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_is_that_of_all_updates_wherever_they_are() {
    let deployment = Deployment::start(COORDINATOR, &spec(5), |_| {}).await;
    let near = Site::of(&deployment).await;
    let far = Site::behind_site(&deployment, &near).await;
    let clients = enrol(&deployment, &[&near, &far]).await;
    let mut sent = Vec::new();
    for version in 1..=2 {
        let members = draw(&deployment, &clients).await;
        let update = members[3].update.bytes();
        let part = members[3].client.upload_part(members[3].id(), &update, 0..1001);
        assert_eq!(members[3].client.send(&part).await.status, 200);
        let state = members[3].client.upload_status(members[3].id()).await;
        assert_eq!(state.received_bytes, 1001);
        members[3].upload_rest().await;
        for member in [&members[0], &members[1], &members[2], &members[4]] {
            assert_accepted(&member.upload().await);
        }
        await_version(&deployment, version).await;
        assert_held(&deployment, &members, 4).await;
        sent.extend(members);
    }
    let rounds = verify(&deployment, &sent_by(&sent)).await;
    assert_eq!(rounds.iter().filter(|round| round.abandoned.is_none()).count(), 2);
    near.await_empty().await;
    far.await_empty().await;
    deployment.assert_answers().await;
}

/// Draws a client of the coordinator and two of the site, and stops the site after it has accepted their updates. Returns when
/// the round has closed.
async fn close_without(deployment: &Deployment, site: &mut Site) -> Vec<Member> {
    let clients = enrol(deployment, &[site]).await;
    let members = draw(deployment, &clients).await;
    for member in &members[1..] {
        assert_accepted(&member.upload().await);
    }
    site.stop().await;
    assert_accepted(&members[0].upload().await);
    let is_closed = |line: &str| (phase_of(line)? == "aggregating").then_some(());
    patiently("the end of the uploads", deployment.log.wait_for(0, is_closed)).await;
    members
}

/// The site stops after it has accepted its updates, before the round closes. The coordinator is killed while it waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_waits_for_a_site_that_restarts() {
    let mut deployment = Deployment::start(COORDINATOR, &spec(3), |_| {}).await;
    let mut site = Site::of(&deployment).await;
    let members = close_without(&deployment, &mut site).await;
    deployment.kill().await;
    deployment.restart().await;
    site.restart().await;
    await_version(&deployment, 1).await;
    verify(&deployment, &sent_by(&members)).await;
    site.await_empty().await;
}

/// A backup has the rows of held updates and not their bytes. The site has these, and the restored coordinator asks it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_with_held_updates_continues_in_a_restored_folder() {
    let [scratch, target] = [(); 2].map(|()| tempfile::tempdir().expect("there is room for a folder"));
    let mut deployment = Deployment::start(COORDINATOR, &spec(3), |_| {}).await;
    let mut site = Site::of(&deployment).await;
    let clients = enrol(&deployment, &[&site]).await;
    let mut members = draw(&deployment, &clients).await;
    for member in &members[1..] {
        assert_accepted(&member.upload().await);
    }
    deployment.stop().await;
    let places =
        |data: &Path| Places { data: data.into(), database: None, objects: None, variables: Vec::new() };
    let backup = scratch.path().join("backup");
    let saved = save(&places(deployment.data()), &backup, now()).await.expect("it is stopped");
    assert_eq!(saved.updates, 0, "the coordinator has none");
    restore(&backup, &places(target.path()), "restore-1").await.expect("the backup can be restored");
    let task = deployment.task.clone();
    let deployment = Deployment::resume(COORDINATOR, task, target, |_| {}).await;
    site.stop().await;
    site.move_to(&deployment);
    site.restart().await;
    members[0].client.endpoint = deployment.endpoint.clone();
    assert_accepted(&members[0].upload().await);
    await_version(&deployment, 1).await;
    verify(&deployment, &sent_by(&members)).await;
}

/// The round draws its clients when all of them wait at the same moment, and each waits on a connection of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_of_a_site_wait_at_once() {
    const MANY: u64 = 140;
    let deployment = Deployment::start(COORDINATOR, &spec(MANY), |_| {}).await;
    let site = Site::of(&deployment).await;
    let mut clients = Vec::new();
    for _ in 0..MANY {
        clients.push(RawClient::enrolled(&site.endpoint, &deployment.task.token).await);
    }
    assert_eq!(draw(&deployment, &clients).await.len() as u64, MANY);
}

/// Pages of the allowed origin can read the answers of the site and of the coordinator behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_an_allowed_origin_use_a_site() {
    let deployment = Deployment::start(COORDINATOR, &spec(3), |_| {}).await;
    let site = Site::of(&deployment).await;
    let clients = enrol(&deployment, &[&site]).await;
    let members = draw(&deployment, &clients).await;
    let (client, id) = (&members[1].client, members[1].id());
    let update = client.upload(id, &members[1].update.bytes()).sign(&client.key);
    let check_in = client.message("/v1/check-in", &json!({})).sign(&client.key);
    for request in [update, check_in] {
        let answer = site.endpoint.send(&request.with("origin", ORIGIN)).await;
        let allowed = answer.headers.get("access-control-allow-origin");
        assert_eq!(allowed.map(String::as_str), Some(ORIGIN), "{}", answer.status);
    }
}

/// After the time that clients had for their updates, the round is abandoned, and the next one goes on without the site.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_that_does_not_come_back_costs_its_round() {
    let mut deployment = Deployment::start(COORDINATOR, &spec(3), |config| config.is_clock_held = true).await;
    let mut site = Site::of(&deployment).await;
    let members = close_without(&deployment, &mut site).await;
    let asked = |line: &str| fields_of(line, "round waits for the sums of edge aggregators").map(drop);
    patiently("the request for the sum", deployment.log.wait_for(0, asked)).await;
    let storage = deployment.storage().await;
    let viewer = key(&storage, deployment.task.organisation, Role::Viewer).await;
    storage.close().await;
    let certificate = deployment.http_settings().certificate_pem;
    let viewer = AdminClient::new(&deployment.url(), &viewer.to_string(), certificate).unwrap();
    let shown = viewer.task(deployment.task.id).await.unwrap();
    let awaited = shown.open_round.and_then(|open| open.awaited).expect("it is awaited");
    assert!(awaited.sums_of[0].starts_with("test (") && awaited.until.is_some(), "{awaited:?}");
    let line = deployment.log.since(0).len();
    deployment.advance(Duration::from_secs(601)).await;
    let named = |line: &str| {
        let fields = fields_of(line, "round abandoned: a sum is missing")?;
        Some(fields.get("error")?.as_str()?.to_owned())
    };
    let error = patiently("the reason", deployment.log.wait_for(line, named)).await;
    assert!(error.contains("no sum has come from the edge aggregators test ("), "{error}");
    site.restart().await;
    site.await_empty().await;
    let rounds = verify(&deployment, &sent_by(&members)).await;
    assert_eq!(rounds[0].abandoned, Some(AbandonReason::CommitFailed));
}

/// If the rule needs single updates, they are passed on, and the coordinator has them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_compares_updates_gets_them() {
    let spec = spec(3).with_part("aggregator", json!({ "kind": "median" }));
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let site = Site::of(&deployment).await;
    let clients = enrol(&deployment, &[&site]).await;
    let members = draw(&deployment, &clients).await;
    for member in &members {
        assert_accepted(&member.upload().await);
    }
    await_version(&deployment, 1).await;
    assert_held(&deployment, &members, 0).await;
}

/// A site checks what the coordinator would check, and lets it verify signatures.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_lets_nothing_in_that_the_coordinator_would_refuse() {
    let deployment = Deployment::start(COORDINATOR, &spec(3), |_| {}).await;
    let site = Site::of(&deployment).await;
    let clients = enrol(&deployment, &[&site]).await;
    let members = draw(&deployment, &clients).await;
    let (own, other) = (&members[1], &members[2]);
    let upload = own.client.upload(own.id(), &own.update.bytes());
    // Another client's key, another client's assignment, and a request that was sent before.
    let forged = upload.sign(&other.client.key);
    assert_eq!(site.endpoint.send(&forged).await.code(), Some(ErrorCode::SignatureInvalid));
    let stolen = other.client.upload(own.id(), &own.update.bytes());
    assert_eq!(other.client.send(&stolen).await.code(), Some(ErrorCode::AssignmentUnknown));
    let signed = upload.sign(&own.client.key);
    assert_accepted(&site.endpoint.send(&signed).await);
    assert_eq!(site.endpoint.send(&signed).await.code(), Some(ErrorCode::RequestReplayed));
    // The answer was lost, so the client sends the update again.
    assert_accepted(&own.upload().await);
    let mut hostile = other.clone();
    hostile.update.values[7] = f32::NAN;
    assert_eq!(hostile.upload().await.code(), Some(ErrorCode::UpdateValueNotFinite));
    // The coordinator knows it: the round does not wait for this client.
    assert_accepted(&members[0].upload().await);
    await_version(&deployment, 1).await;
    let accepted = [members[0].clone(), own.clone()];
    verify(&deployment, &sent_by(&accepted)).await;
    let dotted =
        ["/v1/admin/aggregator/../tasks", "/v1/admin/aggregator/%2e%2e/tasks", "/v1/blobs/../../metrics"];
    for path in [&["/v1/admin/tasks", "/console/", "/metrics"][..], &dotted].concat() {
        let answer = site.endpoint.send(&folkmoot_tests::raw::RawRequest::new("GET", path)).await;
        assert_eq!(answer.status, 404, "{path} is not for clients");
    }
}

/// A round with a client of a site and one of the coordinator, for keys that a test creates.
struct Keyed {
    deployment: Deployment,
    members: Vec<Member>,
    _site: Site,
}

impl Keyed {
    async fn new() -> Self {
        let deployment = Deployment::start(COORDINATOR, &spec(2), |_| {}).await;
        let site = Site::of(&deployment).await;
        let token = &deployment.task.token;
        let clients = [
            RawClient::enrolled(&site.endpoint, token).await,
            RawClient::enrolled(&deployment.endpoint, token).await,
        ];
        let members = draw(&deployment, &clients).await;
        Self { deployment, members, _site: site }
    }

    async fn admin(&self, organisation: OrganisationId, role: Role) -> AdminClient {
        let storage = self.deployment.storage().await;
        let key = key(&storage, organisation, role).await;
        storage.close().await;
        let certificate = self.deployment.http_settings().certificate_pem;
        AdminClient::new(&self.deployment.url(), &key.to_string(), certificate).expect("its address is one")
    }

    async fn own(&self) -> AdminClient {
        self.admin(self.deployment.task.organisation, Role::Aggregator).await
    }

    /// Returns an update of the first client, as an aggregator reports it.
    fn update(&self) -> HeldUpdateRequest {
        HeldUpdateRequest {
            head: self.head(&self.members[0], self.members[0].update.bytes().len()),
            codec: "float32".into(),
            weight: 1,
            example_count: 1,
            loss_sum: 0.0,
            correct_count: 0,
            step_count: 1,
            norm_square: 0.0,
            peak: 0.0,
        }
    }

    /// Returns the head of a request in which a client sends an update of `bytes` bytes for the first client's assignment.
    fn head(&self, signer: &Member, bytes: usize) -> AdmissionRequest {
        let id = self.members[0].id();
        let request = signer.client.upload(id, &vec![7; bytes]);
        let signed = request.sign(&signer.client.key);
        AdmissionRequest {
            assignment_id: id,
            method: request.method,
            path: request.path,
            headers: signed.headers.into_iter().filter(|(name, _)| name.starts_with("folkmoot-")).collect(),
        }
    }
}

fn code<T>(answer: Result<T, AdminError>) -> Option<ErrorCode> {
    answer.err().and_then(|error| error.code())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_aggregator_reaches_its_own_organisation_only() {
    let keyed = Keyed::new().await;
    let storage = keyed.deployment.storage().await;
    let other = OrganisationId::from_random_bytes(random_bytes());
    let other = storage.ensure_organisation("other", other, now()).await.unwrap();
    storage.close().await;
    let foreign = keyed.admin(other, Role::Aggregator).await;
    let viewer = keyed.admin(keyed.deployment.task.organisation, Role::Viewer).await;
    let (id, update) = (keyed.members[0].id(), keyed.update());
    for (admin, expected) in
        [(&foreign, ErrorCode::AssignmentUnknown), (&viewer, ErrorCode::RoleInsufficient)]
    {
        assert_eq!(code(admin.held_assignment(id).await), Some(expected));
        assert_eq!(code(admin.accept_held_update(&update).await), Some(expected));
        let refused = RefusedUpdateRequest { head: update.head.clone(), code: ErrorCode::RoundClosed };
        assert_eq!(code(admin.refuse_held_update(&refused).await), Some(expected));
    }
    assert_eq!(code(foreign.held_task(keyed.deployment.task.id).await), Some(ErrorCode::TaskUnknown));
    let tasks = keyed.own().await.tasks(Page { limit: 1, before: None }).await;
    assert_eq!(code(tasks), Some(ErrorCode::RoleInsufficient));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_and_sums_that_no_update_has_are_refused() {
    let keyed = Keyed::new().await;
    let (own, update) = (keyed.own().await, keyed.update());
    for wrong in [
        HeldUpdateRequest { weight: 0, ..update.clone() },
        HeldUpdateRequest { weight: 1 << 40, ..update.clone() },
        HeldUpdateRequest { head: keyed.head(&keyed.members[0], 7), ..update.clone() },
        // Another client has signed it, or nobody.
        HeldUpdateRequest { head: keyed.head(&keyed.members[1], 1_000), ..update.clone() },
        HeldUpdateRequest {
            head: AdmissionRequest { headers: Default::default(), ..update.head.clone() },
            ..update.clone()
        },
        HeldUpdateRequest { codec: "eden:4".into(), ..update.clone() },
        HeldUpdateRequest { norm_square: -1.0, ..update.clone() },
    ] {
        assert!(own.accept_held_update(&wrong).await.is_err(), "{wrong:?}");
    }
    let head = AdmissionRequest {
        assignment_id: keyed.members[0].id(),
        method: "POST".into(),
        path: "/v1/check-in".into(),
        headers: Default::default(),
    };
    assert_eq!(code(own.admit(&head).await), Some(ErrorCode::MalformedRequest), "it is no upload");
    let unasked = RoundId::from_random_bytes(random_bytes());
    assert_eq!(code(own.send_partial_sum(unasked, vec![1]).await), Some(ErrorCode::RoundClosed));

    own.accept_held_update(&update).await.unwrap();
    assert_accepted(&keyed.members[1].upload().await);
    let asked = AggregatorWorkRequest { rounds: Vec::new(), wait_seconds: 20 };
    let work = patiently("the question", own.aggregator_work(&asked)).await.unwrap();
    let [wanted] = &work.wanted[..] else { panic!("{work:?}") };
    let ids: Vec<_> = wanted.updates.iter().map(|one| one.assignment_id).collect();
    assert_eq!(ids, [keyed.members[0].id()]);
    let count = keyed.deployment.task.parameter_count();
    let sum = |values: Vec<i64>| PartialSum::Plain(values).encode();
    for wrong in [vec![], sum(vec![0; count - 1]), sum(vec![i64::MAX; count])] {
        assert!(own.send_partial_sum(wanted.round_id, wrong).await.is_err());
    }
    own.send_partial_sum(wanted.round_id, sum(vec![0; count])).await.unwrap();
    await_version(&keyed.deployment, 1).await;
    keyed.deployment.assert_answers().await;
}
