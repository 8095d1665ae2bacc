use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::abandon_reason::AbandonReason;

/// The phase of a round, with the data that exists only in that phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Phase {
    /// The round waits for clients.
    Selecting {
        /// When the phase began.
        since: Timestamp,
    },
    /// With secure aggregation: clients were drawn and train. Clients that have finished advertise their keys.
    AdvertisingKeys {
        /// When the phase began.
        since: Timestamp,
        /// The number of drawn clients.
        cohort: u64,
    },
    /// With secure aggregation: the clients that advertised keys share secrets with their neighbours.
    SharingKeys {
        /// When the phase began.
        since: Timestamp,
        /// The number of drawn clients.
        cohort: u64,
    },
    /// Clients were drawn, and the round waits for their updates.
    Reporting {
        /// When the phase began.
        since: Timestamp,
        /// The number of drawn clients.
        cohort: u64,
        /// When the clients that still train were asked to send their partial updates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<Timestamp>,
    },
    /// Clients start and report continuously, until there are enough updates for a commit.
    Collecting {
        /// When the phase began.
        since: Timestamp,
    },
    /// With secure aggregation: the round accepts no more updates. Its clients open the shares that remove the masks from
    /// the sum.
    Unmasking {
        /// When the phase began.
        since: Timestamp,
        /// The number of drawn clients.
        cohort: u64,
        /// The number of updates in the sum.
        accepted: u64,
    },
    /// The round accepts no more updates and combines the accepted ones.
    Aggregating {
        /// When the phase began.
        since: Timestamp,
        /// The number of drawn clients. In a flow, the number of clients that reported.
        cohort: u64,
        /// The number of updates to combine.
        accepted: u64,
    },
    /// The next model version was released.
    Committed {
        /// When it was released.
        at: Timestamp,
        /// The number of drawn clients. In a flow, the number of clients that reported.
        cohort: u64,
        /// The number of combined updates.
        accepted: u64,
        /// The released version.
        version: u64,
    },
    /// The base version was evaluated.
    Evaluated {
        /// When the evaluation ended.
        at: Timestamp,
        /// The number of drawn clients.
        cohort: u64,
        /// The number of combined reports.
        accepted: u64,
    },
    /// The round ended without a result.
    Abandoned {
        /// When it was abandoned.
        at: Timestamp,
        /// The reason why it was abandoned.
        reason: AbandonReason,
    },
}

/// The counts and the result of a round, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The number of drawn clients. In a flow, the number of clients that reported.
    pub cohort: Option<u64>,
    /// The number of combined updates or reports.
    pub accepted: Option<u64>,
    /// The released version.
    pub version: Option<u64>,
    /// The reason why the round was abandoned.
    pub reason: Option<AbandonReason>,
}

impl Phase {
    /// Returns the phase's name, as the API, the database and the console show it.
    pub fn name(&self) -> &'static str {
        match self {
            Phase::Selecting { .. } => "selecting",
            Phase::AdvertisingKeys { .. } => "advertising_keys",
            Phase::SharingKeys { .. } => "sharing_keys",
            Phase::Reporting { .. } => "reporting",
            Phase::Collecting { .. } => "collecting",
            Phase::Unmasking { .. } => "unmasking",
            Phase::Aggregating { .. } => "aggregating",
            Phase::Committed { .. } => "committed",
            Phase::Evaluated { .. } => "evaluated",
            Phase::Abandoned { .. } => "abandoned",
        }
    }

    /// Returns the counts and the result of the round, as far as they are known in this phase.
    pub fn outcome(&self) -> Outcome {
        match *self {
            Phase::Selecting { .. } | Phase::Collecting { .. } => Outcome::default(),
            Phase::AdvertisingKeys { cohort, .. }
            | Phase::SharingKeys { cohort, .. }
            | Phase::Reporting { cohort, .. } => Outcome { cohort: Some(cohort), ..Outcome::default() },
            Phase::Unmasking { cohort, accepted, .. }
            | Phase::Aggregating { cohort, accepted, .. }
            | Phase::Evaluated { cohort, accepted, .. } => {
                Outcome { cohort: Some(cohort), accepted: Some(accepted), ..Outcome::default() }
            }
            Phase::Committed { cohort, accepted, version, .. } => Outcome {
                cohort: Some(cohort),
                accepted: Some(accepted),
                version: Some(version),
                reason: None,
            },
            Phase::Abandoned { reason, .. } => Outcome { reason: Some(reason), ..Outcome::default() },
        }
    }

    /// Returns when the current phase began.
    pub fn since(&self) -> Timestamp {
        match *self {
            Phase::Selecting { since }
            | Phase::AdvertisingKeys { since, .. }
            | Phase::SharingKeys { since, .. }
            | Phase::Reporting { since, .. }
            | Phase::Collecting { since }
            | Phase::Unmasking { since, .. }
            | Phase::Aggregating { since, .. } => since,
            Phase::Committed { at, .. } | Phase::Evaluated { at, .. } | Phase::Abandoned { at, .. } => at,
        }
    }

    /// Returns when the round's clients were asked to send their partial updates.
    pub fn asked(&self) -> Option<Timestamp> {
        match *self {
            Phase::Reporting { asked, .. } => asked,
            _ => None,
        }
    }

    /// Returns whether the round is over.
    pub fn is_final(&self) -> bool {
        matches!(self, Phase::Committed { .. } | Phase::Evaluated { .. } | Phase::Abandoned { .. })
    }
}
