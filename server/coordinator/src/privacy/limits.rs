use folkmoot_protocol::Fault;

use super::{PrivacyChoice, PrivacyContext};

/// The largest allowed epsilon. Larger values give no meaningful privacy.
pub const EPSILON_MAX: f64 = 1000.0;

/// A task's privacy limits per client, independent of the mechanism.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The largest epsilon that the task may spend on each client.
    pub epsilon: f64,
    /// The delta at which epsilon holds.
    pub delta: f64,
    /// The maximum number of participations of a client, if given.
    pub participations_max: Option<u64>,
    /// The standard deviation of the noise divided by the clipping norm, if given.
    pub noise_multiplier: Option<f64>,
}

impl PrivacyChoice {
    /// Returns the limits, or `None` if the task promises no privacy.
    pub fn limits(&self) -> Option<Limits> {
        let limits = match self {
            Self::None => return None,
            Self::Central(central) => Limits {
                epsilon: central.epsilon,
                delta: central.delta,
                participations_max: central.participations_max,
                noise_multiplier: central.noise_multiplier,
            },
            Self::Local(local) => Limits {
                epsilon: local.epsilon,
                delta: local.delta,
                participations_max: local.participations_max,
                noise_multiplier: local.noise_multiplier,
            },
            Self::Distributed(distributed) => Limits {
                epsilon: distributed.epsilon,
                delta: distributed.delta,
                participations_max: distributed.participations_max,
                noise_multiplier: distributed.noise_multiplier,
            },
        };
        Some(limits)
    }
}

impl Limits {
    pub(super) fn validate(&self, context: &PrivacyContext<'_>, faults: &mut Vec<Fault>) {
        let mut check = |is_right: bool, field: &str, message: String, remedy: &str| {
            if !is_right {
                faults.push(Fault::new(&format!("privacy.{field}"), message, remedy));
            }
        };
        let epsilon_is_right = self.epsilon > 0.0 && self.epsilon <= EPSILON_MAX;
        let message = format!("it is {}", self.epsilon);
        check(epsilon_is_right, "epsilon", message, "it must be above 0 and at most 1000");
        let delta_is_right = self.delta > 0.0 && self.delta < 1.0;
        let message = format!("it is {}", self.delta);
        check(
            delta_is_right,
            "delta",
            message,
            "it must be above 0 and below 1 / clients of the population, for example 1e-6",
        );
        let rounds = self.participations_max.or(context.rounds);
        let remedy = "set the number of versions that may contain a client's updates, or set stop.rounds";
        let message = "neither participations_max nor stop.rounds is set".into();
        check(rounds.is_some(), "participations_max", message, remedy);
        let is_some = self.participations_max != Some(0);
        check(is_some, "participations_max", "it is 0".into(), "it must be at least 1");
        let multiplier_is_right = self.noise_multiplier.is_none_or(|z| (0.01..=1e6).contains(&z));
        let message = format!("it is {}", self.noise_multiplier.unwrap_or_default());
        check(multiplier_is_right, "noise_multiplier", message, "it must be 0.01 to 1e6");
    }
}
