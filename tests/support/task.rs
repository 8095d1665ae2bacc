//! A task that is created directly in the storage, before a coordinator runs.

use std::path::Path;

use bytes::Bytes;
use folkmoot_coordinator::task::{TaskDescription, TaskState};
use folkmoot_engine::{Examples, ImportLimits, Model, Travelling, onnx::build::mlp};
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{
    BlobDigest, Clusters, Codec, OrganisationId, PartPlace, Plan, PopulationName, TaskId, TensorSchema,
    TensorSpec, Timestamp, TrainingPlan, ValueGrid, Widths, Work, update::UpdateMetrics,
};
use folkmoot_rounds::{clock, credential::Credential, registry::evaluation_data};
use folkmoot_service::host::DEFAULT_ORGANISATION;
use folkmoot_storage::{
    ModelVersionRecord, PopulationRepository, SqlStorage, TaskRecord, TaskRepository, TokenRecord,
    TokenRepository, VersionMaking,
};
use rand::Rng;
use serde_json::{Value, json};

/// The model and the settings of a task.
#[derive(Clone, Debug)]
pub struct TaskSpec {
    /// The model.
    pub onnx: Vec<u8>,
    /// The table `plan` of the task's description.
    pub plan: Value,
    /// The table `scheduling` of the task's description, without the key `kind`.
    pub scheduling: Value,
    /// The server's learning rate.
    pub server_learning_rate: f64,
    /// The number of committed rounds after which the task is complete.
    pub rounds: u64,
    /// Further keys of the description.
    pub parts: Value,
    /// The components that the description names by their digests.
    pub components: Vec<&'static [u8]>,
    /// The coordinator's own examples, if it has any.
    pub examples: Option<Examples>,
}

impl TaskSpec {
    /// Returns a task with rounds without over-selection and a perceptron with these layer widths. Tests send updates
    /// with random values for it, without training.
    pub fn synthetic(widths: &[usize], report_goal: u64, rounds: u64) -> Self {
        Self {
            onnx: mlp(widths, 7),
            plan: json!({
                "loss": "mean_squared_error", "optimizer": { "sgd": { "learning_rate": 0.1 } },
                "epochs": 1, "batch_size": 1,
            }),
            scheduling: json!({
                "report_goal": report_goal, "over_selection_factor": 1.0,
                "selection_deadline_seconds": 600, "reporting_deadline_seconds": 600,
            }),
            server_learning_rate: 0.75,
            rounds,
            parts: json!({}),
            components: Vec::new(),
            examples: None,
        }
    }

    /// Sets a key of `scheduling`.
    #[must_use]
    pub fn with_scheduling(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.scheduling[field] = value.into();
        self
    }

    /// Sets a further key of the description.
    #[must_use]
    pub fn with_part(mut self, name: &str, part: Value) -> Self {
        self.parts[name] = part;
        self
    }

    /// Gives a part of the task to a component.
    #[must_use]
    pub fn with_component(mut self, part: &str, component: &'static [u8], settings: &str) -> Self {
        self.components.push(component);
        let digest = BlobDigest::of(component);
        self.with_part(part, json!({ "kind": "component", "component": digest, "settings": settings }))
    }

    fn description(&self, population: &PopulationName) -> TaskDescription {
        let mut scheduling = self.scheduling.clone();
        scheduling["kind"] = "synchronous".into();
        let mut description = json!({
            "name": "test",
            "population": population,
            "plan": self.plan,
            "scheduling": scheduling,
            // The tests' oracle implements this aggregator.
            "aggregator": { "kind": "weighted_mean" },
            "finalizer": { "kind": "fed_avg", "server_learning_rate": self.server_learning_rate },
            "stop": { "rounds": self.rounds },
        });
        for (name, part) in self.parts.as_object().into_iter().flatten() {
            description[name] = part.clone();
        }
        serde_json::from_value(description).expect("the description of a test is one")
    }
}

/// A task, and the facts about it that tests need.
#[derive(Clone, Debug)]
pub struct TestTask {
    /// The task's id.
    pub id: TaskId,
    /// The task's organisation.
    pub organisation: OrganisationId,
    /// The task's population.
    pub population: PopulationName,
    /// A token that enrols any number of clients.
    pub token: String,
    /// The tensors of an update.
    pub schema: TensorSchema,
    /// The grid on which updates are summed.
    pub grid: ValueGrid,
    /// The server's learning rate.
    pub server_learning_rate: f64,
    /// The weights of version 0, for the tensors in `schema`.
    pub initial_weights: Vec<f32>,
    /// The part of the plan that clients train.
    pub plan: TrainingPlan,
}

impl TestTask {
    /// Returns the number of the task's clusters or widths; 1 if it has neither.
    pub fn part_count(&self) -> usize {
        let widths = self.plan.widths.as_deref().map(Widths::number);
        self.plan.clusters.as_deref().map(Clusters::number).or(widths).unwrap_or(1)
    }

    /// Returns the place of a tensor among the task's parts.
    pub fn place(&self, tensor: &TensorSpec) -> PartPlace {
        if self.plan.clusters.is_some() { Clusters::place(&tensor.name) } else { Widths::place(&tensor.name) }
    }

    /// Returns whether the updates of a cluster or width have values at the places of `place`.
    pub fn trains(&self, part: usize, place: usize) -> bool {
        if self.plan.clusters.is_some() { part == place } else { part <= place }
    }

    /// Returns the number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.initial_weights.len()
    }

    /// Creates a population, its token and an active task in a data folder that no coordinator uses.
    ///
    /// # Panics
    /// If the folder cannot be used.
    pub async fn create(data: &Path, spec: &TaskSpec) -> Self {
        let storage = open_storage(data).await;
        let blobs = BlobStore::local(data.join("blobs")).expect("a test's folder can be written");
        let task = Self::store(&storage, &blobs, spec).await;
        storage.close().await;
        task
    }

    /// Creates a population, its token and an active task in a database and a blob store.
    ///
    /// # Panics
    /// If they cannot be used.
    pub async fn store(storage: &SqlStorage, blobs: &BlobStore, spec: &TaskSpec) -> Self {
        let now = now();
        let organisation = OrganisationId::from_random_bytes(random_bytes());
        let organisation = storage.ensure_organisation(DEFAULT_ORGANISATION, organisation, now).await;
        let organisation = organisation.expect("an organisation can be made");
        let population: PopulationName = "test".parse().expect("it is a slug");
        storage.ensure_population(organisation, &population, now).await.expect("a population can be made");
        let token = create_token(storage, organisation, &population, |_| {}).await;
        store_task(storage, blobs, spec, organisation, population, token).await
    }
}

/// Returns the schema of the values that travel, and these values in version 0.
fn start(model: &Model, description: &TaskDescription) -> (TensorSchema, Vec<f32>) {
    let travelling = Travelling::of(model, &description.plan).expect("a test's plan fits its model");
    let weights = travelling.starting(&model.initial_weights(), 1).expect("they are the model's");
    (travelling.schema(), weights)
}

async fn store_components(blobs: &BlobStore, components: &[&'static [u8]]) {
    for component in components {
        blobs.put(Bytes::from_static(component)).await.expect("a test's blobs can be stored");
    }
}

async fn store_task(
    storage: &SqlStorage,
    blobs: &BlobStore,
    spec: &TaskSpec,
    organisation: OrganisationId,
    population: PopulationName,
    token: String,
) -> TestTask {
    let put = async |bytes: Vec<u8>| {
        let length = bytes.len() as u64;
        (blobs.put(Bytes::from(bytes)).await.expect("a test's blobs can be stored"), length)
    };
    let model =
        Model::from_onnx(&spec.onnx, &ImportLimits::default()).expect("a test's model can be trained");
    store_components(blobs, &spec.components).await;
    let description = spec.description(&population);
    let model = model.for_plan(&description.plan).expect("a test's plan trains an output of its model");
    let (schema, initial_weights) = start(&model, &description);
    let (model, model_bytes) = put(spec.onnx.clone()).await;
    let (weights, weights_bytes) =
        put(initial_weights.iter().flat_map(|value| value.to_le_bytes()).collect()).await;
    let (grid, own) = (description.grid, description.plan.clone());
    let plan = Plan {
        model,
        schema: schema.clone(),
        work: Work::Training,
        device_rules: Vec::new(),
        training: description.client_training(),
        codec: Codec::None,
        protection: description.plan_protection(),
        grid,
        local_noise: None,
        fine_tuning: None,
        drift_correction: description.finalizer.drift_correction(),
        table_schema: None,
        image_schema: None,
    };
    let (plan, plan_bytes) = put(serde_json::to_vec(&plan).expect("a plan is plain data")).await;
    let id = TaskId::from_random_bytes(random_bytes());
    let record = TaskRecord {
        id,
        organisation_id: organisation,
        description,
        state: TaskState::ACTIVE,
        model,
        model_bytes,
        schema: schema.clone(),
        plan,
        plan_bytes,
        evaluation_plan: None,
        evaluation_data: store_examples(blobs, spec).await,
        served: 0,
        created_at: now(),
        revision: 0,
    };
    let version = ModelVersionRecord {
        task_id: id,
        number: 0,
        round_id: None,
        weights,
        weights_bytes,
        metrics: UpdateMetrics::default(),
        making: VersionMaking::default(),
        created_at: now(),
        dropped_at: None,
    };
    storage.create_task(&record, &version).await.expect("a task can be stored");
    let server_learning_rate = spec.server_learning_rate;
    TestTask {
        id,
        organisation,
        population,
        token,
        schema,
        grid,
        server_learning_rate,
        initial_weights,
        plan: own,
    }
}

/// Stores the coordinator's own examples, if it has any.
async fn store_examples(blobs: &BlobStore, spec: &TaskSpec) -> Option<BlobDigest> {
    let bytes = evaluation_data::write(spec.examples.as_ref()?).expect("a test's examples can be written");
    Some(blobs.put(bytes.into()).await.expect("a test's blobs can be stored"))
}

/// Creates an enrolment token and returns its text. `alter` may change the token's record.
///
/// # Panics
/// If the database cannot be used.
pub async fn create_token(
    storage: &SqlStorage,
    organisation: OrganisationId,
    population: &PopulationName,
    alter: impl FnOnce(&mut TokenRecord),
) -> String {
    let token = Credential::from_random_bytes(random_bytes(), random_bytes());
    let mut record = TokenRecord {
        secret_hash: token.secret_hash(),
        ..TokenRecord::unlimited(token.id.clone(), organisation, population.clone(), now())
    };
    alter(&mut record);
    storage.create_token(&record).await.expect("a token can be stored");
    token.to_string()
}

/// Opens the database of a data folder.
///
/// # Panics
/// If the database cannot be used.
pub async fn open_storage(data: &Path) -> SqlStorage {
    let url = format!("sqlite://{}?mode=rwc", data.join("folkmoot.db").display());
    SqlStorage::connect(&url, Default::default()).await.expect("a test's database can be opened")
}

/// Returns the current time.
pub fn now() -> Timestamp {
    (clock::system_clock())()
}

/// Returns random bytes for an id or a key. No test depends on their values.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    clock::system_chance().fill_bytes(&mut bytes);
    bytes
}
