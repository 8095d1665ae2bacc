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
        last_used_at: record.used_at,
        rotated_at: record.rotation.as_ref().map(|rotation| rotation.at),
        previous_valid_until: record.rotation.map(|rotation| rotation.previous_until),
    }
}
