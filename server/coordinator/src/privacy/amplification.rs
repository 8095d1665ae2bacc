use serde::{Deserialize, Serialize};

/// The privacy amplification that is claimed for the draw of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Amplification {
    /// No amplification: every participation is charged in full.
    #[default]
    None,
    /// Poisson sampling: each client is drawn for a version independently, with at most the probability
    /// selection.sampling_rate. This needs selection.kind = "poisson".
    ///
    /// Rounds do not interfere with the draw. Each round draws once, when scheduling.selection_deadline_seconds
    /// have passed and scheduling.minimum_cohort clients wait. It ends scheduling.reporting_deadline_seconds
    /// later. It makes a version from the updates that arrived, even if there are none. The numbers of drawn and
    /// reporting clients are not published.
    Poisson,
}
