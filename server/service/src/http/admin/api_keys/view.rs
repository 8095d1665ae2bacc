//! The API's representation of an API key, without its secret.

use folkmoot_api::api_keys::ApiKeyView;
use folkmoot_storage::ApiKeyRecord;

/// Converts a key's record.
pub fn api_key_view(record: ApiKeyRecord) -> ApiKeyView {
    ApiKeyView {
        id: record.id,
        name: record.name,
        role: record.role,
        expires_at: record.expires_at,
        revoked_at: record.revoked_at,
        created_at: record.created_at,
    }
}
