use serde::{Deserialize, Serialize};

use crate::{ClientId, PopulationName, Timestamp};

/// `POST /v1/enrol`: a new install offers its public key for an enrolment token.
///
/// The request is signed with the key itself, which proves its possession. Asking again with the same key
/// gives the same client id, so a lost answer costs nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EnrolRequest {
    /// The enrolment token that the operator gave to the app.
    pub token: String,
    /// The Ed25519 public key, 32 bytes in base64.
    pub public_key: String,
}

/// The answer to [`EnrolRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnrolResponse {
    /// The id that the client shows from now on.
    pub client_id: ClientId,
    /// The population to which the token belongs.
    pub population: PopulationName,
    /// The coordinator's clock.
    pub server_time: Timestamp,
}
