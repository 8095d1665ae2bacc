//! Tests of the device endpoints at chosen moments: signed requests through the router, without a socket.

mod local;
mod strangers;
mod turns;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
};
use bytes::Bytes;
use ed25519_dalek::SigningKey;
use folkmoot_api::tasks::CreateTaskRequest;
use folkmoot_coordinator::tenancy::Quotas;
use folkmoot_engine::onnx::build::mlp;
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{
    ClientId, ErrorCode, OrganisationId, PROTOCOL_VERSION, Problem, TaskId, Timestamp, UpdateDigest, headers,
    messages::CheckInRequest,
    signing::{self, SignedParts},
};
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{
    coordinator::Coordinator,
    device::{self, Authenticator},
    drivers::drive_task,
    refusal::Refusal,
    registry,
};
use folkmoot_storage::{
    AssignmentRecord, AssignmentRepository, ClientRepository, EnrolOutcome, MemoryStorage,
    PopulationRepository, RoundRepository, SqlStorage, Storage, TokenRecord, TokenRepository,
};
use http_body_util::BodyExt;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;
use tower::ServiceExt;

use folkmoot_edge::HttpLimits;

use crate::http::{self, App};

const START: Timestamp = Timestamp(1_700_000_000_000);

/// A coordinator in memory, without drivers, and one enrolled device. The clock stands still unless a test moves it.
struct Edge {
    coordinator: Arc<Coordinator>,
    organisation: OrganisationId,
    router: Router,
    shared: Arc<folkmoot_edge::Edge>,
    clock: Arc<AtomicU64>,
    key: SigningKey,
    client: ClientId,
    requests: u64,
}

impl Edge {
    async fn new() -> Self {
        Self::over(MemoryStorage::new()).await
    }

    async fn over(storage: impl Into<Storage>) -> Self {
        let log = RoundLog::in_memory();
        let (blobs, chance) = (BlobStore::in_memory(), ChaCha20Rng::seed_from_u64(1));
        let coordinator = Arc::new(Coordinator::new(storage, blobs, log, chance));
        let storage = &coordinator.storage;
        let organisation = OrganisationId::from_random_bytes([1; 16]);
        let organisation = storage.ensure_organisation("default", organisation, START).await.unwrap();
        let population = "digits".parse().unwrap();
        storage.ensure_population(organisation, &population, START).await.unwrap();
        let token = TokenRecord::unlimited("token", organisation, population, START);
        storage.create_token(&token).await.unwrap();
        let (key, client) = (SigningKey::from_bytes(&[2; 32]), ClientId::from_random_bytes([3; 16]));
        let public_key = signing::encode_public_key(&key);
        let enrolled = storage.enrol("token", &public_key, client, START).await.unwrap();
        assert!(matches!(enrolled, EnrolOutcome::Enrolled(_)), "{enrolled:?}");

        let clock = Arc::new(AtomicU64::new(START.0));
        let shared = Arc::new(folkmoot_edge::Edge::new(&HttpLimits::default(), [1; 32]));
        let moment = clock.clone();
        let app = App {
            coordinator: coordinator.clone(),
            names: Arc::default(),
            authenticator: Arc::new(Authenticator::default()),
            clock: Arc::new(move || Timestamp(moment.load(Ordering::Relaxed))),
            limits: Arc::new(HttpLimits::default()),
            edge: shared.clone(),
            metrics: None,
            started_at: START,
            listeners: Arc::default(),
            renewals: Arc::default(),
            first_run: None,
            providers: Arc::default(),
            notifications: Arc::default(),
            drivers: Arc::default(),
            stage: tokio::sync::watch::channel(Default::default()).1,
        };
        Self { coordinator, organisation, router: http::router(app), shared, clock, key, client, requests: 0 }
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.clock.load(Ordering::Relaxed))
    }

    fn set_clock(&self, now: Timestamp) {
        self.clock.store(now.0, Ordering::Relaxed);
    }

    /// Opens a round for the device alone, and returns its assignment.
    async fn assign(&self) -> (TaskId, AssignmentRecord) {
        self.assign_to(described()).await
    }

    /// Like [`Edge::assign`], for a task with this description.
    async fn assign_to(&self, description: serde_json::Value) -> (TaskId, AssignmentRecord) {
        let task = self.open(description).await;
        (task, self.coordinator.storage.outstanding_assignment(self.client).await.unwrap().unwrap())
    }

    /// Creates a task while the device waits, and advances it as far as possible.
    async fn open(&self, description: serde_json::Value) -> TaskId {
        let task = self.create(description).await.unwrap();
        self.wait_for(task).await;
        task
    }

    /// Creates an active task, without advancing it.
    async fn create(&self, description: serde_json::Value) -> Result<TaskId, Refusal> {
        let (coordinator, now) = (&self.coordinator, self.now());
        let onnx = Bytes::from(mlp(&[4, 3], 1));
        let bytes_max = onnx.len();
        let model =
            registry::create_model(coordinator, self.organisation, onnx, bytes_max, now).await.unwrap();
        let request = CreateTaskRequest {
            description: serde_json::from_value(description).unwrap(),
            model: model.model,
            evaluation_data: None,
            warm_start: None,
            activate: true,
        };
        Ok(registry::create_task(coordinator, self.organisation, request, now).await?.id)
    }

    /// Lets the device wait, and advances a task as far as possible.
    async fn wait_for(&self, task: TaskId) {
        let (coordinator, now) = (&self.coordinator, self.now());
        let client = coordinator.storage.client(self.client).await.unwrap().unwrap();
        let offer = CheckInRequest {
            sdk_version: "1.0.0".into(),
            example_count: 10,
            attributes: [].into(),
            codecs: Vec::new(),
        };
        assert_eq!(device::check_in(coordinator, &client, &offer, 0, now).await.unwrap(), None);
        while drive_task(coordinator, task, now).await.unwrap() {}
    }

    /// Signs and sends a request with a fresh nonce, and returns the response's status and problem. `upload` is a
    /// complete update; without it the request has no body.
    async fn send(
        &mut self,
        method: &str,
        path: &str,
        upload: Option<&[u8]>,
    ) -> (StatusCode, Option<Problem>) {
        self.requests += 1;
        let nonce = format!("{:032x}", self.requests);
        let body = upload.unwrap_or_default();
        let parts = SignedParts {
            method,
            path,
            client: Some(self.client),
            protocol: PROTOCOL_VERSION,
            timestamp: self.now(),
            nonce: &nonce,
            content: UpdateDigest::of(body),
            upload: upload.map(|update| (0, update.len() as u64)),
            audience: Some("localhost"),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(headers::CLIENT, self.client.to_string())
            .header(headers::PROTOCOL, PROTOCOL_VERSION)
            .header(headers::AUDIENCE, "localhost")
            .header(headers::TIMESTAMP, parts.timestamp.0)
            .header(headers::NONCE, &nonce)
            .header(headers::CONTENT_DIGEST, parts.content.to_string())
            .header(headers::SIGNATURE, signing::sign(&self.key, &parts));
        if let Some((offset, length)) = parts.upload {
            request = request
                .header("content-type", "application/octet-stream")
                .header(headers::UPLOAD_OFFSET, offset)
                .header(headers::UPLOAD_LENGTH, length);
        }
        let request = request.body(Body::from(body.to_vec())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).ok())
    }
}

/// A task that needs only one device.
fn described() -> serde_json::Value {
    json!({
        "name": "digits",
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 1, "over_selection_factor": 1.0 },
        "stop": { "rounds": 30 },
    })
}

fn code(problem: Option<Problem>) -> Option<ErrorCode> {
    problem.and_then(|problem| problem.code.known())
}

/// No driver runs here, so the round stays open after the deadline, and only the deadline itself causes the refusal.
#[tokio::test]
async fn an_upload_after_the_deadline_is_refused_while_the_round_is_open() {
    let mut edge = Edge::new().await;
    let (task, assignment) = edge.assign().await;
    let path = format!("/v1/assignments/{}/update", assignment.id);
    edge.set_clock(Timestamp(assignment.deadline.0 - 1));
    let (status, _) = edge.send("GET", &path, None).await;
    assert_eq!(status, StatusCode::OK, "a millisecond is left");

    edge.set_clock(assignment.deadline);
    for (method, upload) in [("GET", None), ("PUT", Some(&b"an update"[..]))] {
        let (_, problem) = edge.send(method, &path, upload).await;
        assert_eq!(code(problem), Some(ErrorCode::AssignmentExpired), "{method}");
    }
    let open = edge.coordinator.storage.unfinished_round(task).await.unwrap();
    assert_eq!(open.map(|record| record.round.phase.name()), Some("reporting"));
    let kept = edge.coordinator.storage.assignment(assignment.id).await.unwrap();
    assert_eq!(kept, Some(assignment));
}

#[tokio::test]
async fn a_device_that_asks_too_often_is_told_to_wait() {
    let mut edge = Edge::new().await;
    let path = format!("/v1/assignments/{}/update", edge.client);
    let mut answers = Vec::new();
    // Far more requests than a burst allows, all at the same time.
    for _ in 0..300 {
        answers.push(edge.send("GET", &path, None).await);
    }
    let let_in = answers.iter().take_while(|(status, _)| *status == StatusCode::NOT_FOUND).count();
    assert!((1..300).contains(&let_in), "{let_in}");
    for (status, problem) in answers.drain(let_in..) {
        let problem = problem.unwrap();
        assert_eq!(
            (status, problem.code.known()),
            (StatusCode::TOO_MANY_REQUESTS, Some(ErrorCode::RateLimited))
        );
        assert_eq!(problem.retry_after_milliseconds, Some(1_000));
    }
    // After the requested wait, the device is accepted again.
    edge.set_clock(edge.now().plus_seconds(1));
    let (status, _) = edge.send("GET", &path, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

/// Then a flood does not cost a signature check and a query for each request.
#[tokio::test]
async fn whoever_is_over_its_organisations_rate_is_refused_before_its_signature_is_checked() {
    let database = SqlStorage::connect("sqlite::memory:", Default::default()).await.unwrap();
    let mut edge = Edge::over(database.clone()).await;
    let quotas = Quotas { requests_per_second_max: Some(1), ..Quotas::default() };
    database.set_quotas(edge.organisation, &quotas).await.unwrap();
    edge.coordinator.tenants.settle(&database.into(), START).await.unwrap();
    let path = format!("/v1/assignments/{}/update", edge.client);
    while edge.send("GET", &path, None).await.0 == StatusCode::NOT_FOUND {}
    let owned = std::mem::replace(&mut edge.key, SigningKey::from_bytes(&[9; 32]));
    let (_, problem) = edge.send("GET", &path, None).await;
    assert_eq!(code(problem), Some(ErrorCode::RateLimited), "with another key's signature");
    edge.set_clock(START.plus_seconds(1));
    let (_, problem) = edge.send("GET", &path, None).await;
    assert_eq!(code(problem), Some(ErrorCode::SignatureInvalid), "which takes nothing from the quota:");
    edge.key = owned;
    assert_eq!(edge.send("GET", &path, None).await.0, StatusCode::NOT_FOUND);
}
