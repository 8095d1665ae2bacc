//! How the API shows a token: without its secret.

use folkmoot_protocol::{PopulationName, Timestamp, UserKey};
use folkmoot_storage::{TokenId, TokenRecord};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A right to enrol clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// Its public part.
    #[schema(value_type = String)]
    pub id: TokenId,
    /// For which population it enrols.
    pub population: PopulationName,
    /// Whose devices it enrols: the digest of the user's id.
    #[schema(value_type = Option<String>)]
    pub user_key: Option<UserKey>,
    /// How many clients it has enrolled.
    pub uses: u64,
    /// How many it may enrol; null for any number.
    pub uses_max: Option<u64>,
    /// When it ends; null for never.
    pub expires_at: Option<Timestamp>,
    /// When it was closed to new clients, because one that had enrolled with it was revoked. The others go on.
    pub closed_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl TokenView {
    /// Shows a token.
    pub fn of(record: TokenRecord) -> Self {
        Self {
            id: record.id,
            population: record.population,
            user_key: record.user_key,
            uses: record.uses,
            uses_max: record.uses_max,
            expires_at: record.expires_at,
            closed_at: record.closed_at,
            revoked_at: record.revoked_at,
            created_at: record.created_at,
        }
    }
}
