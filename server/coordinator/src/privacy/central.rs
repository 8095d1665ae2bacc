use serde::{Deserialize, Serialize};

use super::{Clipping, Terms};
use crate::task::{Fault, TaskDescription};

/// Central differential privacy: clients clip, the coordinator checks the norm of every update, adds up integers, and adds
/// discrete Gaussian noise before anything is made of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CentralPrivacy {
    /// What the task may spend of every client: it ends before it would spend more. Above 0, at most 1000.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "examples" = [8.0])))]
    pub epsilon: f64,
    /// The probability mass for which epsilon need not hold: well below 1 / clients of the population.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "examples" = [1e-6])))]
    pub delta: f64,
    /// What all tasks of the population together may have spent of a client, at the same delta, when this task releases a
    /// version: it ends before it would pass that. Above 0, at most 1000; by default nothing but its own budget ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "examples" = [10.0])))]
    pub population_epsilon: Option<f64>,
    /// In how many versions of the task a client's updates may be, at least 1; selection keeps to it. By default
    /// stop.rounds: a client may be in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub participations_max: Option<u64>,
    /// How updates are clipped.
    #[serde(default)]
    pub clipping: Clipping,
    /// The noise's standard deviation over the clipping norm, 0.01 to 1e6. By default the smallest with which
    /// stop.rounds versions stay within epsilon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 1e6, "examples" = [1.0])))]
    pub noise_multiplier: Option<f64>,
    /// What is claimed of how clients are drawn.
    #[serde(default)]
    pub amplification: Amplification,
}

/// What is claimed of how clients are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Amplification {
    /// Nothing: every participation costs in full.
    #[default]
    None,
    /// That every client of the population waits whenever a round is drawn, and is drawn with selection.sampling_rate,
    /// independently of all others. The coordinator draws so; that the clients wait is the operator's word.
    Poisson,
}

/// More is no privacy.
const EPSILON_MAX: f64 = 1000.0;

impl CentralPrivacy {
    pub(crate) fn validate(&self, description: &TaskDescription, faults: &mut Vec<Fault>) {
        let before = faults.len();
        let mut check = |is_right: bool, field: &str, message: String, remedy: &str| {
            if !is_right {
                faults.push(Fault::new(&format!("privacy.{field}"), message, remedy));
            }
        };
        let epsilon_is_right = self.epsilon > 0.0 && self.epsilon <= EPSILON_MAX;
        let message = format!("it is {}", self.epsilon);
        check(epsilon_is_right, "epsilon", message, "it must be above 0 and at most 1000");
        let population = self.population_epsilon;
        let population_is_right = population.is_none_or(|epsilon| epsilon > 0.0 && epsilon <= EPSILON_MAX);
        let message = format!("it is {}", population.unwrap_or_default());
        check(population_is_right, "population_epsilon", message, "it must be above 0 and at most 1000");
        let delta_is_right = self.delta > 0.0 && self.delta < 1.0;
        let message = format!("it is {}", self.delta);
        check(delta_is_right, "delta", message, "give less than 1 / clients of the population: 1e-6");
        let rounds = self.participations_max.or(description.stop.rounds);
        let remedy = "say in how many versions a client's updates may be, or give stop.rounds";
        check(rounds.is_some(), "participations_max", "it is not bounded".into(), remedy);
        check(
            self.participations_max != Some(0),
            "participations_max",
            "it is 0".into(),
            "ask for at least 1",
        );
        let multiplier_is_right = self.noise_multiplier.is_none_or(|z| (0.01..=1e6).contains(&z));
        let message = format!("it is {}", self.noise_multiplier.unwrap_or_default());
        check(multiplier_is_right, "noise_multiplier", message, "it must be 0.01 to 1e6");
        let is_calibrated = self.noise_multiplier.is_none();
        let message = "without stop.rounds it cannot be derived".to_owned();
        let remedy = "give it, or give stop.rounds";
        check(!is_calibrated || description.stop.rounds.is_some(), "noise_multiplier", message, remedy);
        self.clipping.validate(f64::from(description.grid.value_max), faults);
        if faults.len() == before
            && let Err(fault) = Terms::of(self, description)
        {
            faults.push(*fault);
        }
    }
}
