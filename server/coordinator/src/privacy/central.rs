use serde::{Deserialize, Serialize};

use super::{Clipping, SumNoise, Terms};
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
    /// In how many versions of the task a client's updates may be, at least 1; selection keeps to it. By default
    /// stop.rounds: a client may be in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub participations_max: Option<u64>,
    /// How updates are clipped.
    #[serde(default)]
    pub clipping: Clipping,
    /// How the noise of one version goes with that of the others.
    #[serde(default, skip_serializing_if = "SumNoise::is_default")]
    pub noise: SumNoise,
    /// The noise's standard deviation over the clipping norm, 0.01 to 1e6. With correlated noise it is over the sensitivity
    /// of all versions together. By default the smallest with which
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
    /// That a client is drawn for a version with at most the probability selection.sampling_rate, independently of all others.
    /// Needs selection.kind = "poisson". Rounds keep to the draw: each draws once, when scheduling.selection_deadline_seconds
    /// have passed and scheduling.minimum_cohort clients wait, ends scheduling.reporting_deadline_seconds later, and makes a
    /// version of what has arrived, be it nothing. Nobody is told how many were drawn or have reported.
    Poisson,
}

impl CentralPrivacy {
    pub(crate) fn validate(&self, description: &TaskDescription, faults: &mut Vec<Fault>) {
        let before = faults.len();
        if let Some(limits) = description.privacy.limits() {
            limits.validate(description, faults);
        }
        if self.noise_multiplier.is_none() && description.stop.rounds.is_none() {
            let message = "without stop.rounds it cannot be derived";
            let remedy = "give it, or give stop.rounds";
            faults.push(Fault::new("privacy.noise_multiplier", message, remedy));
        }
        self.clipping.validate(f64::from(description.grid.value_max), faults);
        self.noise.validate(self, description, faults);
        if faults.len() == before
            && let Err(fault) = Terms::of(description)
        {
            faults.push(*fault);
        }
    }
}
