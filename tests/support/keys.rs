//! API keys that a test stores itself.

use folkmoot_protocol::{OrganisationId, Role};
use folkmoot_rounds::credential::Credential;
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository, SqlStorage};

use crate::task::{now, random_bytes};

/// Creates an API key.
///
/// # Panics
/// If it cannot be stored.
pub async fn key(storage: &SqlStorage, organisation_id: OrganisationId, role: Role) -> Credential {
    let key = Credential::from_random_bytes(random_bytes(), random_bytes());
    let record = ApiKeyRecord {
        id: key.id.clone(),
        organisation_id,
        name: "test".into(),
        role,
        secret_hash: key.secret_hash(),
        created_at: now(),
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    storage.create_api_key(&record).await.expect("a key can be stored");
    key
}
