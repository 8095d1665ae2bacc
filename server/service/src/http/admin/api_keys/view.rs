//! How the API shows an API key: without its secret.

use folkmoot_api::api_keys::ApiKeyView;
use folkmoot_storage::ApiKeyRecord;

/// Shows a key.
pub fn api_key_view(record: ApiKeyRecord) -> ApiKeyView {
    ApiKeyView {
        id: record.id,
        name: record.name,
        role: record.role,
        revoked_at: record.revoked_at,
        created_at: record.created_at,
    }
}
