//! Enrolled clients.

use folkmoot_protocol::{ClientId, PopulationName, Timestamp};
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
    pub token_id: Option<String>,
    /// When it enrolled.
    pub enrolled_at: Timestamp,
    /// When its key was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A client that was revoked, and what became of its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevokedClient {
    /// The client.
    pub client: ClientView,
    /// True if the token with which it enrolled enrols nobody new: it is closed, now or before, or revoked.
    pub token_closed: bool,
}
