//! The API's representation of a token, without its secret.

use folkmoot_api::tokens::TokenView;
use folkmoot_storage::TokenRecord;

/// Converts a token's record.
pub fn token_view(record: TokenRecord) -> TokenView {
    TokenView {
        id: record.id,
        name: record.name,
        population: record.population,
        user_key: record.user_key,
        jwt_keys: record.jwt_keys,
        uses: record.uses,
        uses_max: record.uses_max,
        expires_at: record.expires_at,
        closed_at: record.closed_at,
        revoked_at: record.revoked_at,
        created_at: record.created_at,
    }
}
