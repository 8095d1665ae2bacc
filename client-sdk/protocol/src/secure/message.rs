use serde::{Deserialize, Serialize};

use super::{Advertisement, Roster, SealedShares, ShareCommitment, SharedSecret};

/// `POST /v1/assignments/{id}/secure`: a client's message in one step. A client may repeat a message, but never change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum SecureMessage {
    /// The client's public keys.
    Keys {
        /// The keys.
        advertisement: Advertisement,
    },
    /// The client's secret shares, one for each neighbour.
    Shares {
        /// The shares, by ascending recipient.
        shares: Vec<OutgoingShare>,
    },
    /// The client's signature over the survivors, if the coordinator may be malicious.
    Agreement {
        /// The signature, in base64.
        signature: String,
    },
    /// The shares that the coordinator needs to remove the masks.
    Opening {
        /// The shares.
        opening: Opening,
    },
}

impl SecureMessage {
    /// Returns the step to name when asking for the coordinator's answer; `None` if this is the last message.
    pub fn answered(&self) -> Option<SecureAnswered> {
        match self {
            SecureMessage::Keys { .. } => Some(SecureAnswered::Keys),
            SecureMessage::Shares { .. } => Some(SecureAnswered::Shares),
            SecureMessage::Agreement { .. } => Some(SecureAnswered::Agreement),
            SecureMessage::Opening { .. } => None,
        }
    }
}

/// Two secret shares for one neighbour, encrypted, with their commitments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OutgoingShare {
    /// The recipient's index in the roster.
    pub to: u32,
    /// The shares.
    pub sealed: SealedShares,
    /// The commitment to the share of the mask key.
    pub mask_key: ShareCommitment,
    /// The commitment to the share of the self mask.
    pub self_mask: ShareCommitment,
}

/// Two secret shares from one neighbour, encrypted, with their commitments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IncomingShare {
    /// The sender's index in the roster.
    pub from: u32,
    /// The shares.
    pub sealed: SealedShares,
    /// The commitment to the share of the mask key.
    pub mask_key: ShareCommitment,
    /// The commitment to the share of the self mask.
    pub self_mask: ShareCommitment,
}

/// The shares that one member opens: of each neighbour that has sent shares, exactly one kind, or the neighbour is accused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// For neighbours whose update is in the sum: the index, and the share of the self mask.
    pub self_masks: Vec<(u32, SharedSecret)>,
    /// For neighbours that shared but then dropped out: the index, and the share of the mask key.
    pub mask_keys: Vec<(u32, SharedSecret)>,
    /// The neighbours whose shares for this member cannot be decrypted or do not match their commitments, by ascending index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<u32>,
}

/// The members whose updates arrived, by ascending index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Survivors {
    /// Their indices.
    pub members: Vec<u32>,
    /// The signatures over this list, by index, if the coordinator may be malicious and has enough of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreements: Vec<(u32, String)>,
}

/// The last step that a client has completed, in a request for the coordinator's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SecureAnswered {
    /// The keys; the answer is the roster.
    Keys,
    /// The shares; the answer is the shares for this client.
    Shares,
    /// The upload; the answer is the survivors.
    Update,
    /// The agreement; the answer is the survivors with signatures.
    Agreement,
}

impl SecureAnswered {
    /// Returns the step's name, as in the query.
    pub fn name(self) -> &'static str {
        match self {
            SecureAnswered::Keys => "keys",
            SecureAnswered::Shares => "shares",
            SecureAnswered::Update => "update",
            SecureAnswered::Agreement => "agreement",
        }
    }
}

/// `GET /v1/assignments/{id}/secure?after=STEP&wait_seconds=…`: the coordinator's answer to a step, when it has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SecureProgress {
    /// The step is still open. Ask again.
    Wait,
    /// The round needs nothing more from this client.
    Done,
    /// After the keys: the roster.
    Roster {
        /// The roster.
        roster: Roster,
    },
    /// After the shares: the shares for this client, by ascending sender. Their senders are the members that may upload.
    Shares {
        /// The shares.
        shares: Vec<IncomingShare>,
    },
    /// After the upload: the survivors.
    Survivors {
        /// The survivors.
        survivors: Survivors,
    },
}
