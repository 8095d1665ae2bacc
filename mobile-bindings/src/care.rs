use std::sync::Arc;

use folkmoot_client as client;

use crate::{CallbackError, FolkmootError, event::word};

/// What holds of the device now. What is not known is left out; device rules of plans see the rest as `device.charging`,
/// `device.unmetered`, `device.idle`, `device.battery_percent` and `device.thermal`. Nothing of it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct DeviceConditions {
    /// Whether the battery is charging, or there is none.
    #[uniffi(default = None)]
    pub is_charging: Option<bool>,
    /// Whether bytes cost the user nothing.
    #[uniffi(default = None)]
    pub is_unmetered: Option<bool>,
    /// Whether nobody is using the device.
    #[uniffi(default = None)]
    pub is_idle: Option<bool>,
    /// The battery's charge, 0 to 100.
    #[uniffi(default = None)]
    pub battery_percent: Option<u8>,
    /// How hot it is.
    #[uniffi(default = None)]
    pub thermal: Option<Thermal>,
}

/// How hot a device is, in the steps of Apple's `ProcessInfo.ThermalState`. Android's `none` is `NOMINAL`, `light` is
/// `FAIR`, `moderate` and `severe` are `SERIOUS`, and what is above them is `CRITICAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Thermal {
    /// Within its limits.
    Nominal,
    /// A little warm.
    Fair,
    /// So hot that the system slows down.
    Serious,
    /// So hot that everything else is to stop.
    Critical,
}

/// What has to hold of a device while it trains. A requirement does not hold where what it is about is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct DevicePolicy {
    /// Only while the battery is charging.
    #[uniffi(default = false)]
    pub requires_charging: bool,
    /// Only while bytes cost nothing.
    #[uniffi(default = false)]
    pub requires_unmetered: bool,
    /// Only while nobody is using the device.
    #[uniffi(default = false)]
    pub requires_idle: bool,
    /// Only with this charge at least, 0 to 100, or while charging; 20 without this.
    #[uniffi(default = None)]
    pub battery_percent_min: Option<u8>,
    /// Only while it is not hotter; `FAIR` without this.
    #[uniffi(default = None)]
    pub thermal_max: Option<Thermal>,
    /// Seconds of a pause after which an assignment is given up; 30 without this.
    #[uniffi(default = None)]
    pub give_up_after_seconds: Option<u32>,
}

/// Where noise is added that hides what one client's update reveals, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ProtectionLevel {
    /// Nowhere.
    None,
    /// The coordinator promises to add noise to the sum of clipped updates. The client cannot check it.
    Central,
    /// The client adds the noise itself, before anything leaves the device.
    Local,
}

/// How much a client may use in a day (UTC), in a second and for one assignment, and what it declines. What is left out of the
/// first four is not limited; the others have a default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct Limits {
    /// Bytes of bodies in a day, both ways together. An assignment that would pass it is declined.
    #[uniffi(default = None)]
    pub bytes_per_day: Option<u64>,
    /// Bytes in a second, each way, at least 32,768.
    #[uniffi(default = None)]
    pub bytes_per_second: Option<u64>,
    /// Seconds of training in a day.
    #[uniffi(default = None)]
    pub training_seconds_per_day: Option<u64>,
    /// Of these, seconds while it is not told that the device charges.
    #[uniffi(default = None)]
    pub battery_seconds_per_day: Option<u64>,
    /// Bytes of memory that a training or an evaluation may hold; 2 GiB without this.
    #[uniffi(default = None)]
    pub memory_bytes_max: Option<u64>,
    /// Bytes of the model and its weights, which are declined before they are fetched; 1 GiB without this.
    #[uniffi(default = None)]
    pub model_bytes_max: Option<u64>,
    /// Seconds of training in one assignment; 3,600 without this. What was trained until then is sent.
    #[uniffi(default = None)]
    pub training_seconds_max: Option<u64>,
    /// Parameters of a model; 268,435,456 without this.
    #[uniffi(default = None)]
    pub parameters_max: Option<u64>,
    /// Operations of a model's graph; 200,000 without this.
    #[uniffi(default = None)]
    pub operations_max: Option<u64>,
    /// How many clients' updates a released version has to combine, by the coordinator's word; any number without this.
    #[uniffi(default = None)]
    pub cohort_min: Option<u64>,
    /// Where noise has to be added that hides this client's update; nowhere without this.
    #[uniffi(default = None)]
    pub protection_min: Option<ProtectionLevel>,
}

/// Where the client's key is kept, instead of a file: a phone's key store, say.
#[uniffi::export(with_foreign)]
pub trait SecretStorage: Send + Sync {
    /// Returns the secret, or nothing if none was saved.
    fn load(&self) -> Result<Option<Vec<u8>>, CallbackError>;

    /// Keeps these 32 bytes, durably when it returns.
    fn save(&self, secret: Vec<u8>) -> Result<(), CallbackError>;

    /// Deletes the secret, if there is one.
    fn delete(&self) -> Result<(), CallbackError>;
}

/// An entry of the transparency log. It never leaves the device.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct LogEntry {
    /// Milliseconds since 1970.
    pub at: u64,
    /// What was done: `enrolled`, `asked`, `fetched`, `trained`, `evaluated`, `sent`, `reported`, `declined`, `gave_up`,
    /// `told_gave_up` or `consent`. The detail of `declined` names the limit, which the coordinator is not told.
    pub action: String,
    /// For which task.
    pub task_id: Option<String>,
    /// In which round of it.
    pub round_number: Option<u64>,
    /// Bytes that left the device. An update is noted before it goes, with all that is to go.
    pub bytes_sent: u64,
    /// Bytes that came.
    pub bytes_received: u64,
    /// More for humans.
    pub detail: Option<String>,
}

impl From<DeviceConditions> for client::DeviceConditions {
    fn from(conditions: DeviceConditions) -> Self {
        let DeviceConditions { is_charging, is_unmetered, is_idle, battery_percent, thermal } = conditions;
        Self { is_charging, is_unmetered, is_idle, battery_percent, thermal: thermal.map(Into::into) }
    }
}

impl From<Thermal> for client::Thermal {
    fn from(thermal: Thermal) -> Self {
        match thermal {
            Thermal::Nominal => Self::Nominal,
            Thermal::Fair => Self::Fair,
            Thermal::Serious => Self::Serious,
            Thermal::Critical => Self::Critical,
        }
    }
}

impl From<DevicePolicy> for client::DevicePolicy {
    fn from(policy: DevicePolicy) -> Self {
        let default = Self::default();
        Self {
            requires_charging: policy.requires_charging,
            requires_unmetered: policy.requires_unmetered,
            requires_idle: policy.requires_idle,
            battery_percent_min: policy.battery_percent_min.unwrap_or(default.battery_percent_min),
            thermal_max: policy.thermal_max.map_or(default.thermal_max, Into::into),
            give_up_after_seconds: policy.give_up_after_seconds.unwrap_or(default.give_up_after_seconds),
        }
    }
}

impl From<ProtectionLevel> for client::protocol::messages::ProtectionLevel {
    fn from(level: ProtectionLevel) -> Self {
        match level {
            ProtectionLevel::None => Self::None,
            ProtectionLevel::Central => Self::Central,
            ProtectionLevel::Local => Self::Local,
        }
    }
}

impl Limits {
    pub(crate) fn budget(self) -> client::Budget {
        let default = client::Budget::default();
        client::Budget {
            memory_bytes_max: self.memory_bytes_max.unwrap_or(default.memory_bytes_max),
            model_bytes_max: self.model_bytes_max.unwrap_or(default.model_bytes_max),
            training_seconds_max: self.training_seconds_max.unwrap_or(default.training_seconds_max),
            parameters_max: self.parameters_max.unwrap_or(default.parameters_max),
            operations_max: self.operations_max.unwrap_or(default.operations_max),
            cohort_min: self.cohort_min.unwrap_or(default.cohort_min),
            protection_min: self.protection_min.map_or(default.protection_min, Into::into),
        }
    }
}

/// The app's storage as the client calls it.
pub(crate) struct ForeignSecrets(pub Arc<dyn SecretStorage>);

impl client::SecretStorage for ForeignSecrets {
    fn load(&self) -> Result<Option<Vec<u8>>, String> {
        self.0.load().map_err(|error| error.to_string())
    }

    fn save(&self, secret: &[u8]) -> Result<(), String> {
        self.0.save(secret.to_vec()).map_err(|error| error.to_string())
    }

    fn delete(&self) -> Result<(), String> {
        self.0.delete().map_err(|error| error.to_string())
    }
}

impl From<client::LogEntry> for LogEntry {
    fn from(entry: client::LogEntry) -> Self {
        let client::LogEntry { at, action, task_id, round_number, bytes_sent, bytes_received, detail } =
            entry;
        Self {
            at: at.0,
            action: word(&action),
            task_id: task_id.map(|id| id.to_string()),
            round_number,
            bytes_sent,
            bytes_received,
            detail,
        }
    }
}

/// The entries, the oldest first.
pub(crate) fn entries(log: &client::TransparencyLog) -> Result<Vec<LogEntry>, FolkmootError> {
    Ok(log.entries()?.into_iter().map(Into::into).collect())
}
