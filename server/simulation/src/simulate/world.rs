use std::{collections::HashMap, path::PathBuf, sync::Arc};

use bytes::Bytes;
use folkmoot_api::tasks::CreateTaskRequest;
use folkmoot_coordinator::task::{Evaluation, TaskDescription};
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{BlobDigest, ClientId, Loss, Metric, OrganisationId, TaskId, Timestamp};
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{components, coordinator::Coordinator, noise::Sabotage, registry};
use folkmoot_storage::{
    MemoryStorage, ModelVersionRepository, PopulationRepository, Storage, TaskRepository, TokenRecord,
    TokenRepository,
};
use rand::Rng;

use super::{
    Crowd, DataSource, Outcome, Progress, SimulateError, WorldSettings,
    client::VirtualClient,
    collusion::Collusion,
    events::{Event, Queue},
    kept::Kept,
    polls::Polls,
    pool::Pool,
    recorder::{OwnMetric, Recorder},
    replaced,
    training::{Lesson, VersionModels},
};
use crate::{
    chance::Stream,
    contributions::Contributing,
    device::{Device, Trace},
    functions::CallingProcess,
};

/// The coordinator's time at virtual time 0: midnight (UTC) of a day in 2023.
const BEGINNING: u64 = 1_699_920_000_000;

/// A simulation to run.
pub struct Simulation {
    /// The task. If it does not evaluate versions, the simulation evaluates them on the held-out examples.
    pub description: TaskDescription,
    /// The model that the task trains, as ONNX.
    pub onnx: Bytes,
    /// The settings of the world.
    pub settings: WorldSettings,
    /// The source of the examples.
    pub source: DataSource,
    /// The trace of the devices, if the settings name a trace file.
    pub trace: Option<Trace>,
    /// The number of threads that train, at least 1.
    pub threads: usize,
    /// A folder in which updates are saved; `None` to save none. If the same simulation is started again, it reads
    /// these updates instead of training them.
    pub kept: Option<PathBuf>,
    /// The number of versions between two evaluations, if the task does not set it.
    pub evaluate_every: u64,
    /// The fault to inject into the coordinator on purpose, to show that an audit finds it; `None` for no fault.
    pub sabotage: Option<Sabotage>,
    /// The process whose functions take the place of parts of the task; `None` for a task as it is described.
    pub functions: Option<Arc<CallingProcess>>,
}

/// The purposes of random streams.
pub(super) mod purpose {
    pub const CLIENT: u64 = 11;
    pub const COORDINATOR: u64 = 12;
    pub const FAULTS: u64 = 13;
    pub const IDS: u64 = 14;
    pub const ARRIVAL: u64 = 15;
}

/// A simulated world.
pub(super) struct World {
    pub settings: WorldSettings,
    pub sabotage: Option<Sabotage>,
    pub functions: Option<Arc<CallingProcess>>,
    pub now: u64,
    pub queue: Queue,
    pub coordinator: Option<Arc<Coordinator>>,
    pub storage: Storage,
    pub blobs: BlobStore,
    pub log: RoundLog,
    pub organisation: OrganisationId,
    pub description: TaskDescription,
    pub task: TaskId,
    pub token: String,
    pub crowd: Arc<Crowd>,
    pub clients: Vec<VirtualClient>,
    pub polls: Polls,
    pub lessons: HashMap<BlobDigest, Arc<Lesson>>,
    /// The models of recent versions. The key is the version's blob.
    pub versions: Vec<(BlobDigest, Arc<VersionModels>)>,
    pub pool: Pool,
    pub recorder: Recorder,
    /// The measurement of versions on the held-out examples of each client; `None` if there is no such measurement.
    pub own_metric: Option<OwnMetric>,
    /// The contributions of the clients so far; `None` if nobody asks for them.
    pub contributing: Option<Contributing>,
    pub chance: Stream,
    pub ids: Stream,
    /// The number of scheduled wakes of the drivers. Only the last one takes effect.
    pub wake: u64,
    pub wakes_at: u64,
    pub starts: u64,
    pub is_over: bool,
    pub totals: Totals,
}

/// The counts over the whole simulation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub events: u64,
    pub check_ins: u64,
    pub client_rounds: u64,
    pub crashes: u64,
}

/// Simulates a task to its end, with all of the coordinator's state in memory.
///
/// # Errors
/// If the task, the data or the settings are rejected, or the simulation fails.
pub async fn simulate(simulation: Simulation, progress: &mut dyn Progress) -> Result<Outcome, SimulateError> {
    Box::pin(simulate_on(simulation, MemoryStorage::new(), RoundLog::in_memory(), progress)).await
}

/// Simulates a task to its end, with the given storage and round log, both of which must be empty. The choice of
/// storage and round log affects only the running time.
///
/// # Errors
/// As for [`simulate`].
pub async fn simulate_on(
    simulation: Simulation,
    storage: impl Into<Storage>,
    log: RoundLog,
    progress: &mut dyn Progress,
) -> Result<Outcome, SimulateError> {
    simulation.settings.validate()?;
    let mut world = Box::pin(World::set_up(simulation, storage.into(), log)).await?;
    Box::pin(world.run(progress)).await?;
    if let Some(functions) = &world.functions {
        functions.end().map_err(SimulateError::Functions)?;
    }
    world.outcome().await
}

impl World {
    async fn set_up(simulation: Simulation, storage: Storage, log: RoundLog) -> Result<Self, SimulateError> {
        let Simulation { mut description, settings, source, trace, .. } = simulation;
        let (threads, kept, evaluate_every) =
            (simulation.threads, simulation.kept, simulation.evaluate_every);
        let kept = kept.map(|path| Kept::open(&path).map_err(|source| SimulateError::File { path, source }));
        let kept = kept.transpose()?;
        let crowd = Arc::new(Crowd::deal(&settings, source, description.plan.is_personal())?);
        // All virtual clients enrol with one token, so no limit on a token's share can apply.
        description.token_share_max = None;
        replaced::replace(simulation.functions.as_deref(), &mut description)?;
        let metric = held_out_metric(&description);
        let has_held_out = crowd.held_out.is_some();
        let contributing = settings
            .contributions
            .map(|asked| Contributing::begin(asked, &description, has_held_out, metric, threads));
        let contributing = contributing.transpose().map_err(SimulateError::Data)?;
        description = description.without_masks();
        let own_metric = (description.evaluation.is_none() && crowd.measures_itself())
            .then(|| OwnMetric::new(metric, evaluate_every));
        if description.evaluation.is_none() && crowd.held_out.is_some() {
            description.evaluation = Some(central_evaluation(metric, evaluate_every));
        }
        let policy = description.scheduling.policy();
        let seed = settings.seed;
        let device = |client: usize| match &trace {
            Some(trace) => Device::traced(&settings.devices, trace, client, seed),
            None => Device::of(&settings.devices, client, seed),
        };
        let client = |client: usize| {
            VirtualClient::new(device(client), Stream::new(seed, &[purpose::CLIENT, client as u64]))
        };
        let clients: Vec<VirtualClient> = (0..crowd.len()).map(client).collect();
        let mut ids = Stream::new(seed, &[purpose::IDS]);
        let organisation = OrganisationId::from_random_bytes(bytes(&mut ids));
        let organisation =
            storage.ensure_organisation("simulated", organisation, Timestamp(BEGINNING)).await?;
        let mut world = Self {
            sabotage: simulation.sabotage,
            functions: simulation.functions,
            recorder: Recorder::new(description.evaluation.as_ref()),
            own_metric,
            contributing,
            pool: Pool::start(crowd.clone(), Collusion::of(&crowd, policy), threads, kept),
            chance: Stream::new(seed, &[purpose::FAULTS]),
            now: 0,
            queue: Queue::default(),
            coordinator: None,
            storage,
            blobs: BlobStore::in_memory(),
            log,
            organisation,
            task: TaskId::from_random_bytes([0; 16]),
            token: String::new(),
            description,
            crowd,
            clients,
            polls: Polls::default(),
            lessons: HashMap::new(),
            versions: Vec::new(),
            ids,
            wake: 0,
            wakes_at: u64::MAX,
            starts: 0,
            is_over: false,
            totals: Totals::default(),
            settings,
        };
        world.start_coordinator().await?;
        world.create_task(simulation.onnx).await?;
        world.let_clients_come();
        world.plan_crash();
        Ok(world)
    }

    async fn create_task(&mut self, onnx: Bytes) -> Result<(), SimulateError> {
        let coordinator = self.running();
        let (organisation, now) = (self.organisation, self.server_now());
        let population = self.description.population.clone();
        self.storage.ensure_population(organisation, &population, now).await?;
        self.token = organisation.to_string();
        let token = TokenRecord::unlimited(self.token.clone(), organisation, population, now);
        self.storage.create_token(&token).await?;
        let model_bytes_max = onnx.len();
        let model = registry::create_model(&coordinator, organisation, onnx, model_bytes_max, now).await?;
        let evaluation_data = self.examples_of_the_coordinator().await?;
        let components = components::read_files(&mut self.description);
        for component in components.map_err(|error| SimulateError::Data(error.to_string()))? {
            registry::create_component(&coordinator, component).await?;
        }
        replaced::keep(self.functions.as_deref(), &self.blobs).await?;
        let request = CreateTaskRequest {
            description: self.description.clone(),
            model: model.model,
            evaluation_data,
            warm_start: None,
            activate: true,
        };
        let task = registry::create_task(&coordinator, organisation, request, now).await?;
        self.task = task.id;
        if let Some(functions) = &self.functions {
            functions.begin(&task.schema).map_err(SimulateError::Functions)?;
        }
        self.wake_drivers(0);
        Ok(())
    }

    fn let_clients_come(&mut self) {
        let mut rng = Stream::new(self.settings.seed, &[purpose::ARRIVAL]);
        for client in 0..self.clients.len() {
            let at = crate::chance::uniform(&mut rng) * self.settings.arrival_seconds * 1000.0;
            self.queue.push(at as u64, Event::ClientStarts { client });
        }
    }

    async fn run(&mut self, progress: &mut dyn Progress) -> Result<(), SimulateError> {
        let end = (self.settings.hours_max * 3_600_000.0) as u64;
        while !self.is_over && !progress.is_stopped() {
            let Some((at, event)) = self.queue.pop() else {
                let virtual_seconds = self.now as f64 / 1000.0;
                return Err(SimulateError::Stuck { virtual_seconds, detail: self.describe().await });
            };
            if at > end {
                break;
            }
            self.now = at;
            self.totals.events += 1;
            self.meet(event).await?;
            for row in self.recorder.finished() {
                progress.round(&row);
            }
            if self.totals.events.is_multiple_of(1024) {
                progress.time(self.now as f64 / 1000.0);
            }
        }
        for row in self.recorder.end() {
            progress.round(&row);
        }
        Ok(())
    }

    async fn meet(&mut self, event: Event) -> Result<(), SimulateError> {
        match event {
            Event::ClientStarts { client } => self.start_client(client).await,
            Event::ClientMeets { client, incarnation, event } => {
                match self.clients[client].incarnation == incarnation {
                    true => self.step_client(client, *event).await,
                    false => Ok(()),
                }
            }
            Event::AlarmRings { client, alarm } => self.ring(client, alarm).await,
            Event::UploadEnds { client, incarnation, upload } => {
                match self.clients[client].incarnation == incarnation {
                    true => self.end_upload(client, *upload).await,
                    false => Ok(()),
                }
            }
            Event::WaitEnds { poll } => self.wait_ends(poll).await,
            Event::DriversWake { wake } => match wake == self.wake {
                true => self.drive().await,
                false => Ok(()),
            },
            Event::CoordinatorCrashes => {
                self.crash();
                Ok(())
            }
            Event::CoordinatorStarts => self.start_coordinator().await,
        }
    }

    /// Returns the running coordinator.
    ///
    /// # Panics
    /// If the coordinator has crashed. The caller must check that it runs.
    pub fn running(&self) -> Arc<Coordinator> {
        self.coordinator.clone().expect("the caller has checked that the coordinator runs")
    }

    /// Returns the current time of the coordinator.
    pub fn server_now(&self) -> Timestamp {
        Timestamp(BEGINNING + self.now)
    }

    /// Returns the current time of the devices, which begins at 0.
    pub fn device_now(&self) -> Timestamp {
        Timestamp(self.now)
    }

    /// Schedules an event `milliseconds` from now.
    pub fn after(&mut self, milliseconds: u64, event: Event) {
        self.queue.push(self.now.saturating_add(milliseconds), event);
    }

    /// Draws the id of a client.
    pub fn client_id(&mut self) -> ClientId {
        ClientId::from_random_bytes(bytes(&mut self.ids))
    }

    async fn describe(&self) -> String {
        let trains = self.clients.iter().filter(|client| client.work.is_some()).count();
        format!("{trains} of {} clients have work, {} wait", self.clients.len(), self.polls.len())
    }

    async fn outcome(mut self) -> Result<Outcome, SimulateError> {
        let version = self.storage.latest_model_version(self.task).await?;
        let version = version.ok_or_else(|| SimulateError::Client("the task has no model version".into()))?;
        let task = self.storage.task_of_any_organisation(self.task).await?;
        let task = task.ok_or_else(|| SimulateError::Client("the task is not in the storage".into()))?;
        let lesson = self.lesson(task.plan, task.model).await?;
        let models = self.models_of(&lesson, version.weights).await?;
        let clusters = if models.models.len() > 1 { models.models.clone() } else { Vec::new() };
        Ok(Outcome {
            rounds: self.recorder.rows(),
            version: version.number,
            weights: models.models[models.largest].to_vec(),
            clusters,
            clients: self.clients.len(),
            contributions: self.contributing.take().map(Contributing::end),
            client_metrics: self.own_metric.take().map(|own| own.last).unwrap_or_default(),
            state: task.state,
            virtual_seconds: self.now as f64 / 1000.0,
            events: self.totals.events,
            check_ins: self.totals.check_ins,
            client_rounds: self.totals.client_rounds,
            crashes: self.totals.crashes,
        })
    }
}

/// Returns a central evaluation on the held-out examples.
fn central_evaluation(metric: Metric, every_versions: u64) -> Evaluation {
    Evaluation { every_versions, metric, federated: None, central: true, rollback_margin: None }
}

/// Returns the metric that a simulation measures. If the task does not evaluate versions, it is the accuracy of a
/// classification, and otherwise the loss.
pub fn held_out_metric(description: &TaskDescription) -> Metric {
    match (&description.evaluation, &description.plan.loss) {
        (Some(evaluation), _) => evaluation.metric,
        (None, loss) if loss.is_cross_entropy() => Metric::Accuracy,
        (None, Loss::BinaryCrossEntropy | Loss::Hinge) => Metric::Accuracy,
        (None, _) => Metric::Loss,
    }
}

/// Draws random bytes.
pub(super) fn bytes<const N: usize>(rng: &mut impl Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}
