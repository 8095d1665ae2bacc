//! Enrolment tokens.

use folkmoot_protocol::{Count, PopulationName, Timestamp, UserKey};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A right to enrol clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// Its public part.
    #[schema(value_type = String)]
    pub id: String,
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

/// A token to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// For which population it enrols; the population is made if there is none of this name.
    pub population: PopulationName,
    /// Whose devices it enrols: an id of the app's own, 1 to 128 bytes. Only its digest is stored. Where the population's
    /// unit of privacy is the user, every token names one, and all devices of a user count as one.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub user: Option<String>,
    /// How many clients it may enrol, 1 to 2^53. Without this and without `unlimited_uses`, 1,000.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[schema(minimum = 1, maximum = 9007199254740992_u64)]
    pub uses_max: Option<u64>,
    /// Lets it enrol any number of clients, so whoever finds it can enrol without end. Not together with
    /// `uses_max`.
    #[serde(default)]
    pub unlimited_uses: bool,
    /// After how many seconds it ends, 1 to 3,153,600,000 (100 years). Without this and without `no_expiry`, 2,592,000
    /// (30 days).
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[schema(minimum = 1, maximum = 3_153_600_000_u64)]
    pub expires_in_seconds: Option<u64>,
    /// Lets it enrol clients until it is revoked. Not together with `expires_in_seconds`.
    #[serde(default)]
    pub no_expiry: bool,
}

impl CreateTokenRequest {
    /// Asks for a token with the bounds that hold if nothing is said.
    pub fn of(population: PopulationName) -> Self {
        let (user, uses_max, expires_in_seconds) = (None, None, None);
        Self { population, user, uses_max, unlimited_uses: false, expires_in_seconds, no_expiry: false }
    }
}

/// A token that was made, with its secret. It is shown here and never again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    /// `ID.SECRET`, as clients are given it.
    pub token: String,
    /// What the list of tokens shows.
    pub record: TokenView,
}

/// A token that was revoked with its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevokedTokenClients {
    /// The token's public part.
    #[schema(value_type = String)]
    pub token_id: String,
    /// How many of its clients were revoked that were not before.
    pub clients_revoked: u64,
}
