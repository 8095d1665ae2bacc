//! Enrolled clients.

use folkmoot_protocol::{ClientId, PopulationName, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A client and the token that it enrolled with. The client's updates and metrics are not included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClientView {
    /// The client's id.
    pub id: ClientId,
    /// The population that the client is enrolled in.
    pub population: PopulationName,
    /// The name of the client's site; null in a population whose clients are a crowd.
    pub site: Option<String>,
    /// The public part of the token with which the client first enrolled. Null for clients that enrolled before the
    /// coordinator recorded tokens.
    #[schema(value_type = Option<String>)]
    pub token_id: Option<String>,
    /// When the client enrolled.
    pub enrolled_at: Timestamp,
    /// When the client was revoked; null if it was not.
    pub revoked_at: Option<Timestamp>,
}

/// A revoked client, and whether its enrolment token still works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevokedClient {
    /// The client.
    pub client: ClientView,
    /// True if the client's enrolment token is closed or revoked, so no new client can enrol with it.
    pub token_closed: bool,
}
