use serde::{Deserialize, Serialize};

use super::{ShareCommitment, StepKey};
use crate::AssignmentId;

/// The first message of a client: its public keys for this assignment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Advertisement {
    /// The key with which others encrypt shares for this client.
    pub channel_key: StepKey,
    /// The key from which each pair of neighbours derives its mask.
    pub mask_key: StepKey,
    /// The commitment to the seed of the client's own mask.
    pub self_mask: ShareCommitment,
    /// The client's identity, if the coordinator may be malicious.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// The enrolment key of a client, and its signature over the other fields of the advertisement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The Ed25519 public key, in base64.
    pub public_key: String,
    /// The signature, in base64.
    pub signature: String,
}

/// A client in the roster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Member {
    /// The client's assignment.
    pub assignment_id: AssignmentId,
    /// Its keys.
    #[serde(flatten)]
    pub advertisement: Advertisement,
}

/// The clients that advertised keys in time, by ascending assignment id. A member's index is its position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Roster {
    /// The members.
    pub members: Vec<Member>,
}
