/// A client's message that the coordinator rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageFault {
    /// The shares are not exactly one for each neighbour.
    #[error(
        "the message has {found} shares; it must have one for each of the {neighbours} neighbours, by ascending index"
    )]
    Recipients {
        /// The number of shares.
        found: usize,
        /// The number of neighbours.
        neighbours: usize,
    },
    /// A signature is missing or invalid.
    #[error("the signature is not one of this member over these survivors")]
    Signature,
    /// No share was opened.
    #[error("the message opens no share")]
    Empty,
    /// A share was opened that was not asked for: of a member that is no neighbour, has sent no shares, or for the other
    /// secret.
    #[error("the message opens a share of member {owner} that was not asked for")]
    NotAsked {
        /// The index of the member whose secret is shared.
        owner: u32,
    },
    /// The message does not account for a neighbour that has sent shares, or accounts for it twice.
    #[error("the message must open one share of member {owner}, or accuse it, exactly once")]
    Unaccounted {
        /// The index of the member whose secret is shared.
        owner: u32,
    },
    /// An opened share is not the one that its owner committed to.
    #[error("the opened share of member {owner} does not match the commitment")]
    WrongShare {
        /// The index of the member whose secret is shared.
        owner: u32,
    },
}

impl MessageFault {
    /// Returns whether the message proves that its sender breaks the protocol. An honest member has compared each share with its
    /// commitment before it opens the share.
    pub fn is_proof(&self) -> bool {
        matches!(self, MessageFault::WrongShare { .. })
    }
}

/// The masks cannot be recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoverError {
    /// Too few members have opened their shares.
    #[error("the secret of member {owner} has {found} open shares; recovery needs {least}")]
    TooFewShares {
        /// The index of the member whose secret is shared.
        owner: u32,
        /// The number of open shares.
        found: u32,
        /// The threshold.
        least: u32,
    },
    /// The shares of a member match its commitments but do not give its secret: the member has shared something else.
    #[error("member {owner} has shared a secret that it had not committed to")]
    FalseShares {
        /// The index of the member.
        owner: u32,
    },
}
