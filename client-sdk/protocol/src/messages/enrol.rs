use serde::{Deserialize, Serialize};

use crate::{ClientId, PopulationName, Timestamp};

/// `POST /v1/enrol`: a new install presents its public key and an enrolment token.
///
/// The request is signed with the key itself, which proves possession. Enrolling the same key again returns the same
/// client id, so a lost answer does no harm.
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
    /// The client id for all further requests.
    pub client_id: ClientId,
    /// The population to which the token belongs.
    pub population: PopulationName,
    /// The coordinator's time.
    pub server_time: Timestamp,
}
