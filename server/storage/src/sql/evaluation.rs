use async_trait::async_trait;
use folkmoot_protocol::TaskId;
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    column::{Columns, integer, json, missing, moment},
    metrics::{bind_metrics, metrics_of},
    rows::round::update_round,
    transaction::in_transaction,
};
use crate::{EvaluationRecord, EvaluationRepository, EvaluationSource, RoundRecord, StorageError};

/// The columns of lists. They leave out `class_report`, which may be long.
macro_rules! columns {
    () => {
        "task_id, version, source, slice, organisation_id, client_count, created_at, example_count, loss_sum_bits, \
         correct_count, step_count, metric_values"
    };
}

#[async_trait]
impl EvaluationRepository for SqlStorage {
    async fn record_evaluation(&self, evaluation: &EvaluationRecord) -> Result<(), StorageError> {
        in_transaction!(self, |connection| insert(connection, evaluation).await)
    }

    async fn end_evaluation(
        &self,
        record: &RoundRecord,
        evaluations: &[EvaluationRecord],
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            update_round(connection, record).await?;
            for evaluation in evaluations {
                insert(connection, evaluation).await?;
            }
            Ok(())
        })
    }

    async fn evaluations(&self, task_id: TaskId) -> Result<Vec<EvaluationRecord>, StorageError> {
        const SELECT: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM evaluations WHERE task_id = $1 AND slice = '' ORDER BY version, source"
        );
        let rows = sqlx::query(SELECT).bind(task_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(evaluation_of).collect()
    }

    async fn last_evaluated(
        &self,
        task_id: TaskId,
        source: EvaluationSource,
    ) -> Result<Option<u64>, StorageError> {
        const SELECT: &str =
            "SELECT MAX(version) AS version FROM evaluations WHERE task_id = $1 AND source = $2";
        let query = sqlx::query(SELECT).bind(task_id.to_string()).bind(source.name());
        Columns::new(&query.fetch_one(&self.reader).await?, "evaluation").optional_count("version")
    }

    async fn evaluations_at(
        &self,
        task_id: TaskId,
        version: u64,
    ) -> Result<Vec<EvaluationRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM evaluations WHERE task_id = $1 AND version = $2 AND slice = '' \
             ORDER BY source";
        let query = sqlx::query(SELECT).bind(task_id.to_string()).bind(integer(version)?);
        let rows = query.fetch_all(&self.reader).await?;
        let with_classes = |row: &AnyRow| {
            let classes = Columns::new(row, "evaluation").optional_json("class_report")?;
            Ok(EvaluationRecord { classes, ..evaluation_of(row)? })
        };
        rows.iter().map(with_classes).collect()
    }

    async fn evaluation_slices(&self, task_id: TaskId) -> Result<Vec<EvaluationRecord>, StorageError> {
        const SELECT: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM evaluations WHERE task_id = $1 AND slice <> '' ORDER BY version, slice, source"
        );
        let rows = sqlx::query(SELECT).bind(task_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(evaluation_of).collect()
    }
}

async fn insert(connection: &mut AnyConnection, evaluation: &EvaluationRecord) -> Result<(), StorageError> {
    const INSERT: &str = "INSERT INTO evaluations (task_id, version, source, slice, organisation_id, \
         client_count, created_at, metric_values, class_report, example_count, loss_sum_bits, correct_count, step_count) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING";
    let values = Some(&evaluation.values).filter(|values| !values.is_empty()).map(json).transpose()?;
    let query = sqlx::query(INSERT)
        .bind(evaluation.task_id.to_string())
        .bind(integer(evaluation.version)?)
        .bind(evaluation.source.name())
        .bind(&evaluation.slice)
        .bind(evaluation.organisation_id.to_string())
        .bind(integer(evaluation.client_count)?)
        .bind(moment(evaluation.created_at)?)
        .bind(values)
        .bind(evaluation.classes.as_ref().map(json).transpose()?);
    bind_metrics(query, &evaluation.metrics)?.execute(connection).await.map_err(missing("task"))?;
    Ok(())
}

fn evaluation_of(row: &AnyRow) -> Result<EvaluationRecord, StorageError> {
    let columns = Columns::new(row, "evaluation");
    Ok(EvaluationRecord {
        organisation_id: columns.parsed("organisation_id")?,
        task_id: columns.parsed("task_id")?,
        version: columns.count("version")?,
        source: columns.parsed("source")?,
        slice: columns.text("slice")?,
        client_count: columns.count("client_count")?,
        metrics: metrics_of(&columns)?,
        values: columns.optional_json("metric_values")?.unwrap_or_default(),
        classes: None,
        created_at: columns.moment("created_at")?,
    })
}
