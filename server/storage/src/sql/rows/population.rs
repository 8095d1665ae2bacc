//! Rows of populations.

use sqlx::any::AnyRow;

use crate::sql::column::Columns;
use crate::{PopulationRecord, StorageError};

/// Selects one population.
pub(in crate::sql) const POPULATION: &str =
    "SELECT * FROM populations WHERE organisation_id = $1 AND name = $2";

/// Reads a row of `populations`.
pub(in crate::sql) fn population_of(row: &AnyRow) -> Result<PopulationRecord, StorageError> {
    let columns = Columns::new(row, "population");
    Ok(PopulationRecord {
        organisation_id: columns.parsed("organisation_id")?,
        name: columns.parsed("name")?,
        clients: columns.parsed("clients")?,
        privacy: columns.optional_json("privacy")?.unwrap_or_default(),
        viewers_download: columns.count("viewers_download")? != 0,
        created_at: columns.moment("created_at")?,
    })
}
