use serde::{Deserialize, Serialize};

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
