use super::{PrivacyChoice, PrivacyContext};
use crate::fault::Fault;

/// More is no privacy.
pub const EPSILON_MAX: f64 = 1000.0;

/// What a task may spend of a client, whichever way its versions are made private.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// What the task may spend of every client.
    pub epsilon: f64,
    /// The delta of every epsilon.
    pub delta: f64,
    /// How often a client may take part.
    pub participations_max: Option<u64>,
    /// The noise's standard deviation over the clipping norm, where it was given.
    pub noise_multiplier: Option<f64>,
}

impl PrivacyChoice {
    /// Returns what the task may spend, if it promises anything.
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
        check(delta_is_right, "delta", message, "give less than 1 / clients of the population: 1e-6");
        let rounds = self.participations_max.or(context.rounds);
        let remedy = "say in how many versions a client's updates may be, or give stop.rounds";
        check(rounds.is_some(), "participations_max", "it is not bounded".into(), remedy);
        let is_some = self.participations_max != Some(0);
        check(is_some, "participations_max", "it is 0".into(), "ask for at least 1");
        let multiplier_is_right = self.noise_multiplier.is_none_or(|z| (0.01..=1e6).contains(&z));
        let message = format!("it is {}", self.noise_multiplier.unwrap_or_default());
        check(multiplier_is_right, "noise_multiplier", message, "it must be 0.01 to 1e6");
    }
}
