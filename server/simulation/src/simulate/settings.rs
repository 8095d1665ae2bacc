use serde::{Deserialize, Serialize};

use super::SimulateError;
use crate::{
    attack::Adversary, contributions::ContributionSettings, device::DeviceModel, partition::Partition,
    synthetic::Synthetic,
};

/// The settings of the world in which a task is simulated. They come from a TOML file beside the task file, and every
/// setting has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorldSettings {
    /// The number of virtual clients, 1 to 100,000.
    pub clients: usize,
    /// The seed of all randomness.
    pub seed: u64,
    /// The share of the examples that is held out. No client gets them; versions are measured on them.
    pub held_out_share: f64,
    /// Holds out that share of each client's examples instead, and measures versions on the clients. Use it for clients that
    /// differ. It is always on for tasks with personal tensors.
    pub held_out_of_clients: bool,
    /// The way in which the examples are divided among the clients.
    pub partition: Partition,
    /// The generated data set; `None` if the examples are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<Synthetic>,
    /// The model of the devices.
    pub devices: DeviceModel,
    /// The hostile clients and their attack; `None` if all clients are honest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adversary: Option<Adversary>,
    /// Injected faults.
    pub faults: Faults,
    /// Computes how much each client contributes to the versions; `None` to compute nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contributions: Option<ContributionSettings>,
    /// The number of virtual seconds over which the clients first check in.
    pub arrival_seconds: f64,
    /// The number of virtual hours after which the simulation ends, even if the task is not over.
    pub hours_max: f64,
}

/// Injected faults. All are off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// The probability that a request is lost on its way.
    pub request_loss: f64,
    /// The probability that an answer is lost, after the coordinator has handled the request.
    pub answer_loss: f64,
    /// The mean number of virtual seconds between crashes of the coordinator; 0 for no crashes.
    pub coordinator_crash_seconds: f64,
    /// The number of virtual seconds until a crashed coordinator starts again, at least 0.1.
    pub coordinator_restart_seconds: f64,
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self {
            clients: 100,
            seed: 1,
            held_out_share: 0.2,
            held_out_of_clients: false,
            partition: Partition::default(),
            synthetic: None,
            devices: DeviceModel::default(),
            adversary: None,
            faults: Faults::default(),
            contributions: None,
            arrival_seconds: 60.0,
            hours_max: 24.0 * 365.0,
        }
    }
}

impl WorldSettings {
    /// Validates every setting.
    ///
    /// # Errors
    /// If a setting is out of range; the error names the setting.
    pub fn validate(&self) -> Result<(), SimulateError> {
        self.devices.validate()?;
        if let Some(adversary) = &self.adversary {
            adversary.validate()?;
        }
        if let Some((field, value, allowed)) = self.contributions.and_then(|settings| settings.fault()) {
            return is_in(field, value, false, allowed);
        }
        let share = |field: &str, value: f64| is_in(field, value, (0.0..=1.0).contains(&value), "0 to 1");
        let positive =
            |field: &str, value: f64| is_in(field, value, value.is_finite() && value >= 0.0, "0 or more");
        let clients_max = crate::CLIENTS_MAX;
        let clients = (1..=clients_max).contains(&self.clients);
        is_in("clients", self.clients as f64, clients, "1 to 100000")?;
        is_in(
            "held_out_share",
            self.held_out_share,
            (0.0..1.0).contains(&self.held_out_share),
            "0 or more and below 1",
        )?;
        share("faults.request_loss", self.faults.request_loss)?;
        share("faults.answer_loss", self.faults.answer_loss)?;
        positive("faults.coordinator_crash_seconds", self.faults.coordinator_crash_seconds)?;
        positive("faults.coordinator_restart_seconds", self.faults.coordinator_restart_seconds)?;
        positive("arrival_seconds", self.arrival_seconds)?;
        is_in("hours_max", self.hours_max, self.hours_max.is_finite() && self.hours_max > 0.0, "above 0")
    }
}

fn is_in(field: &str, value: f64, is_right: bool, allowed: &str) -> Result<(), SimulateError> {
    if is_right {
        return Ok(());
    }
    Err(SimulateError::Data(format!("{field} is {value}; it must be {allowed}")))
}
