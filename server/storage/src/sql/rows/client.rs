//! Rows of clients.

use sqlx::any::AnyRow;

use crate::sql::column::Columns;
use crate::{ClientRecord, StorageError};

/// Reads a row of `clients`.
pub(in crate::sql) fn client_of(row: &AnyRow) -> Result<ClientRecord, StorageError> {
    let columns = Columns::new(row, "client");
    Ok(ClientRecord {
        id: columns.parsed("id")?,
        organisation_id: columns.parsed("organisation_id")?,
        population: columns.parsed("population")?,
        public_key: columns.text("public_key")?,
        token_id: columns.optional_parsed("token_id")?,
        user_key: columns.optional_parsed("user_key")?,
        site: columns.optional_parsed("site")?,
        enrolled_at: columns.moment("enrolled_at")?,
        revoked_at: columns.optional_moment("revoked_at")?,
    })
}
