use folkmoot_protocol::{OrganisationId, PopulationName, Timestamp};
use sqlx::any::AnyRow;

use super::{
    SqlStorage,
    column::{Columns, missing, moment},
    transaction::in_transaction,
};
use crate::{PopulationRecord, PopulationRepository, StorageError};

impl PopulationRepository for SqlStorage {
    async fn ensure_organisation(
        &self,
        name: &str,
        id_if_new: OrganisationId,
        now: Timestamp,
    ) -> Result<OrganisationId, StorageError> {
        const INSERT: &str = "INSERT INTO organisations (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING";
        in_transaction!(self, |connection| {
            sqlx::query(INSERT)
                .bind(id_if_new.to_string())
                .bind(name)
                .bind(moment(now)?)
                .execute(&mut *connection)
                .await?;
            let query = sqlx::query("SELECT id FROM organisations WHERE name = $1").bind(name);
            let row = query.fetch_one(connection).await?;
            Columns::new(&row, "organisation").parsed("id")
        })
    }

    async fn ensure_population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        now: Timestamp,
    ) -> Result<PopulationRecord, StorageError> {
        const INSERT: &str = "INSERT INTO populations (organisation_id, name, created_at) VALUES ($1, $2, $3) \
             ON CONFLICT (organisation_id, name) DO NOTHING";
        const SELECT: &str = "SELECT organisation_id, name, created_at FROM populations WHERE organisation_id = $1 AND name = $2";
        in_transaction!(self, |connection| {
            sqlx::query(INSERT)
                .bind(organisation_id.to_string())
                .bind(name.as_str())
                .bind(moment(now)?)
                .execute(&mut *connection)
                .await
                .map_err(missing("organisation"))?;
            let query = sqlx::query(SELECT).bind(organisation_id.to_string()).bind(name.as_str());
            population_of(&query.fetch_one(connection).await?)
        })
    }

    async fn populations(
        &self,
        organisation_id: OrganisationId,
    ) -> Result<Vec<PopulationRecord>, StorageError> {
        const SELECT: &str = "SELECT organisation_id, name, created_at FROM populations WHERE organisation_id = $1 ORDER BY name";
        let rows = sqlx::query(SELECT).bind(organisation_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(population_of).collect()
    }
}

fn population_of(row: &AnyRow) -> Result<PopulationRecord, StorageError> {
    let columns = Columns::new(row, "population");
    Ok(PopulationRecord {
        organisation_id: columns.parsed("organisation_id")?,
        name: columns.parsed("name")?,
        created_at: columns.moment("created_at")?,
    })
}
