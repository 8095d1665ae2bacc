use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, TaskId};
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, integer, json, missing, moment},
    metrics::{bind_metrics, metrics_of},
    transaction::in_transaction,
};
use crate::{ModelVersionRecord, ModelVersionRepository, StorageError, audit::Act};

#[async_trait]
impl ModelVersionRepository for SqlStorage {
    async fn model_version(
        &self,
        task_id: TaskId,
        number: u64,
    ) -> Result<Option<ModelVersionRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM model_versions WHERE task_id = $1 AND number = $2")
            .bind(task_id.to_string())
            .bind(integer(number)?);
        query.fetch_optional(&self.reader).await?.as_ref().map(model_version_of).transpose()
    }

    async fn release_version(
        &self,
        organisation_id: OrganisationId,
        version: &ModelVersionRecord,
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            if !insert_model_version(connection, organisation_id, version).await? {
                return Err(StorageError::RevisionConflict("model version"));
            }
            record(connection, self.dialect, || Act::rolled_back(organisation_id, version)).await
        })
    }

    async fn latest_model_version(
        &self,
        task_id: TaskId,
    ) -> Result<Option<ModelVersionRecord>, StorageError> {
        Ok(self.model_versions(task_id, 1, None).await?.pop())
    }

    async fn model_versions(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<ModelVersionRecord>, StorageError> {
        const SELECT: &str =
            "SELECT * FROM model_versions WHERE task_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3";
        let rows = self.numbered_page(SELECT, task_id, limit, before).await?;
        rows.iter().map(model_version_of).collect()
    }

    async fn every_version(
        &self,
        task_id: TaskId,
        stride: u64,
    ) -> Result<Vec<ModelVersionRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM model_versions WHERE task_id = $1 AND (number % $2 = 0 OR number = \
             (SELECT MAX(number) FROM model_versions WHERE task_id = $1)) ORDER BY number";
        let query = sqlx::query(SELECT).bind(task_id.to_string()).bind(integer(stride.max(1))?);
        query.fetch_all(&self.reader).await?.iter().map(model_version_of).collect()
    }
}

/// Stores a version. Returns `false` if the task already has a version with this number.
pub(super) async fn insert_model_version(
    connection: &mut AnyConnection,
    organisation_id: OrganisationId,
    version: &ModelVersionRecord,
) -> Result<bool, StorageError> {
    const INSERT: &str = "INSERT INTO model_versions (task_id, number, organisation_id, round_id, weights, \
         weights_bytes, created_at, making, example_count, loss_sum_bits, correct_count, step_count) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (task_id, number) DO NOTHING";
    let query = sqlx::query(INSERT)
        .bind(version.task_id.to_string())
        .bind(integer(version.number)?)
        .bind(organisation_id.to_string())
        .bind(version.round_id.map(|id| id.to_string()))
        .bind(version.weights.to_string())
        .bind(integer(version.weights_bytes)?)
        .bind(moment(version.created_at)?)
        .bind(json(&version.making)?);
    let inserted = bind_metrics(query, &version.metrics)?.execute(connection).await;
    Ok(inserted.map_err(missing("task"))?.rows_affected() == 1)
}

fn model_version_of(row: &AnyRow) -> Result<ModelVersionRecord, StorageError> {
    let columns = Columns::new(row, "model version");
    Ok(ModelVersionRecord {
        task_id: columns.parsed("task_id")?,
        number: columns.count("number")?,
        round_id: columns.optional_parsed("round_id")?,
        weights: columns.parsed("weights")?,
        weights_bytes: columns.count("weights_bytes")?,
        metrics: metrics_of(&columns)?,
        making: columns.json("making")?,
        created_at: columns.moment("created_at")?,
        dropped_at: columns.optional_moment("dropped_at")?,
    })
}
