use async_trait::async_trait;
use folkmoot_protocol::{BlobDigest, OrganisationId};
use sqlx::any::AnyRow;

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, integer, json, missing, moment},
    transaction::in_transaction,
};
use crate::{ModelRecord, ModelRepository, StorageError, audit::Act};

#[async_trait]
impl ModelRepository for SqlStorage {
    async fn create_model(&self, model: &ModelRecord) -> Result<(), StorageError> {
        const INSERT: &str = "INSERT INTO models \
             (organisation_id, model, model_bytes, weights, tensor_schema, created_at, name) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (organisation_id, model) DO NOTHING";
        const RENAME: &str = "UPDATE models SET name = $1 WHERE organisation_id = $2 AND model = $3";
        in_transaction!(self, |connection| {
            let inserted = sqlx::query(INSERT)
                .bind(model.organisation_id.to_string())
                .bind(model.model.to_string())
                .bind(integer(model.model_bytes)?)
                .bind(model.weights.to_string())
                .bind(json(&model.schema)?)
                .bind(moment(model.created_at)?)
                .bind(model.name.clone())
                .execute(&mut *connection)
                .await
                .map_err(missing("organisation"))?;
            if inserted.rows_affected() > 0 {
                return record(connection, self.dialect, || Act::model_created(model)).await;
            }
            if let Some(name) = &model.name {
                let rename = sqlx::query(RENAME).bind(name).bind(model.organisation_id.to_string());
                rename.bind(model.model.to_string()).execute(connection).await?;
            }
            Ok(())
        })
    }

    async fn model(
        &self,
        organisation_id: OrganisationId,
        model: BlobDigest,
    ) -> Result<Option<ModelRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM models WHERE organisation_id = $1 AND model = $2")
            .bind(organisation_id.to_string())
            .bind(model.to_string());
        query.fetch_optional(&self.reader).await?.as_ref().map(model_of).transpose()
    }

    async fn models(
        &self,
        organisation_id: OrganisationId,
        limit: u32,
    ) -> Result<Vec<ModelRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM models WHERE organisation_id = $1 \
             ORDER BY created_at DESC, model DESC LIMIT $2";
        let query = sqlx::query(SELECT).bind(organisation_id.to_string()).bind(i64::from(limit));
        query.fetch_all(&self.reader).await?.iter().map(model_of).collect()
    }
}

fn model_of(row: &AnyRow) -> Result<ModelRecord, StorageError> {
    let columns = Columns::new(row, "model");
    Ok(ModelRecord {
        organisation_id: columns.parsed("organisation_id")?,
        name: columns.optional_parsed("name")?,
        model: columns.parsed("model")?,
        model_bytes: columns.count("model_bytes")?,
        weights: columns.parsed("weights")?,
        schema: columns.json("tensor_schema")?,
        created_at: columns.moment("created_at")?,
    })
}
