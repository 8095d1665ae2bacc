mod checks;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use folkmoot_engine::Examples;
use folkmoot_protocol::{ChannelName, Plan, messages::Assignment};
use folkmoot_work::{Ask, Care, Consent, DayTime, EndorsementKeys};
use tokio::sync::Semaphore;

use super::{Client, ClientError, ClientEvent, OnEvent};
use crate::{
    Budget, ClientCertificate, ClientKey, Device, DeviceCare, DevicePolicy, Devices, ExampleSource, Host,
    HttpSettings, LocalTrainer, ModelStore, SecretStorage, TrafficLimits, TransparencyLog, Transport,
    build_http,
    care::TimeFiles,
    device::DeviceStore,
    endorsements::Endorsements,
    parse_coordinator,
    storage::{BlobCache, DayFile, StateStore, WorkStore},
    traffic::Traffic,
};

/// The default size limit of the blob cache: 1 GiB.
const BLOB_CACHE_BYTES_MAX: u64 = 1 << 30;
const WAIT_SECONDS: u32 = 30;

/// Configures and builds a [`Client`].
pub struct ClientBuilder {
    coordinator: String,
    settings: HttpSettings,
    http: Option<reqwest::Client>,
    token: Option<String>,
    state_directory: Option<PathBuf>,
    examples: Option<Arc<dyn ExampleSource>>,
    trainer: Option<Arc<dyn LocalTrainer>>,
    attributes: BTreeMap<String, String>,
    private_attributes: BTreeMap<String, String>,
    consent: Option<Ask>,
    endorsement_keys: Vec<String>,
    channel: ChannelName,
    wait_seconds: u32,
    blob_cache_bytes_max: u64,
    device: Device,
    budget: Budget,
    training_slots: Option<Arc<Semaphore>>,
    traffic_limits: TrafficLimits,
    secrets: Option<Arc<dyn SecretStorage>>,
    policy: DevicePolicy,
    training_seconds_per_day: Option<u64>,
    battery_seconds_per_day: Option<u64>,
    host: Option<Host>,
    on_event: OnEvent,
}

impl ClientBuilder {
    pub(super) fn new(coordinator: String) -> Self {
        Self {
            coordinator,
            settings: HttpSettings::default(),
            http: None,
            token: None,
            state_directory: None,
            examples: None,
            trainer: None,
            attributes: BTreeMap::new(),
            private_attributes: BTreeMap::new(),
            consent: None,
            endorsement_keys: Vec::new(),
            channel: ChannelName::default(),
            wait_seconds: WAIT_SECONDS,
            blob_cache_bytes_max: BLOB_CACHE_BYTES_MAX,
            device: Device::default(),
            budget: Budget::default(),
            training_slots: None,
            traffic_limits: TrafficLimits::default(),
            secrets: None,
            policy: DevicePolicy::default(),
            training_seconds_per_day: None,
            battery_seconds_per_day: None,
            host: None,
            on_event: Arc::new(|_| {}),
        }
    }

    /// Trusts only these certificates (PEM). By default, the client trusts the system's certificates.
    pub fn certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.settings.certificate_pem = Some(pem.into());
        self
    }

    /// Presents this certificate to the coordinator: the certificate with its intermediates, and its private key (PEM). Only
    /// coordinators with `server.client_authority` ask for it. It is read when the client is built, so build the client
    /// again after you have renewed it.
    pub fn client_certificate(mut self, chain_pem: impl Into<Vec<u8>>, key_pem: impl Into<Vec<u8>>) -> Self {
        let certificate = ClientCertificate { chain_pem: chain_pem.into(), key_pem: key_pem.into() };
        self.settings.client_certificate = Some(certificate);
        self
    }

    /// Accepts only a coordinator with one of these keys, given as pins (at most 8); see [`HttpSettings::pins`]. By default,
    /// every key with a trusted certificate is accepted.
    ///
    /// Pin two keys, and keep the second one in another place, so that you can replace the first.
    pub fn pins(mut self, pins: Vec<String>) -> Self {
        self.settings.pins = pins;
        self
    }

    /// Shares the connections of other clients in this process; see [`build_http`]. The shared client has its own
    /// trusted certificates, so [`ClientBuilder::certificate`] has no effect. [`ClientBuilder::client_certificate`] and
    /// [`ClientBuilder::pins`] are refused.
    pub fn http(mut self, http: reqwest::Client) -> Self {
        self.http = Some(http);
        self
    }

    /// Enrols with this token, unless the state directory already holds an enrolment with this coordinator.
    pub fn enrolment_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Keeps the key, session and blobs in this directory. Give each client a directory of its own.
    pub fn state_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.state_directory = Some(directory.into());
        self
    }

    /// Trains on these examples. They never leave the device.
    pub fn examples(self, examples: Examples) -> Self {
        self.example_source(Arc::new(examples))
    }

    /// Trains on the examples of this source, which can encode a table by the schema of each plan.
    pub fn example_source(mut self, source: Arc<dyn ExampleSource>) -> Self {
        self.examples = Some(source);
        self
    }

    /// Trains with this loop of the app's own instead of the engine. The loop then provides its own examples.
    ///
    /// Clipping, noise, codec and upload work as usual. Plans with example privacy are refused. If the process is
    /// killed, the loop starts over, because only the engine has checkpoints.
    pub fn trainer(mut self, trainer: Arc<dyn LocalTrainer>) -> Self {
        self.trainer = Some(trainer);
        self
    }

    /// Sets an attribute that the coordinator uses to decide eligibility.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// Sets an attribute that never leaves the device. The client evaluates the device rules of plans with it. It is
    /// never sent, logged or stored. If a rule does not hold, the client declines the assignment without giving a
    /// reason.
    pub fn private_attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.private_attributes.insert(name.into(), value.into());
        self
    }

    /// Sets several private attributes; see [`ClientBuilder::private_attribute`].
    pub fn private_attributes(mut self, attributes: BTreeMap<String, String>) -> Self {
        self.private_attributes.extend(attributes);
        self
    }

    /// Accepts an assignment only if this function returns `true`. By default, the client accepts every assignment
    /// whose device rules hold.
    ///
    /// The client calls the function after the plan has arrived and before it fetches the model and the weights. If the
    /// client restarts before the weights have arrived, it calls the function again. It does not call the function if
    /// the plan's device rules do not hold. The function runs on its own thread and should return at once. A long call
    /// would let the coordinator distinguish the app's refusal from a device rule that does not hold.
    pub fn ask_before(mut self, ask: impl Fn(&Assignment, &Plan) -> bool + Send + Sync + 'static) -> Self {
        self.consent = Some(Arc::new(ask));
        self
    }

    /// Accepts only tasks that the operator has endorsed with one of these Ed25519 public keys (base64, at most 8), for
    /// this coordinator. `folkmoot endorsement key` creates a key. By default, the client accepts every task.
    ///
    /// Pin two keys, and keep the private part of the second one in another place, so that you can replace the first.
    pub fn endorsement_keys(mut self, keys: Vec<String>) -> Self {
        self.endorsement_keys = keys;
        self
    }

    /// Sets how many seconds a check-in waits for an assignment, at most 60. Default: 30.
    pub fn wait_seconds(mut self, wait_seconds: u32) -> Self {
        self.wait_seconds = wait_seconds;
        self
    }

    /// Limits the blob cache to this many bytes. Default: 1 GiB.
    pub fn blob_cache_bytes_max(mut self, bytes: u64) -> Self {
        self.blob_cache_bytes_max = bytes;
        self
    }

    /// Selects the device to train on. Default: [`Device::Auto`]. If training is not possible on that device, the
    /// client logs a warning and uses the CPU.
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Limits the memory of a training or an evaluation to this many bytes, even if its plan asks for more. Default: 2
    /// GiB. An assignment that needs more is declined before the memory is allocated.
    pub fn memory_bytes_max(mut self, bytes: u64) -> Self {
        self.budget.memory_bytes_max = bytes;
        self
    }

    /// Declines assignments that exceed this budget. Default: [`Budget::default`]. This replaces the value set by
    /// [`ClientBuilder::memory_bytes_max`].
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Uses the models that the operator rolls out in this channel, for example `beta` for testers. The default is `stable`.
    pub fn channel(mut self, channel: ChannelName) -> Self {
        self.channel = channel;
        self
    }

    /// Trains only while holding one of these permits, which limits how many clients of a process train at the same
    /// time.
    pub fn training_slots(mut self, slots: Arc<Semaphore>) -> Self {
        self.training_slots = Some(slots);
        self
    }

    /// Limits the bytes sent and received. By default, there is no limit.
    pub fn traffic_limits(mut self, limits: TrafficLimits) -> Self {
        self.traffic_limits = limits;
        self
    }

    /// Keeps the client's key in this storage instead of a file in the state directory.
    pub fn secrets(mut self, secrets: Arc<dyn SecretStorage>) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// Trains only while the conditions reported through [`Client::care`] satisfy this policy.
    pub fn policy(mut self, policy: DevicePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Limits training to this many seconds a day (UTC). By default, there is no limit. When the time is used up, the
    /// client gives up its assignment and asks for the next one when the new day begins.
    pub fn training_seconds_per_day(mut self, seconds: u64) -> Self {
        self.training_seconds_per_day = Some(seconds);
        self
    }

    /// Limits training to this many seconds a day (UTC) while [`Client::care`] does not report that the device is
    /// charging. When the time is used up, training pauses until the device charges. If the pause is longer than the
    /// policy's `give_up_after_seconds`, the client gives up the assignment.
    pub fn battery_seconds_per_day(mut self, seconds: u64) -> Self {
        self.battery_seconds_per_day = Some(seconds);
        self
    }

    /// Uses this clock and random number generator instead of the system's.
    pub fn host(mut self, host: Host) -> Self {
        self.host = Some(host);
        self
    }

    /// Calls this function with every event. It runs on the client's task and must not block.
    pub fn on_event(mut self, on_event: impl Fn(ClientEvent) + Send + Sync + 'static) -> Self {
        self.on_event = Arc::new(on_event);
        self
    }

    /// Builds the client: opens and locks the state directory, and generates a key if there is none.
    ///
    /// # Errors
    /// [`ClientError`] if a setting is missing, exceeds its limit or cannot be used, if the state directory cannot be
    /// opened or another client uses it, or if the operating system provides no random bytes.
    pub fn build(self) -> Result<Client, ClientError> {
        self.check_limits()?;
        let directory = self.state_directory.ok_or_else(|| missing("a state directory"))?;
        let own = || self.trainer.is_some().then(|| Arc::new(Examples::none()) as Arc<dyn ExampleSource>);
        let missing_examples = || missing("examples, or a trainer with its own examples");
        let examples = self.examples.or_else(own).ok_or_else(missing_examples)?;
        let host = self.host.map_or_else(Host::system, Ok).map_err(ClientError::Randomness)?;
        let state = StateStore::open(&directory)?;
        let blobs = BlobCache::open(&state.subdirectory("blobs"), self.blob_cache_bytes_max)?;
        let work = WorkStore::open(&state.subdirectory("assignments"))?;
        let models = [state.newest_model_path(), state.rolled_out_model_path()];
        let models = ModelStore::open(models, blobs.clone(), work.clone(), host.clone())?;
        let coordinator = parse_coordinator(&self.coordinator)?;
        self.settings.check_address(&coordinator)?;
        let origin = coordinator.origin().ascii_serialization();
        let keys = EndorsementKeys::new(self.endorsement_keys, origin).map_err(ClientError::Builder)?;
        let endorsements = Endorsements::open(keys, state.endorsements_path())?;
        let store = DeviceStore::new(state.devices_path());
        let devices = Devices::with_store(self.device, host.clone(), store);
        let mut rng = host.fork_rng();
        let key = match &self.secrets {
            Some(secrets) => ClientKey::load_or_generate_in(secrets.as_ref(), &mut rng)?,
            None => ClientKey::load_or_generate(&state.key_path(), &mut rng)?,
        };
        let transparency_log = TransparencyLog::open(state.transparency_log_path(), host.clone())?;
        let http = self.http.map_or_else(|| build_http(&self.settings), Ok)?;
        let files = TimeFiles {
            time: DayFile::at(state.training_time_path()),
            battery_time: DayFile::at(state.battery_time_path()),
        };
        let time = self.training_seconds_per_day.map(|max| DayTime::load(max, &files.time.read()));
        let battery_time =
            self.battery_seconds_per_day.map(|max| DayTime::load(max, &files.battery_time.read()));
        let care = Care::new(self.policy, time, battery_time, host.now());
        let care = DeviceCare::new(care, files, host.clone());
        let traffic = Arc::new(Traffic::open(self.traffic_limits, host.clone(), state.traffic_path()));
        let transport =
            Transport::with_traffic(http, &self.coordinator, key, host.clone(), Arc::clone(&traffic))?;
        if let Some(enrolment) = state.load_enrolment(transport.coordinator())? {
            transport.set_client_id(enrolment.client_id);
        }
        Ok(Client {
            transport,
            token: self.token,
            state,
            blobs,
            models,
            channel: self.channel,
            work,
            examples,
            trainer: self.trainer,
            attributes: self.attributes,
            consent: Consent::new(self.private_attributes, self.consent),
            endorsements,
            care,
            transparency_log,
            secrets: self.secrets,
            wait_seconds: self.wait_seconds,
            devices,
            budget: self.budget,
            training_slots: self.training_slots,
            traffic,
            host,
            on_event: self.on_event,
        })
    }
}

fn missing(what: &str) -> ClientError {
    ClientError::Builder(format!("a client needs {what}"))
}
