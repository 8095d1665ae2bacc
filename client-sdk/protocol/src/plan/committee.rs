use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{SecureTerms, SecureTermsFault, Threat};
use crate::keys::CommitteeKey;

/// The largest number of members of a committee.
pub const COMMITTEE_MAX: usize = 7;

/// The terms of a plan whose updates are masked for a committee. Each mask is known to all members but some, so that no
/// `colluders` members together know all masks of a client.
///
/// A client sends one message. The members, independent of the coordinator, later give it the sums of the masks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CommitteeTerms {
    /// The public keys of the members. A client that should not trust the coordinator's choice pins the operator's
    /// endorsement key, because an endorsement covers the plan.
    pub members: Vec<CommitteeKey>,
    /// The number of members that may collude with the coordinator.
    pub colluders: u32,
    /// The terms of the sum. All clients may drop out at any time, down to the smallest sum.
    pub sum: SecureTerms,
}

/// Terms that no committee can follow.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CommitteeFault {
    /// The number of members.
    #[error("a committee of {0} members is impossible; it must have 2 to {COMMITTEE_MAX}")]
    Members(usize),
    /// A key is listed twice.
    #[error("a key is listed twice in the committee")]
    Repeated,
    /// Nobody or too many may collude.
    #[error("{colluders} of {members} members may collude; it must be at least one, and at most all but one")]
    Colluders {
        /// The number of colluding members.
        colluders: u32,
        /// The number of members.
        members: usize,
    },
    /// The terms of the sum.
    #[error(transparent)]
    Sum(#[from] SecureTermsFault),
}

impl CommitteeTerms {
    /// Returns the number of members.
    pub fn size(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    /// Checks that a committee can follow the terms.
    ///
    /// # Errors
    /// The first [`CommitteeFault`].
    pub fn check(&self) -> Result<(), CommitteeFault> {
        let members = self.members.len();
        if !(2..=COMMITTEE_MAX).contains(&members) {
            return Err(CommitteeFault::Members(members));
        }
        if self.members.iter().collect::<BTreeSet<_>>().len() < members {
            return Err(CommitteeFault::Repeated);
        }
        if !(1..self.size()).contains(&self.colluders) {
            return Err(CommitteeFault::Colluders { colluders: self.colluders, members });
        }
        Ok(self.sum.check()?)
    }

    /// Returns the number of members that must agree to the survivors before any of them gives a sum. If the coordinator may be
    /// malicious, no two different lists can be agreed to: two quorums have more members in common than may collude.
    pub fn quorum(&self) -> u32 {
        match self.sum.threat {
            Threat::HonestButCurious => 0,
            Threat::Malicious => (self.size() + self.colluders) / 2 + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(members: u8, colluders: u32, threat: Threat) -> CommitteeTerms {
        CommitteeTerms {
            members: (0..members).map(|member| CommitteeKey([member; 64])).collect(),
            colluders,
            sum: SecureTerms {
                cohort_min: 5,
                cohort_max: 10,
                corrupt_share: 0.1,
                dropout_share: 0.5,
                threat,
                is_weighted: false,
                noise: None,
            },
        }
    }

    #[test]
    fn two_quorums_share_an_honest_member() {
        for members in 2..=7u8 {
            let of = |colluders| terms(members, colluders, Threat::Malicious);
            for colluders in 1..u32::from(members) {
                assert_eq!(of(colluders).check(), Ok(()));
                let quorum = of(colluders).quorum();
                assert!(quorum <= u32::from(members));
                let common = 2 * quorum - u32::from(members);
                assert!(common > colluders, "{members} {colluders}");
            }
        }
        assert_eq!(terms(4, 1, Threat::Malicious).quorum(), 3, "one of four may be missing");
        assert_eq!(terms(3, 1, Threat::HonestButCurious).quorum(), 0);
    }

    #[test]
    fn impossible_committees_are_refused() {
        let curious = Threat::HonestButCurious;
        assert_eq!(terms(3, 1, curious).check(), Ok(()));
        assert_eq!(terms(3, 2, curious).check(), Ok(()));
        assert_eq!(terms(1, 1, curious).check(), Err(CommitteeFault::Members(1)));
        assert_eq!(terms(8, 1, curious).check(), Err(CommitteeFault::Members(8)));
        for colluders in [0, 3] {
            let fault = CommitteeFault::Colluders { colluders, members: 3 };
            assert_eq!(terms(3, colluders, curious).check(), Err(fault));
        }
        let mut repeated = terms(3, 1, curious);
        repeated.members[2] = repeated.members[0];
        assert_eq!(repeated.check(), Err(CommitteeFault::Repeated));
        let mut small = terms(3, 1, curious);
        small.sum.cohort_min = 1;
        assert!(matches!(small.check(), Err(CommitteeFault::Sum(_))));
    }

    #[test]
    fn the_terms_survive_their_json() {
        let terms = terms(3, 1, Threat::Malicious);
        let text = serde_json::to_string(&terms).unwrap();
        assert_eq!(serde_json::from_str::<CommitteeTerms>(&text).unwrap(), terms);
    }
}
