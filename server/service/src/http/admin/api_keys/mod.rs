//! API keys for the administrative endpoints.

pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod revoke;
pub(crate) mod rotate;
pub(crate) mod view;

use folkmoot_protocol::{ErrorCode, OrganisationId, Role, Timestamp};
use folkmoot_rounds::{coordinator::Coordinator, credential::Credential, refusal::Refusal};
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository};

use super::{access::Caller, officers};
use crate::http::App;

/// Draws a new key that never expires. Returns its text and the record to store.
pub(crate) fn draw_key(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    name: String,
    role: Role,
    created_at: Timestamp,
) -> (Credential, ApiKeyRecord) {
    let key = Credential::from_random_bytes(coordinator.random_bytes(), coordinator.random_bytes());
    let (id, secret_hash) = (key.id.clone(), key.secret_hash());
    let record = ApiKeyRecord {
        id,
        organisation_id,
        name,
        role,
        secret_hash,
        created_at,
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    (key, record)
}

/// Checks that the caller may do `act`, for example `revoke`, to the key `id`: only privacy officers change the keys of
/// privacy officers, and they change no others. A key that the organisation does not have passes.
async fn check_whose(app: &App, caller: &Caller, id: &str, act: &str) -> Result<(), Refusal> {
    let found = app.coordinator.storage.api_key(id).await?;
    let role = found.filter(|key| key.organisation_id == caller.organisation_id).map(|key| key.role);
    match (caller.role, role) {
        (_, Some(Role::PrivacyOfficer)) => {
            officers::check(app, caller, &format!("{act} the key of one")).await
        }
        (Role::PrivacyOfficer, Some(role)) => {
            let detail = format!(
                "a privacy officer may {act} only keys of privacy officers, but {id} has the role {}; ask an admin",
                role.name()
            );
            Err(Refusal::new(ErrorCode::RoleInsufficient, detail))
        }
        _ => Ok(()),
    }
}
