use serde::{Deserialize, Serialize};

use super::Phase;

/// The number of steps after the training: shares, updates, opened shares.
pub(super) const STEPS_AFTER_TRAINING: u64 = 3;

/// A step in which clients send messages of secure aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecureStep {
    /// Clients advertise their public keys.
    Keys,
    /// Clients send secret shares for their neighbours.
    Shares,
    /// Clients sign the list of survivors.
    Agreement,
    /// Clients open the shares that remove the masks.
    Opening,
}

impl SecureStep {
    /// All steps, in order.
    pub const ALL: [Self; 4] = [Self::Keys, Self::Shares, Self::Agreement, Self::Opening];

    /// Returns the step's name, as the API and the database show it.
    pub fn name(self) -> &'static str {
        match self {
            SecureStep::Keys => "keys",
            SecureStep::Shares => "shares",
            SecureStep::Agreement => "agreement",
            SecureStep::Opening => "opening",
        }
    }

    /// Returns whether a round in this phase accepts messages of the step.
    pub fn is_open_in(self, phase: &Phase) -> bool {
        match self {
            SecureStep::Keys => matches!(phase, Phase::AdvertisingKeys { .. }),
            SecureStep::Shares => matches!(phase, Phase::SharingKeys { .. }),
            SecureStep::Agreement | SecureStep::Opening => matches!(phase, Phase::Unmasking { .. }),
        }
    }
}

impl Phase {
    /// Returns the step whose messages a round in this phase waits for; `None` in phases without messages.
    pub fn step(&self) -> Option<SecureStep> {
        match self {
            Phase::AdvertisingKeys { .. } => Some(SecureStep::Keys),
            Phase::SharingKeys { .. } => Some(SecureStep::Shares),
            Phase::Unmasking { .. } => Some(SecureStep::Opening),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Timestamp;

    use super::*;

    #[test]
    fn every_step_is_open_in_one_phase() {
        let (since, cohort) = (Timestamp(0), 13);
        for phase in [
            Phase::AdvertisingKeys { since, cohort },
            Phase::SharingKeys { since, cohort },
            Phase::Reporting { since, cohort, asked: None },
            Phase::Unmasking { since, cohort, accepted: 8 },
        ] {
            let open: Vec<_> = SecureStep::ALL.into_iter().filter(|step| step.is_open_in(&phase)).collect();
            assert_eq!(open.last().copied(), phase.step(), "{phase:?}");
        }
        for step in SecureStep::ALL {
            assert_eq!(serde_json::to_value(step).unwrap(), step.name());
        }
    }
}
