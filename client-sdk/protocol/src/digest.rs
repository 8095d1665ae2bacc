use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{OrganisationId, PopulationName};

/// The text is not 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the digest is malformed; a digest has 64 lower-case hexadecimal digits")]
pub struct DigestError;

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name([u8; 32]);

        impl $name {
            /// Creates a digest from its 32 bytes.
            pub fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// Returns the digest's 32 bytes.
            pub fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = DigestError;

            fn from_str(text: &str) -> Result<Self, DigestError> {
                bytes_from_hex(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = DigestError;

            fn try_from(text: String) -> Result<Self, DigestError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(digest: $name) -> String {
                digest.to_string()
            }
        }
    };
}

digest!(
    /// The SHA-256 of an immutable blob: a model, weights, a plan.
    BlobDigest
);
digest!(
    /// The BLAKE3 of an update's bytes or of a request's body.
    ///
    /// The coordinator hashes every byte that clients send. With SHA-256, hashing alone would cost more than the rest
    /// of an upload; see `docs/decisions/`.
    UpdateDigest
);

digest!(
    /// The coordinator's key for a user: the SHA-256 of organisation, population and user id. It shows that two devices
    /// belong to the same user. Anyone who has it and can enumerate all ids can find the id, so use opaque ids.
    UserKey
);

impl UserKey {
    /// Returns the key of the user whose id in the app's own service is `user`.
    pub fn of(organisation: OrganisationId, population: &PopulationName, user: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(b"folkmoot user\0");
        hasher.update(organisation.as_bytes());
        hasher.update((population.as_str().len() as u64).to_le_bytes());
        hasher.update(population.as_str().as_bytes());
        hasher.update(user.as_bytes());
        Self(hasher.finalize().into())
    }
}

impl BlobDigest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl UpdateDigest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

fn bytes_from_hex(text: &str) -> Result<[u8; 32], DigestError> {
    let text = text.as_bytes();
    if text.len() != 64 {
        return Err(DigestError);
    }
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(DigestError),
    };
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_published_one() {
        // FIPS 180-4 and the BLAKE3 paper's test vectors.
        let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let blake3 = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(BlobDigest::of(b"").to_string(), sha256);
        assert_eq!(UpdateDigest::of(b"").to_string(), blake3);
        assert_eq!(sha256.parse::<BlobDigest>().unwrap(), BlobDigest::of(b""));
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in ["", "..", &"g".repeat(64), &"A".repeat(64), &"a".repeat(63), &"ä".repeat(32)] {
            assert_eq!(bad.parse::<BlobDigest>(), Err(DigestError), "{bad}");
        }
    }
}
