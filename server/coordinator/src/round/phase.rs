use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::abandon_reason::AbandonReason;

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
        /// When those still at work were asked for what they have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<Timestamp>,
    },
    /// Clients start and report all the time, until there is enough for a commit.
    Collecting {
        /// Since when.
        since: Timestamp,
    },
    /// No update is taken any more; the accepted ones are being combined.
    Aggregating {
        /// Since when.
        since: Timestamp,
        /// How many were drawn; in a flow, those that reported.
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
    /// The evaluation of the base version is done.
    Evaluated {
        /// When.
        at: Timestamp,
        /// How many were drawn.
        cohort: u64,
        /// How many reports it combines.
        accepted: u64,
    },
    /// It came to nothing.
    Abandoned {
        /// When.
        at: Timestamp,
        /// Why.
        reason: AbandonReason,
    },
}

impl Phase {
    /// Returns the phase's name, as the API, the database and the console show it.
    pub fn name(&self) -> &'static str {
        match self {
            Phase::Selecting { .. } => "selecting",
            Phase::Reporting { .. } => "reporting",
            Phase::Collecting { .. } => "collecting",
            Phase::Aggregating { .. } => "aggregating",
            Phase::Committed { .. } => "committed",
            Phase::Evaluated { .. } => "evaluated",
            Phase::Abandoned { .. } => "abandoned",
        }
    }

    /// Returns since when the round is in this phase.
    pub fn since(&self) -> Timestamp {
        match *self {
            Phase::Selecting { since }
            | Phase::Reporting { since, .. }
            | Phase::Collecting { since }
            | Phase::Aggregating { since, .. } => since,
            Phase::Committed { at, .. } | Phase::Evaluated { at, .. } | Phase::Abandoned { at, .. } => at,
        }
    }

    /// Returns when its clients were asked for what they have.
    pub fn asked(&self) -> Option<Timestamp> {
        match *self {
            Phase::Reporting { asked, .. } => asked,
            _ => None,
        }
    }

    /// Says whether the round is over.
    pub fn is_final(&self) -> bool {
        matches!(self, Phase::Committed { .. } | Phase::Evaluated { .. } | Phase::Abandoned { .. })
    }
}
