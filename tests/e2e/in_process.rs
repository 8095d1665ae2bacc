//! A coordinator without sockets. The test advances the coordinator's clock and runs its drivers.

use std::sync::Arc;

use bytes::Bytes;
use folkmoot_api::tasks::CreateTaskRequest;
use folkmoot_engine::onnx::build::mlp;
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{
    AssignmentId, ClientId, ErrorCode, OrganisationId, TaskId, Timestamp, UpdateDigest,
    messages::{Assignment, CheckInRequest, UploadStatus},
    update::{UpdateHeader, UpdateMetrics},
};
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{
    coordinator::Coordinator,
    device::{self, Begun, Offered, UploadRequest},
    drivers::{DriveError, drive_task},
    ingest::Announced,
    refusal::Refusal,
    registry,
};
use folkmoot_storage::{
    ClientRecord, ClientRepository, EnrolOutcome, PopulationRepository, RoundRecord, RoundRepository,
    Storage, StorageError, TaskRecord, TaskRepository, TokenRecord, TokenRepository,
};
use folkmoot_update::encode_update;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::{Value, json};

const START: Timestamp = Timestamp(1_700_000_000_000);
/// The time, in seconds, from an assignment to its deadline.
pub const REPORTING_SECONDS: u64 = 60;
/// The maximum number of steps after which the drivers must be idle.
const STEPS_MAX: usize = 100;

/// A coordinator with one task and its clients.
pub struct InProcess {
    pub coordinator: Arc<Coordinator>,
    pub task: TaskId,
    clients: Vec<ClientRecord>,
    now: Timestamp,
}

/// A client that was selected for a round.
pub struct Drawn {
    pub client: ClientRecord,
    /// The client's assignment.
    pub assignment: Assignment,
}

impl InProcess {
    /// Creates a coordinator with `storage` and a task that trains a small model. The keys in `combination` are added
    /// to the task's description.
    pub async fn new(storage: impl Into<Storage>, clients: u8, combination: Value) -> Self {
        let (blobs, chance) = (BlobStore::in_memory(), ChaCha20Rng::seed_from_u64(1));
        let coordinator = Coordinator::new(storage, blobs, RoundLog::in_memory(), chance);
        let storage = &coordinator.storage;
        let organisation = OrganisationId::from_random_bytes([1; 16]);
        let organisation =
            storage.ensure_organisation("default", organisation, START).await.expect("the test made it so");
        let population = "digits".parse().expect("the test made it so");
        storage.ensure_population(organisation, &population, START).await.expect("the test made it so");
        let token = TokenRecord::unlimited("token", organisation, population, START);
        storage.create_token(&token).await.expect("the test made it so");
        let mut enrolled = Vec::new();
        for number in 1..=clients {
            enrolled.push(enrolled_by(storage, "token", number).await);
        }
        let onnx = Bytes::from(mlp(&[4, 3], 1));
        let bytes_max = onnx.len();
        let model = registry::create_model(&coordinator, organisation, onnx, bytes_max, START)
            .await
            .expect("the test made it so");
        let mut description = json!({
            "name": "digits", "population": "digits",
            "plan": {
                "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
                "epochs": 1, "batch_size": 16,
            },
            "stop": { "rounds": 30 },
        });
        let parts = combination.as_object().expect("a combination is a table").clone();
        description.as_object_mut().expect("it is one").extend(parts);
        let request = CreateTaskRequest {
            description: serde_json::from_value(description).expect("the test made it so"),
            model: model.model,
            evaluation_data: None,
            warm_start: None,
            activate: true,
        };
        let task = registry::create_task(&coordinator, organisation, request, START)
            .await
            .expect("the test made it so")
            .id;
        Self { coordinator: Arc::new(coordinator), task, clients: enrolled, now: START }
    }

    /// Enrols `clients` more clients with one additional token. Their numbers continue those of the existing clients.
    pub async fn enrol_by(&mut self, token_id: &str, clients: u8) {
        let storage = &self.coordinator.storage;
        let first = storage.token("token").await.expect("it was made").expect("it was made");
        storage
            .create_token(&TokenRecord { id: token_id.into(), uses: 0, ..first })
            .await
            .expect("it is new");
        for _ in 0..clients {
            let number = u8::try_from(self.clients.len() + 1).expect("there are few");
            self.clients.push(enrolled_by(storage, token_id, number).await);
        }
    }

    /// Returns the time of the test's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Advances the clock.
    pub fn pass(&mut self, seconds: u64) {
        self.now = self.now.plus_seconds(seconds);
    }

    /// Runs the drivers until they have nothing more to do.
    ///
    /// # Errors
    /// If a step fails.
    pub async fn drive(&self) -> Result<(), DriveError> {
        for _ in 0..STEPS_MAX {
            match Box::pin(drive_task(&self.coordinator, self.task, self.now)).await {
                Ok(true) | Err(DriveError::Storage(StorageError::RevisionConflict(_))) => {}
                Ok(false) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        panic!("the drivers are still busy after {STEPS_MAX} steps");
    }

    /// Runs one step of the drivers. Returns `false` if there was nothing to do.
    ///
    /// # Errors
    /// If the step fails.
    pub async fn step(&self) -> Result<bool, DriveError> {
        Box::pin(drive_task(&self.coordinator, self.task, self.now)).await
    }

    /// Lets all clients check in, runs the drivers, and returns the selected clients.
    pub async fn draw(&self) -> Vec<Drawn> {
        let offer = CheckInRequest {
            sdk_version: "1.0.0".into(),
            example_count: 10,
            attributes: [].into(),
            codecs: Vec::new(),
        };
        self.drive().await.expect("a round opens");
        for client in &self.clients {
            device::check_in(&self.coordinator, client, &offer, 60_000, self.now)
                .await
                .expect("the test made it so");
        }
        self.drive().await.expect("a cohort is drawn");
        let mut drawn = Vec::new();
        for client in &self.clients {
            let offered = Offered::of(&offer);
            let assignment = device::assignment_of(&self.coordinator, client, offered, self.now)
                .await
                .expect("the test made it so");
            drawn.extend(assignment.map(|assignment| Drawn { client: client.clone(), assignment }));
        }
        drawn
    }

    /// Returns the header of a selected client's valid update.
    pub async fn header(&self, drawn: &Drawn) -> UpdateHeader {
        let task = self.task().await;
        UpdateHeader {
            assignment_id: drawn.assignment.assignment_id,
            schema_digest: task.schema.digest(),
            base_version: drawn.assignment.base_version,
            weight: 10,
            metrics: UpdateMetrics { example_count: 10, loss_sum: 5.0, correct_count: 4, step_count: 1 },
            element_count: task.schema.parameter_count(),
            is_compressed: false,
        }
    }

    /// Uploads a complete update with this header.
    pub async fn upload(&self, drawn: &Drawn, header: &UpdateHeader) -> Result<UploadStatus, Refusal> {
        let values = vec![0.25; usize::try_from(header.element_count).expect("the model is small")];
        let bytes = encode_update(header, &values);
        let announced = Announced { digest: UpdateDigest::of(&bytes), length: bytes.len() as u64 };
        let assignment_id = drawn.assignment.assignment_id;
        let request = UploadRequest { assignment_id, announced, offset: 0 };
        let client = &drawn.client;
        match device::begin_upload(&self.coordinator, client, request, self.now).await? {
            Begun::Accepted(status) => Ok(status),
            Begun::Awaited(mut guard) => {
                let pushed = guard.as_mut().expect("it was begun").push(&bytes);
                match pushed {
                    Ok(()) => device::finish_upload(&self.coordinator, client, guard, self.now).await,
                    Err(refusal) => {
                        Err(device::refuse_upload(&self.coordinator, client, guard, refusal, self.now).await)
                    }
                }
            }
        }
    }

    pub async fn task(&self) -> TaskRecord {
        self.coordinator
            .storage
            .task_of_any_organisation(self.task)
            .await
            .expect("the test made it so")
            .expect("the test made it so")
    }

    /// Lists the rounds, oldest first.
    pub async fn rounds(&self) -> Vec<RoundRecord> {
        let mut rounds =
            self.coordinator.storage.rounds(self.task, 100, None).await.expect("the test made it so");
        rounds.reverse();
        rounds
    }

    /// Deletes the bytes of an accepted update from the round log, as a broken disk would.
    pub fn lose(&self, assignment: &Assignment) {
        let (round, id): (_, AssignmentId) = (assignment.round_id, assignment.assignment_id);
        self.coordinator.ingest.forget_assignment(round, id).expect("it is in memory");
    }
}

async fn enrolled_by(storage: &Storage, token_id: &str, number: u8) -> ClientRecord {
    let id = ClientId::from_random_bytes([number; 16]);
    let key = format!("key {number}");
    let outcome = storage.enrol(token_id, &key, id, START).await.expect("the test made it so");
    let EnrolOutcome::Enrolled(record) = outcome else { panic!("{outcome:?}") };
    record
}

/// Returns `true` if a refusal is an internal error of the coordinator.
pub fn is_internal(refusal: &Refusal) -> bool {
    refusal.code() == ErrorCode::Internal
}
