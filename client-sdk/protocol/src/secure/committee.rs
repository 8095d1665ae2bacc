//! The messages between a coordinator and the members of a committee.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use crate::{AssignmentId, BlobDigest, RoundId, TaskId};

/// The number of bytes of a seal before the boxes: the client's public key.
const SEAL_KEY_BYTES: usize = 32;

/// The encrypted seeds of a client's masks, for the members of a committee: the client's public key for this update, then one box
/// for each member. A masked update for a committee ends with them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitteeSeal(pub Vec<u8>);

impl CommitteeSeal {
    /// Returns the number of bytes for a committee of `members` members, each of which gets `seeds` seeds.
    pub fn bytes(members: usize, seeds: usize) -> usize {
        SEAL_KEY_BYTES + members * (seeds * 32 + 16)
    }
}

impl TryFrom<String> for CommitteeSeal {
    type Error = base64::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        STANDARD.decode(text).map(Self)
    }
}

impl From<CommitteeSeal> for String {
    fn from(seal: CommitteeSeal) -> String {
        STANDARD.encode(seal.0)
    }
}

impl fmt::Debug for CommitteeSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommitteeSeal(…)")
    }
}

/// The round that a member sums masks of, and the clients whose updates are in the sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitteeRound {
    /// The task.
    pub task_id: TaskId,
    /// The round.
    pub round_id: RoundId,
    /// The plan as its clients read it. The member checks the terms in it; what clients encrypted depends on its digest.
    pub plan: String,
    /// The digest of the weights from which the clients trained.
    pub weights: BlobDigest,
    /// The number of values of an update.
    pub parameter_count: u64,
    /// The clients whose updates are in the sum, by ascending assignment id.
    pub clients: Vec<SealedClient>,
}

/// A client and what it encrypted for the committee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedClient {
    /// The client's assignment.
    pub assignment_id: AssignmentId,
    /// The seeds of its masks.
    pub seal: CommitteeSeal,
}

/// `POST /v1/committee/check`: the clients whose seeds the member cannot read. It cannot sum their masks; other members may.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitteeChecked {
    /// The clients.
    pub unreadable: Vec<AssignmentId>,
}

/// `POST /v1/committee/agree`: the member's signature over the clients in the sum. A member agrees to one list for each round,
/// ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitteeAgreed {
    /// The signature, in base64.
    pub signature: String,
}

/// `POST /v1/committee/sum`: asks for the sum of masks. The answer is the packed sum: the values in the plan's ring, then the
/// extras as 64-bit numbers, little-endian, of the masks with the opposite sign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitteeQuestion {
    /// The round.
    pub round: CommitteeRound,
    /// The indices of the masks of each client to sum, ascending. The member holds the seeds of all of them.
    pub masks: Vec<u32>,
    /// The signatures of members over the clients, by the index of the member, if the coordinator may be malicious.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreements: Vec<(u32, String)>,
}

/// A member's refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitteeRefusal {
    /// The code, for example `answered_before`.
    pub code: String,
    /// The reason, for people.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_survives_its_text_and_shows_nothing() {
        let client = SealedClient {
            assignment_id: AssignmentId::from_random_bytes([1; 16]),
            seal: CommitteeSeal(vec![7; CommitteeSeal::bytes(3, 2)]),
        };
        let text = serde_json::to_string(&client).unwrap();
        assert_eq!(serde_json::from_str::<SealedClient>(&text).unwrap(), client);
        assert!(!format!("{client:?}").contains('7'), "{client:?}");
        assert_eq!(client.seal.0.len(), 32 + 3 * 80);
        assert!(serde_json::from_str::<CommitteeSeal>("\"?\"").is_err());
    }
}
