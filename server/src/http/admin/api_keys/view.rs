//! How the API shows an API key: without its secret.

use folkmoot_protocol::Timestamp;
use folkmoot_storage::{ApiKeyId, ApiKeyRecord, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A key of these endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeyView {
    /// Its public part.
    #[schema(value_type = String)]
    pub id: ApiKeyId,
    /// Its name for humans.
    pub name: String,
    /// `viewer`, `operator` or `admin`.
    #[schema(value_type = String)]
    pub role: Role,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl ApiKeyView {
    /// Shows a key.
    pub fn of(record: ApiKeyRecord) -> Self {
        Self {
            id: record.id,
            name: record.name,
            role: record.role,
            revoked_at: record.revoked_at,
            created_at: record.created_at,
        }
    }
}
