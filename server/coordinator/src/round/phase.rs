use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// Where a round stands, with what exists only there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Phase {
    /// Clients are waited for.
    Selecting {
        /// Since when.
        since: Timestamp,
    },
    /// Clients were drawn; their updates are waited for.
    Reporting {
        /// Since when.
        since: Timestamp,
        /// How many were drawn.
        cohort: u64,
    },
    /// No update is taken any more; the accepted ones are being combined.
    Aggregating {
        /// Since when.
        since: Timestamp,
        /// How many were drawn.
        cohort: u64,
        /// How many updates are combined.
        accepted: u64,
    },
    /// The next model version is released.
    Committed {
        /// When.
        at: Timestamp,
        /// How many were drawn.
        cohort: u64,
        /// How many updates it combines.
        accepted: u64,
        /// The version that came of it.
        version: u64,
    },
    /// It came to nothing.
    Abandoned {
        /// When.
        at: Timestamp,
        /// Why.
        reason: AbandonReason,
    },
}

/// Why a round came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbandonReason {
    /// Not enough eligible clients checked in before the selection deadline.
    TooFewClients,
    /// Not enough updates were accepted before the reporting deadline.
    TooFewReports,
    /// The task was paused.
    TaskPaused,
    /// The task was cancelled.
    TaskCancelled,
}

impl Phase {
    /// Returns the phase's name, as the API, the database and the console show it.
    pub fn name(&self) -> &'static str {
        match self {
            Phase::Selecting { .. } => "selecting",
            Phase::Reporting { .. } => "reporting",
            Phase::Aggregating { .. } => "aggregating",
            Phase::Committed { .. } => "committed",
            Phase::Abandoned { .. } => "abandoned",
        }
    }

    /// Says whether the round is over.
    pub fn is_final(&self) -> bool {
        matches!(self, Phase::Committed { .. } | Phase::Abandoned { .. })
    }
}
