use folkmoot_protocol::{ClientId, ErrorCode, OrganisationId, Timestamp, messages::EnrolResponse};
use folkmoot_storage::{ClientRepository, EnrolOutcome, TokenRepository};

use crate::{coordinator::Coordinator, credential::Credential, refusal::Refusal};

/// Finds the enrolment token with this text, and verifies its secret. Also returns the token's organisation.
///
/// # Errors
/// [`ErrorCode::EnrolmentTokenInvalid`] if the text has no valid form, the token does not exist or its secret is wrong.
/// Also fails if the storage fails.
pub async fn believed_token(
    coordinator: &Coordinator,
    text: &str,
) -> Result<(Credential, OrganisationId), Refusal> {
    let token: Credential = text.parse().map_err(|_| invalid())?;
    let record = coordinator.storage.token(&token.id).await?.ok_or_else(invalid)?;
    // This compares hashes of 256 random bits, so the comparison's timing reveals nothing useful.
    if record.secret_hash != token.secret_hash() {
        return Err(invalid());
    }
    Ok((token, record.organisation_id))
}

/// Enrols the client with `public_key`. `token` must come from [`believed_token`], and the caller must have verified
/// that the request was signed with this key.
///
/// # Errors
/// Fails if the token has expired, is used up or enrols no new clients, if the client was revoked, or if the token's
/// user does not fit the population or the client.
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
                return Err(Refusal::new(
                    ErrorCode::ClientRevoked,
                    "this client's key was revoked; ask the operator whether it may enrol again",
                ));
            }
            Ok(EnrolResponse { client_id: client.id, population: client.population, server_time: now })
        }
        EnrolOutcome::TokenExpired => Err(Refusal::new(
            ErrorCode::EnrolmentTokenExpired,
            "the enrolment token has expired; ask its issuer for a new one",
        )),
        EnrolOutcome::TokenExhausted => {
            let detail = "the enrolment token has reached its limit of clients; ask its issuer for a new one";
            Err(Refusal::new(ErrorCode::EnrolmentTokenExhausted, detail))
        }
        EnrolOutcome::TokenClosed => {
            let detail = "the enrolment token enrols no new clients, because a client that enrolled with it was revoked; ask \
                its issuer for a new one";
            Err(Refusal::new(ErrorCode::EnrolmentTokenClosed, detail))
        }
        EnrolOutcome::OrganisationFull => {
            let detail = "the organisation has as many clients as its quota permits; revoke clients that are gone, or ask the \
                coordinator's system administrator for a larger quota";
            Err(Refusal::new(ErrorCode::QuotaExceeded, detail))
        }
        EnrolOutcome::UserMissing => {
            let detail = "this population protects users, and the enrolment token names no user; ask its issuer for one that does";
            Err(Refusal::new(ErrorCode::EnrolmentTokenInvalid, detail))
        }
        EnrolOutcome::UserDiffers => {
            let detail = "this device is enrolled for another user; delete its key, then enrol again";
            Err(Refusal::new(ErrorCode::EnrolmentTokenInvalid, detail))
        }
        EnrolOutcome::TokenInvalid => Err(invalid()),
    }
}

fn invalid() -> Refusal {
    Refusal::new(
        ErrorCode::EnrolmentTokenInvalid,
        "no such enrolment token exists here; check that it was copied completely",
    )
}
