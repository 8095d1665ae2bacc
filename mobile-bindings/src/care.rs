use std::sync::Arc;

use folkmoot_client as client;

use crate::{CallbackError, FolkmootError, event::word};

/// The device's current conditions. Leave out values that are unknown. Device rules of plans see known values as
/// `device.charging`, `device.unmetered`, `device.idle`, `device.battery_percent` and `device.thermal`. None of them is
/// ever sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct DeviceConditions {
    /// Whether the battery is charging. Also true for a device without a battery.
    #[uniffi(default = None)]
    pub is_charging: Option<bool>,
    /// Whether the network connection is unmetered, so that traffic costs the user nothing.
    #[uniffi(default = None)]
    pub is_unmetered: Option<bool>,
    /// Whether nobody is using the device.
    #[uniffi(default = None)]
    pub is_idle: Option<bool>,
    /// The battery level in percent, 0 to 100.
    #[uniffi(default = None)]
    pub battery_percent: Option<u8>,
    /// The thermal state.
    #[uniffi(default = None)]
    pub thermal: Option<Thermal>,
}

/// The thermal state of a device, with the levels of Apple's `ProcessInfo.ThermalState`. On Android, `none` maps to
/// `NOMINAL`, `light` to `FAIR`, `moderate` and `severe` to `SERIOUS`, and higher levels to `CRITICAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Thermal {
    /// Within its thermal limits.
    Nominal,
    /// Slightly warm.
    Fair,
    /// Hot: the system throttles performance.
    Serious,
    /// So hot that all other work should stop.
    Critical,
}

/// The conditions under which a device trains. A requirement fails if its condition is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct DevicePolicy {
    /// Train only while the battery is charging.
    #[uniffi(default = false)]
    pub requires_charging: bool,
    /// Train only on an unmetered connection.
    #[uniffi(default = false)]
    pub requires_unmetered: bool,
    /// Train only while nobody is using the device.
    #[uniffi(default = false)]
    pub requires_idle: bool,
    /// Train only at this battery level or above, or while charging. In percent, 0 to 100. Default: 20.
    #[uniffi(default = None)]
    pub battery_percent_min: Option<u8>,
    /// Train only in this thermal state or a cooler one. Default: `FAIR`.
    #[uniffi(default = None)]
    pub thermal_max: Option<Thermal>,
    /// The number of seconds of pause after which the client gives up its assignment. Default: 30.
    #[uniffi(default = None)]
    pub give_up_after_seconds: Option<u32>,
}

/// Returns why a device with this policy does not train under these conditions: `charging`, `unmetered`, `idle`, `battery`
/// or `thermal`. Nothing if it may train. A running client also applies the plan's rules, the app's own pauses and the
/// training time of the day.
#[uniffi::export]
pub fn reason_to_pause(policy: DevicePolicy, conditions: DeviceConditions) -> Option<String> {
    let reason = client::DevicePolicy::from(policy).reason_to_pause(&conditions.into());
    reason.map(|reason| reason.to_string())
}

/// The protection of one client's update by noise, from the weakest level to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ProtectionLevel {
    /// Nobody adds noise.
    None,
    /// The coordinator promises to add noise to the sum of clipped updates. The client cannot check it.
    Central,
    /// The client adds a share of the noise and masks its update. The coordinator sees only the noised sum.
    Distributed,
    /// The client adds the noise itself, before anything leaves the device.
    Local,
}

/// Limits on traffic, training time and the cost of one assignment, and the smallest cohort and weakest protection that
/// the client accepts. Days are UTC days. The first four fields are unlimited if left out; the others have defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct Limits {
    /// The maximum number of bytes per day, sent and received, in the bodies of requests and responses. An assignment
    /// that would exceed it is declined.
    #[uniffi(default = None)]
    pub bytes_per_day: Option<u64>,
    /// The maximum number of bytes per second in each direction, at least 32,768.
    #[uniffi(default = None)]
    pub bytes_per_second: Option<u64>,
    /// The maximum number of seconds of training per day.
    #[uniffi(default = None)]
    pub training_seconds_per_day: Option<u64>,
    /// The maximum number of seconds of training per day while the device is not known to be charging.
    #[uniffi(default = None)]
    pub battery_seconds_per_day: Option<u64>,
    /// The maximum memory of a training or an evaluation, in bytes. Default: 2 GiB.
    #[uniffi(default = None)]
    pub memory_bytes_max: Option<u64>,
    /// The maximum size of model and weights for one assignment, in bytes. A larger model is declined before it is
    /// fetched. Default: 1 GiB.
    #[uniffi(default = None)]
    pub model_bytes_max: Option<u64>,
    /// The maximum number of seconds of training in one assignment. When the time is up, the client sends what it has.
    /// Default: 3,600.
    #[uniffi(default = None)]
    pub training_seconds_max: Option<u64>,
    /// The maximum number of parameters of a model. Default: 268,435,456.
    #[uniffi(default = None)]
    pub parameters_max: Option<u64>,
    /// The maximum number of operations in a model's graph. Default: 200,000.
    #[uniffi(default = None)]
    pub operations_max: Option<u64>,
    /// The minimum number of clients whose updates a released version must combine. The client compares it with the
    /// number that the coordinator states for the assignment, and declines an assignment without such a number.
    /// Default: 0, which accepts every assignment.
    #[uniffi(default = None)]
    pub cohort_min: Option<u64>,
    /// The weakest protection by noise that the client accepts for its update. Default: none is required.
    #[uniffi(default = None)]
    pub protection_min: Option<ProtectionLevel>,
}

/// A storage for the client's key other than a file, for example a phone's key store.
#[uniffi::export(with_foreign)]
pub trait SecretStorage: Send + Sync {
    /// Returns the secret, or nothing if none was saved.
    fn load(&self) -> Result<Option<Vec<u8>>, CallbackError>;

    /// Saves the secret, which has 32 bytes. It must be durable when this function returns.
    fn save(&self, secret: Vec<u8>) -> Result<(), CallbackError>;

    /// Deletes the secret, if there is one.
    fn delete(&self) -> Result<(), CallbackError>;
}

/// An entry of the transparency log, which never leaves the device.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct LogEntry {
    /// The time of the action, in milliseconds since 1970.
    pub at: u64,
    /// The action: `enrolled`, `asked`, `fetched`, `trained`, `evaluated`, `sent`, `reported`, `declined`, `gave_up`,
    /// `told_gave_up` or `consent`. For `declined`, the detail names the exceeded limit, which the coordinator does not
    /// learn.
    pub action: String,
    /// The task, if the action belongs to one.
    pub task_id: Option<String>,
    /// The round's number in its task.
    pub round_number: Option<u64>,
    /// The number of bytes sent. The entry for an update is written before it is sent, with the full size.
    pub bytes_sent: u64,
    /// The number of bytes received.
    pub bytes_received: u64,
    /// Details for people to read.
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
            ProtectionLevel::Distributed => Self::Distributed,
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

/// Adapts the app's storage to the client's trait.
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

/// Returns the log's entries, the oldest first.
pub(crate) fn entries(log: &client::TransparencyLog) -> Result<Vec<LogEntry>, FolkmootError> {
    Ok(log.entries()?.into_iter().map(Into::into).collect())
}
