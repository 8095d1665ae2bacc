//! Enrolment tokens.

use folkmoot_protocol::{Count, DisplayName, PopulationName, Timestamp, UserKey};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An enrolment token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// The public part of the token.
    #[schema(value_type = String)]
    pub id: String,
    /// The display name; null if there is none. In a population of sites, it is the name of the site.
    pub name: Option<String>,
    /// The population that clients enrol in.
    pub population: PopulationName,
    /// The digest of the id of the user whose devices the token enrols. Null if the token is not tied to a user.
    #[schema(value_type = Option<String>)]
    pub user_key: Option<UserKey>,
    /// The public keys, as PEM, of the JWTs that enrol clients with this token. Empty if clients need its secret.
    pub jwt_keys: Vec<String>,
    /// The number of clients that have enrolled with the token.
    pub uses: u64,
    /// The maximum number of clients that may enrol with the token; null for no limit.
    pub uses_max: Option<u64>,
    /// When the token expires; null for never.
    pub expires_at: Option<Timestamp>,
    /// When the token was closed to new clients because one of its clients was revoked. Null if it was not closed.
    /// The token's other clients keep working.
    pub closed_at: Option<Timestamp>,
    /// When the token was revoked; null if it was not.
    pub revoked_at: Option<Timestamp>,
    /// When the token was created.
    pub created_at: Timestamp,
}

/// A request to create an enrolment token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// The population that clients enrol in. It is created if it does not exist.
    pub population: PopulationName,
    /// A display name, 1 to 128 bytes without control characters. In a population of sites, every token needs one: the
    /// name of the site whose client enrols with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 128)]
    pub name: Option<DisplayName>,
    /// The user whose devices enrol with this token: an id chosen by the app, 1 to 128 bytes. Only its digest is
    /// stored. If the population's unit of privacy is `user`, every token must name a user, and the privacy budget
    /// treats all devices of a user as one client.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub user: Option<String>,
    /// The public keys of the app's own server, as PEM (Ed25519, P-256 or RSA), at most 8. Clients then enrol with a
    /// JWT that one of these keys verifies: `aud` is the token's id, `sub` is the user, and `exp` is at most a day
    /// ahead. All devices of a user count as this user's.
    #[serde(default)]
    #[schema(max_items = 8)]
    pub jwt_keys: Vec<String>,
    /// The maximum number of clients that may enrol, 1 to 2^53. The default is 1,000, or 1 in a population of
    /// sites, unless `unlimited_uses` is set.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[schema(minimum = 1, maximum = 9007199254740992_u64)]
    pub uses_max: Option<u64>,
    /// Allows any number of enrolments, so a leaked token can enrol clients without limit. It cannot be combined with
    /// `uses_max`.
    #[serde(default)]
    pub unlimited_uses: bool,
    /// The lifetime in seconds, 1 to 3,153,600,000 (100 years). The default is 2,592,000 (30 days), unless
    /// `no_expiry` is set.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[schema(minimum = 1, maximum = 3_153_600_000_u64)]
    pub expires_in_seconds: Option<u64>,
    /// Lets clients enrol until the token is revoked. It cannot be combined with `expires_in_seconds`.
    #[serde(default)]
    pub no_expiry: bool,
}

impl CreateTokenRequest {
    /// Returns a request with the default limits.
    pub fn of(population: PopulationName) -> Self {
        let (user, uses_max, expires_in_seconds) = (None, None, None);
        let jwt_keys = Vec::new();
        Self {
            population,
            name: None,
            user,
            jwt_keys,
            uses_max,
            unlimited_uses: false,
            expires_in_seconds,
            no_expiry: false,
        }
    }
}

/// A new enrolment token with its secret. The secret is returned only in this response.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    /// The token as `ID.SECRET`. Give it to clients. If the token has `jwt_keys`, this is only its id: your server writes
    /// it into the claim `aud`.
    pub token: String,
    /// The token's public data, as in the list of tokens.
    pub record: TokenView,
}

/// The result of revoking a token and its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevokedTokenClients {
    /// The public part of the token.
    #[schema(value_type = String)]
    pub token_id: String,
    /// The number of clients that this request revoked.
    pub clients_revoked: u64,
}
