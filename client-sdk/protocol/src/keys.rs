//! Keys, shares and commitments of secure aggregation: fixed numbers of bytes, as base64 in JSON.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

/// The text is not base64 of the expected number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text must be base64 of {expected} bytes")]
pub struct BytesError {
    expected: usize,
}

macro_rules! fixed_bytes {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub [u8; $bytes]);

        impl TryFrom<String> for $name {
            type Error = BytesError;

            fn try_from(text: String) -> Result<Self, BytesError> {
                let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
                bytes.map(Self).ok_or(BytesError { expected: $bytes })
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                STANDARD.encode(value.0)
            }
        }
    };
}

fixed_bytes!(
    /// An X25519 public key for one assignment (RFC 7748).
    StepKey,
    32
);
fixed_bytes!(
    /// A hash that commits to a share or to a self mask. The holder and the coordinator verify the value with it.
    ShareCommitment,
    32
);
fixed_bytes!(
    /// Two secret shares, encrypted for one member: 64 bytes and the tag of 16.
    SealedShares,
    80
);
fixed_bytes!(
    /// The public key of a committee's member: an X25519 key to encrypt for the member, and an Ed25519 key to check its
    /// signatures.
    CommitteeKey,
    64
);
fixed_bytes!(
    /// A share of a secret that a member opens for the coordinator: a scalar, little-endian.
    SharedSecret,
    32
);

impl fmt::Debug for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StepKey({})", String::from(*self))
    }
}

impl fmt::Debug for CommitteeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommitteeKey({})", String::from(*self))
    }
}

impl CommitteeKey {
    /// Returns the key with which clients encrypt for this member.
    pub fn channel(&self) -> StepKey {
        StepKey(*self.0.first_chunk().expect("the first half"))
    }

    /// Returns the key that checks this member's signatures, in base64.
    pub fn identity(&self) -> String {
        STANDARD.encode(&self.0[32..])
    }
}

impl fmt::Debug for ShareCommitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShareCommitment({})", String::from(*self))
    }
}

impl fmt::Debug for SealedShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedShares(…)")
    }
}

// An opened share must not reach a log, although the coordinator may know it.
impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(…)")
    }
}
