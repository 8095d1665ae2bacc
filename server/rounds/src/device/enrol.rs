use folkmoot_protocol::{ClientId, ErrorCode, OrganisationId, Timestamp, UserKey, messages::EnrolResponse};
use folkmoot_storage::{ClientRepository, EnrolOutcome, SITES_MAX, TokenId, TokenRepository};

use super::enrolment_jwt::{claimed_tokens, is_jwt, verified_user};
use crate::{coordinator::Coordinator, credential::Credential, refusal::Refusal};

/// The verified right of a client to enrol.
#[derive(Clone, Debug)]
pub struct VerifiedToken {
    token_id: TokenId,
    user_key: Option<UserKey>,
    /// The organisation that the client enrols in.
    pub organisation_id: OrganisationId,
}

/// Verifies what a client sent as its enrolment token: the secret of a token, or a JWT that a key of a token signed.
///
/// # Errors
/// [`ErrorCode::EnrolmentTokenInvalid`] if the text has no valid form, the token does not exist, or its secret or the JWT
/// is wrong; [`ErrorCode::EnrolmentTokenExpired`] if the JWT has expired. Also fails if the storage fails.
pub async fn verified_token(
    coordinator: &Coordinator,
    text: &str,
    now: Timestamp,
) -> Result<VerifiedToken, Refusal> {
    if is_jwt(text) {
        return verified_jwt(coordinator, text, now).await;
    }
    let token: Credential = text.parse().map_err(|_| invalid())?;
    let record = coordinator.storage.token(&token.id).await?.ok_or_else(invalid)?;
    // This compares hashes of 256 random bits, so the comparison's timing reveals nothing useful.
    if record.secret_hash != token.secret_hash() {
        return Err(invalid());
    }
    Ok(VerifiedToken { token_id: record.id, user_key: None, organisation_id: record.organisation_id })
}

async fn verified_jwt(
    coordinator: &Coordinator,
    jwt: &str,
    now: Timestamp,
) -> Result<VerifiedToken, Refusal> {
    for id in claimed_tokens(jwt)? {
        let Some(token) = coordinator.storage.token(&id).await? else { continue };
        let user = verified_user(jwt, &token, now)?;
        let user_key = Some(UserKey::of(token.organisation_id, &token.population, &user));
        return Ok(VerifiedToken { token_id: token.id, user_key, organisation_id: token.organisation_id });
    }
    let detail =
        "the JWT is for no enrolment token of this coordinator; its claim `aud` must be the token's id";
    Err(Refusal::new(ErrorCode::EnrolmentTokenInvalid, detail))
}

/// Enrols the client with `public_key`. The caller must have verified that the request was signed with this key.
///
/// # Errors
/// Fails if the token has expired, is used up or enrols no new clients, if the client was revoked, or if the user does
/// not fit the population or the client.
pub async fn enrol(
    coordinator: &Coordinator,
    verified: &VerifiedToken,
    public_key: &str,
    now: Timestamp,
) -> Result<EnrolResponse, Refusal> {
    let id = ClientId::from_random_bytes(coordinator.random_bytes());
    let turn = coordinator.tenants.turn(verified.organisation_id).await;
    let enrolled =
        coordinator.storage.enrol_user(&verified.token_id, verified.user_key, public_key, id, now).await?;
    drop(turn);
    match enrolled {
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
        EnrolOutcome::SiteMissing => {
            let detail = "the clients of this population are named sites, and the enrolment token names no site; ask its issuer \
                for one with a name";
            Err(Refusal::new(ErrorCode::EnrolmentTokenInvalid, detail))
        }
        EnrolOutcome::SitesFull => {
            let detail = format!(
                "the population has {SITES_MAX} sites, which is the limit; revoke sites that are gone, or use another population"
            );
            Err(Refusal::new(ErrorCode::QuotaExceeded, detail))
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
