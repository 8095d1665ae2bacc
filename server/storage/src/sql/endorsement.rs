use async_trait::async_trait;
use folkmoot_protocol::TaskId;

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, integer, missing, moment},
    transaction::in_transaction,
};
use crate::{EndorsementRecord, EndorsementRepository, StorageError, audit::Act};

#[async_trait]
impl EndorsementRepository for SqlStorage {
    async fn publish_endorsement(&self, endorsement: &EndorsementRecord) -> Result<(), StorageError> {
        // If two requests publish the same number at once, the primary key lets one of them in.
        const INSERT: &str = "INSERT INTO endorsements (task_id, organisation_id, sequence, signed, published_at) \
             SELECT $1, $2, $3, $4, $5 \
             WHERE NOT EXISTS (SELECT 1 FROM endorsements WHERE task_id = $1 AND sequence >= $3) \
             ON CONFLICT DO NOTHING";
        in_transaction!(self, |connection| {
            let inserted = sqlx::query(INSERT)
                .bind(endorsement.task_id.to_string())
                .bind(endorsement.organisation_id.to_string())
                .bind(integer(endorsement.sequence)?)
                .bind(&endorsement.signed)
                .bind(moment(endorsement.published_at)?)
                .execute(&mut *connection)
                .await
                .map_err(missing("task"))?;
            if inserted.rows_affected() != 1 {
                return Err(StorageError::RevisionConflict("endorsement"));
            }
            record(connection, self.dialect, || Act::endorsed(endorsement)).await
        })
    }

    async fn endorsement(&self, task_id: TaskId) -> Result<Option<String>, StorageError> {
        const SELECT: &str =
            "SELECT signed FROM endorsements WHERE task_id = $1 ORDER BY sequence DESC LIMIT 1";
        let row = sqlx::query(SELECT).bind(task_id.to_string()).fetch_optional(&self.reader).await?;
        row.map(|row| Columns::new(&row, "endorsement").text("signed")).transpose()
    }
}
