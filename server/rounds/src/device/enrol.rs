use folkmoot_protocol::{ClientId, ErrorCode, Timestamp, messages::EnrolResponse};
use folkmoot_storage::{ClientRepository, EnrolOutcome, TokenRepository};

use crate::{coordinator::Coordinator, credential::Credential, refusal::Refusal};

/// Finds the token that `text` spells.
///
/// # Errors
/// [`ErrorCode::EnrolmentTokenInvalid`] if there is none: it never was, or was guessed.
pub async fn believed_token(coordinator: &Coordinator, text: &str) -> Result<Credential, Refusal> {
    let token: Credential = text.parse().map_err(|_| invalid())?;
    let record = coordinator.storage.token(&token.id).await?.ok_or_else(invalid)?;
    // Hashes of 256 random bits are compared, so the comparison's time tells nothing that helps.
    if record.secret_hash != token.secret_hash() {
        return Err(invalid());
    }
    Ok(token)
}

/// Enrols the client with `public_key` by a token that [`believed_token`] found. The caller has verified that the request was
/// signed with the key that it brings.
///
/// # Errors
/// A refusal for a token that is not valid any more.
pub async fn enrol(
    coordinator: &Coordinator,
    token: &Credential,
    public_key: &str,
    now: Timestamp,
) -> Result<EnrolResponse, Refusal> {
    let id = ClientId::from_random_bytes(coordinator.random_bytes());
    match coordinator.storage.enrol(&token.id, public_key, id, now).await? {
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
        EnrolOutcome::TokenClosed => {
            let detail = "the enrolment token enrols no new clients, because one that enrolled with it was revoked; ask for \
                another";
            Err(Refusal::new(ErrorCode::EnrolmentTokenClosed, detail))
        }
        EnrolOutcome::UserMissing => {
            let detail = "this population promises privacy to users, and the enrolment token names none; ask for another";
            Err(Refusal::new(ErrorCode::EnrolmentTokenInvalid, detail))
        }
        EnrolOutcome::UserDiffers => {
            let detail = "this device is enrolled for another user; its key has to be forgotten first";
            Err(Refusal::new(ErrorCode::EnrolmentTokenInvalid, detail))
        }
        EnrolOutcome::TokenInvalid => Err(invalid()),
    }
}

fn invalid() -> Refusal {
    Refusal::new(ErrorCode::EnrolmentTokenInvalid, "the enrolment token is not known")
}
