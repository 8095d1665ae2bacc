//! The organisations of the test content.

use folkmoot_coordinator::tenancy::{Day, Usage};
use folkmoot_protocol::{OrganisationId, Role};
use folkmoot_rounds::credential::Credential;
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository, PopulationRepository, SYSTEM_ORGANISATION, Storage};

use super::content::{NOW, WORKS, ago, bytes};

/// Stores usage, and the key of a system administrator, which it returns.
pub async fn fill(storage: &Storage) -> String {
    let id = OrganisationId::from_random_bytes(bytes(2));
    let organisation_id =
        storage.ensure_organisation(SYSTEM_ORGANISATION, id, ago(50_000)).await.expect(WORKS);
    let key = Credential::from_random_bytes([0; 8], [1; 32]);
    let record = ApiKeyRecord {
        id: key.id.clone(),
        organisation_id,
        name: "system".to_owned(),
        role: Role::System,
        secret_hash: key.secret_hash(),
        created_at: ago(50_000),
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    storage.create_api_key(&record).await.expect(WORKS);
    let used = Usage { requests: 1_200, received_bytes: 3_400_000, sent_bytes: 56_000_000, updates: 78 };
    let database = storage.database().expect(WORKS);
    let default = database.organisations().await.expect(WORKS).remove(0);
    database.add_usage(&[(default.id, Day::from(NOW), used)]).await.expect(WORKS);
    key.to_string()
}
