//! API keys for the administrative endpoints.

pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod revoke;
pub(crate) mod view;

use folkmoot_protocol::{OrganisationId, Role, Timestamp};
use folkmoot_rounds::{coordinator::Coordinator, credential::Credential};
use folkmoot_storage::ApiKeyRecord;

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
    let (expires_at, revoked_at) = (None, None);
    let record =
        ApiKeyRecord { id, organisation_id, name, role, secret_hash, created_at, expires_at, revoked_at };
    (key, record)
}
