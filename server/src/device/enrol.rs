use std::{fmt, str::FromStr};

use folkmoot_protocol::{
    ClientId, ErrorCode, Timestamp,
    messages::{EnrolRequest, EnrolResponse},
};
use folkmoot_storage::{ClientRepository, EnrolOutcome, TokenRepository};
use sha2::{Digest, Sha256};

use crate::{coordinator::Coordinator, refusal::Refusal};

/// A secret with a public part, as it is handed out: `id.secret`, both hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct EnrolmentToken {
    /// The public part, 16 digits.
    pub id: String,
    secret: String,
}

impl EnrolmentToken {
    /// Makes a token from random bytes.
    pub fn from_random_bytes(id: [u8; 8], secret: [u8; 32]) -> Self {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { id: hex(&id), secret: hex(&secret) }
    }

    /// Derives what is stored of the secret.
    pub fn secret_hash(&self) -> [u8; 32] {
        Sha256::digest(self.secret.as_bytes()).into()
    }
}

impl fmt::Display for EnrolmentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.id, self.secret)
    }
}

impl fmt::Debug for EnrolmentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnrolmentToken({}.…)", self.id)
    }
}

/// A text that has not the form of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token or key has the form ID.SECRET: 16 and 64 hexadecimal digits")]
pub struct MalformedTokenError;

impl FromStr for EnrolmentToken {
    type Err = MalformedTokenError;

    fn from_str(text: &str) -> Result<Self, MalformedTokenError> {
        let is_hex = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        match text.split_once('.') {
            Some((id, secret)) if id.len() == 16 && secret.len() == 64 && is_hex(id) && is_hex(secret) => {
                Ok(Self { id: id.into(), secret: secret.into() })
            }
            _ => Err(MalformedTokenError),
        }
    }
}

/// Enrols a client. The caller has verified that the request was signed with the key that it brings.
///
/// # Errors
/// A refusal for a token that is not valid any more or never was.
pub async fn enrol(
    coordinator: &Coordinator,
    request: &EnrolRequest,
    now: Timestamp,
) -> Result<EnrolResponse, Refusal> {
    let invalid = || Refusal::new(ErrorCode::EnrolmentTokenInvalid, "the enrolment token is not known");
    let token: EnrolmentToken = request.token.parse().map_err(|_| invalid())?;
    let record = coordinator.storage.token(&token.id).await?.ok_or_else(invalid)?;
    // Hashes of 256 random bits are compared, so the comparison's time tells nothing that helps.
    if record.secret_hash != token.secret_hash() {
        return Err(invalid());
    }
    let id = ClientId::from_random_bytes(coordinator.random_bytes());
    match coordinator.storage.enrol(&token.id, &request.public_key, id, now).await? {
        EnrolOutcome::Enrolled(client) | EnrolOutcome::Known(client) => {
            if client.revoked_at.is_some() {
                return Err(Refusal::new(ErrorCode::ClientRevoked, "this client's key was revoked"));
            }
            Ok(EnrolResponse { client_id: client.id, population: client.population, server_time: now })
        }
        EnrolOutcome::TokenExpired => Err(Refusal::new(
            ErrorCode::EnrolmentTokenExpired,
            "the enrolment token has expired; ask for another",
        )),
        EnrolOutcome::TokenExhausted => {
            let detail = "the enrolment token was used as often as it may be; ask for another";
            Err(Refusal::new(ErrorCode::EnrolmentTokenExhausted, detail))
        }
        EnrolOutcome::TokenInvalid => Err(invalid()),
    }
}
