use folkmoot_protocol::{ClientId, PopulationName, Timestamp};
use folkmoot_storage::{ClientRecord, TokenId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A client and where it came from. Nothing that it measured or sent is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClientView {
    /// Its id.
    pub id: ClientId,
    /// Its population.
    pub population: PopulationName,
    /// The public part of the token with which it enrolled first; null of clients from before that was stored.
    #[schema(value_type = Option<String>)]
    pub token_id: Option<TokenId>,
    /// When it enrolled.
    pub enrolled_at: Timestamp,
    /// When its key was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl ClientView {
    /// Shows a client.
    pub fn of(record: ClientRecord) -> Self {
        Self {
            id: record.id,
            population: record.population,
            token_id: record.token_id,
            enrolled_at: record.enrolled_at,
            revoked_at: record.revoked_at,
        }
    }
}
