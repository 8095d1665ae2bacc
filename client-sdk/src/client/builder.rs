use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use folkmoot_engine::Examples;
use folkmoot_protocol::{
    Plan,
    limits::{ATTRIBUTE_BYTES_MAX, ATTRIBUTES_MAX, LONG_POLL_SECONDS_MAX},
    messages::Assignment,
};
use tokio::sync::Semaphore;

use super::{Client, ClientError, ClientEvent, OnEvent};
use crate::{
    Budget, ClientKey, Consent, Device, DeviceCare, DevicePolicy, Devices, Host, HttpSettings, LocalTrainer,
    ModelStore, SecretStorage, TransparencyLog, Transport, build_http,
    care::DayTime,
    consent::Ask,
    day_count::DayCount,
    device::DeviceStore,
    storage::{BlobCache, StateStore, WorkStore},
    traffic::{BYTES_PER_SECOND_MIN, Traffic, TrafficLimits},
};

/// Blobs that a client keeps unless told otherwise: 1 GiB.
const BLOB_CACHE_BYTES_MAX: u64 = 1 << 30;
const WAIT_SECONDS: u32 = 30;
/// Training time after which the day's is stored.
const SAVED_EVERY_MILLISECONDS: u64 = 5000;

/// Describes a client.
pub struct ClientBuilder {
    coordinator: String,
    settings: HttpSettings,
    http: Option<reqwest::Client>,
    token: Option<String>,
    state_directory: Option<PathBuf>,
    examples: Option<Examples>,
    trainer: Option<Arc<dyn LocalTrainer>>,
    attributes: BTreeMap<String, String>,
    private_attributes: BTreeMap<String, String>,
    consent: Option<Ask>,
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

    /// Trusts these certificates (PEM) and no others; without this call the system's are trusted.
    pub fn certificate_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.settings.certificate_pem = Some(pem.into());
        self
    }

    /// Shares the connections of other clients in this process; see [`build_http`]. It brings its own trust, so
    /// [`ClientBuilder::certificate_pem`] has no effect.
    pub fn http(mut self, http: reqwest::Client) -> Self {
        self.http = Some(http);
        self
    }

    /// Enrols with this token, if the state directory holds no enrolment at this coordinator.
    pub fn enrolment_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Keeps key, session and blobs here. Each client has a directory of its own.
    pub fn state_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.state_directory = Some(directory.into());
        self
    }

    /// Trains on these examples. They never leave the device.
    pub fn examples(mut self, examples: Examples) -> Self {
        self.examples = Some(examples);
        self
    }

    /// Trains in this loop of the app's own instead of the engine; examples are then its own affair.
    ///
    /// Clipping, noise, codec and upload stay as they are. A plan with example privacy is refused, and a loop that is
    /// killed begins again: only the engine has checkpoints.
    pub fn trainer(mut self, trainer: Arc<dyn LocalTrainer>) -> Self {
        self.trainer = Some(trainer);
        self
    }

    /// States an attribute, for eligibility.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// Tells the client what it must keep to itself: the device rules of plans are evaluated with it, here. It is never
    /// sent, logged or stored, and an assignment whose rules do not hold is declined without a word.
    pub fn private_attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.private_attributes.insert(name.into(), value.into());
        self
    }

    /// As [`ClientBuilder::private_attribute`], for several.
    pub fn private_attributes(mut self, attributes: BTreeMap<String, String>) -> Self {
        self.private_attributes.extend(attributes);
        self
    }

    /// Takes only the assignments for which this function says `true`; without this call, all whose rules hold.
    ///
    /// It is asked when the plan has come and before model and weights are fetched, again after a restart in between,
    /// and not if the plan's device rules do not hold. It runs on a thread of its own and is to answer at once: how long
    /// it takes is all by which the coordinator could tell its refusal from that of a rule.
    pub fn consent(mut self, ask: impl Fn(&Assignment, &Plan) -> bool + Send + Sync + 'static) -> Self {
        self.consent = Some(Arc::new(ask));
        self
    }

    /// Lets a check-in wait for an assignment that long, at most 60; 30 without this call.
    pub fn wait_seconds(mut self, wait_seconds: u32) -> Self {
        self.wait_seconds = wait_seconds;
        self
    }

    /// Keeps no more than these bytes of blobs; 1 GiB without this call.
    pub fn blob_cache_bytes_max(mut self, bytes: u64) -> Self {
        self.blob_cache_bytes_max = bytes;
        self
    }

    /// Trains there; where it is faster without this call. If it cannot train there it does so on the CPU, and logs a
    /// warning.
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Lets a training hold no more than these bytes, whatever its plan asks for; 2 GiB without this call. An assignment that
    /// needs more is declined before its memory is taken.
    pub fn memory_bytes_max(mut self, bytes: u64) -> Self {
        self.budget.memory_bytes_max = bytes;
        self
    }

    /// Takes no assignment that costs more than this or promises less; [`Budget::default`] without this call. It replaces
    /// what [`ClientBuilder::memory_bytes_max`] said before.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Trains only while it holds one of these permits: so many clients of a process train at the same time.
    pub fn training_slots(mut self, slots: Arc<Semaphore>) -> Self {
        self.training_slots = Some(slots);
        self
    }

    /// Sends and fetches no more than this; as much as rounds need without this call.
    pub fn traffic_limits(mut self, limits: TrafficLimits) -> Self {
        self.traffic_limits = limits;
        self
    }

    /// Keeps the client's key there instead of in a file of the state directory.
    pub fn secret_storage(mut self, secrets: Arc<dyn SecretStorage>) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// Trains only while this holds of what [`Client::care`] is told.
    pub fn device_policy(mut self, policy: DevicePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Trains no longer than this in a day (UTC); as long as rounds need without this call. When it is over, the
    /// assignment under way is given up, and the next one is asked for when the day is over.
    pub fn training_seconds_per_day(mut self, seconds: u64) -> Self {
        self.training_seconds_per_day = Some(seconds);
        self
    }

    /// Trains no longer than this in a day (UTC) while [`Client::care`] is not told that the device charges. When it is
    /// over, a charger lets it go on; the assignment under way waits for one as long as the policy says.
    pub fn battery_seconds_per_day(mut self, seconds: u64) -> Self {
        self.battery_seconds_per_day = Some(seconds);
        self
    }

    /// Uses this clock and randomness instead of the system's.
    pub fn host(mut self, host: Host) -> Self {
        self.host = Some(host);
        self
    }

    /// Tells this function what the client does. It is called on the client's task and must not block.
    pub fn on_event(mut self, on_event: impl Fn(ClientEvent) + Send + Sync + 'static) -> Self {
        self.on_event = Arc::new(on_event);
        self
    }

    /// Makes the client: opens and locks the state directory, and draws the key if there is none.
    ///
    /// # Errors
    /// [`ClientError`] if something is missing, passes a limit, or cannot be used.
    pub fn build(self) -> Result<Client, ClientError> {
        self.check_limits()?;
        let directory = self.state_directory.ok_or_else(|| missing("a state directory"))?;
        let examples = match (self.examples, &self.trainer) {
            (Some(examples), _) => examples,
            (None, Some(_)) => Examples::none(),
            (None, None) => return Err(missing("examples, or a trainer that has its own")),
        };
        let host = self.host.map_or_else(Host::system, Ok).map_err(ClientError::Randomness)?;
        let state = StateStore::open(&directory)?;
        let blobs = BlobCache::open(&state.subdirectory("blobs"), self.blob_cache_bytes_max)?;
        let models = ModelStore::open(state.newest_model_path(), blobs.clone(), host.clone())?;
        let work = WorkStore::open(&state.subdirectory("assignments"))?;
        let store = DeviceStore::new(state.devices_path());
        let devices = Devices::with_store(self.device, host.clone(), store);
        let mut rng = host.fork_rng();
        let key = match &self.secrets {
            Some(secrets) => ClientKey::load_or_generate_in(secrets.as_ref(), &mut rng)?,
            None => ClientKey::load_or_generate(&state.key_path(), &mut rng)?,
        };
        let transparency_log = TransparencyLog::open(state.transparency_log_path(), host.clone())?;
        let http = self.http.map_or_else(|| build_http(&self.settings), Ok)?;
        let day_time = |seconds, path| {
            DayTime::new(seconds, DayCount::open(host.clone(), path, SAVED_EVERY_MILLISECONDS))
        };
        let time = self.training_seconds_per_day.map(|max| day_time(max, state.training_time_path()));
        let battery_time = self.battery_seconds_per_day.map(|max| day_time(max, state.battery_time_path()));
        let care = DeviceCare::new(self.policy, time, battery_time);
        let traffic = Arc::new(Traffic::open(self.traffic_limits, host.clone(), state.traffic_path()));
        let transport =
            Transport::with_traffic(http, &self.coordinator, key, host.clone(), Arc::clone(&traffic))?;
        Ok(Client {
            transport,
            token: self.token,
            state,
            blobs,
            models,
            work,
            examples,
            trainer: self.trainer,
            attributes: self.attributes,
            consent: Consent::new(self.private_attributes, self.consent),
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

    fn check_limits(&self) -> Result<(), ClientError> {
        let too_long = |text: &String| text.len() > ATTRIBUTE_BYTES_MAX;
        if self.attributes.len() > ATTRIBUTES_MAX {
            return Err(ClientError::Builder(format!("a client states at most {ATTRIBUTES_MAX} attributes")));
        }
        if let Some((name, _)) =
            self.attributes.iter().find(|(name, value)| too_long(name) || too_long(value))
        {
            let text = format!("attribute `{name}` has more than {ATTRIBUTE_BYTES_MAX} bytes");
            return Err(ClientError::Builder(text));
        }
        // Neither names nor values: an error may be logged.
        if self.private_attributes.len() > ATTRIBUTES_MAX {
            let text = format!("a client has at most {ATTRIBUTES_MAX} private attributes");
            return Err(ClientError::Builder(text));
        }
        if self.private_attributes.iter().any(|(name, value)| too_long(name) || too_long(value)) {
            let text =
                format!("the name or value of a private attribute has more than {ATTRIBUTE_BYTES_MAX} bytes");
            return Err(ClientError::Builder(text));
        }
        if self.traffic_limits.bytes_per_second.is_some_and(|rate| rate < BYTES_PER_SECOND_MIN) {
            let text = format!("bytes_per_second is below {BYTES_PER_SECOND_MIN}: give more, or none");
            return Err(ClientError::Builder(text));
        }
        self.budget.validate().map_err(ClientError::Builder)?;
        if self.policy.battery_percent_min > 100 {
            let text = "battery_percent_min is above 100".to_owned();
            return Err(ClientError::Builder(text));
        }
        if let Some(text) = lacking(&self.device, cfg!(feature = "gpu")) {
            return Err(ClientError::Builder(text));
        }
        if self.wait_seconds > LONG_POLL_SECONDS_MAX {
            let text = format!("a check-in waits at most {LONG_POLL_SECONDS_MAX} seconds");
            return Err(ClientError::Builder(text));
        }
        Ok(())
    }
}

fn missing(what: &str) -> ClientError {
    ClientError::Builder(format!("a client needs {what}"))
}

/// Says what a build without graphics adapters lacks for this choice of a device.
fn lacking(device: &Device, has_gpu: bool) -> Option<String> {
    match device {
        Device::Auto | Device::Cpu => None,
        Device::Gpu | Device::Named(_) if has_gpu => None,
        Device::Gpu | Device::Named(_) => Some(format!(
            "the device is `{device}`, but this library was built without the feature `gpu` (a slim build), so it trains on \
             the CPU only. Choose the device `auto` or `cpu`, or use the library that is not slim."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slim_build_refuses_a_gpu_and_says_what_to_do() {
        for device in [Device::Gpu, Device::Named("Adreno".into())] {
            let text = lacking(&device, false).unwrap();
            assert!(text.starts_with(&format!("the device is `{device}`")), "{text}");
            assert!(text.contains("slim") && text.contains("Choose the device `auto` or `cpu`"), "{text}");
            assert_eq!(lacking(&device, true), None);
        }
        assert_eq!([Device::Auto, Device::Cpu].map(|device| lacking(&device, false)), [None, None]);
    }

    #[cfg(not(feature = "gpu"))]
    #[test]
    fn a_client_is_not_built_for_a_gpu_that_is_not_there() {
        let builder = ClientBuilder::new("http://localhost".into()).device(Device::Gpu);
        assert!(matches!(builder.build(), Err(ClientError::Builder(_))));
    }
}
