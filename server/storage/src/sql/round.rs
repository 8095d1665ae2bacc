use folkmoot_coordinator::{round::Phase, task::TaskState};
use folkmoot_protocol::{OrganisationId, RoundId, TaskId, Timestamp};
use sqlx::AnyConnection;

use super::{
    SqlStorage,
    assignment_close::expire_outstanding,
    assignment_rows::{insert_assignments, select_accepted_updates},
    check_in::take_check_ins,
    column::Columns,
    model_version::insert_model_version,
    round_rows::{insert_round, round_of, update_round},
    task::end_task,
    transaction::in_transaction,
};
use crate::{
    AcceptedUpdate, AssignmentRecord, ModelVersionRecord, RoundRecord, RoundRepository, StorageError,
};

impl RoundRepository for SqlStorage {
    async fn open_round(&self, record: &RoundRecord) -> Result<(), StorageError> {
        in_transaction!(self, |connection| insert_round(connection, record).await)
    }

    async fn unfinished_round(&self, task_id: TaskId) -> Result<Option<RoundRecord>, StorageError> {
        let query =
            sqlx::query("SELECT * FROM rounds WHERE task_id = $1 AND is_open = 1").bind(task_id.to_string());
        query.fetch_optional(&self.reader).await?.as_ref().map(round_of).transpose()
    }

    async fn round(
        &self,
        organisation_id: OrganisationId,
        id: RoundId,
    ) -> Result<Option<RoundRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM rounds WHERE organisation_id = $1 AND id = $2")
            .bind(organisation_id.to_string())
            .bind(id.to_string());
        query.fetch_optional(&self.reader).await?.as_ref().map(round_of).transpose()
    }

    async fn rounds(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<RoundRecord>, StorageError> {
        const SELECT: &str =
            "SELECT * FROM rounds WHERE task_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3";
        let rows = self.numbered_page(SELECT, task_id, limit, before).await?;
        rows.iter().map(round_of).collect()
    }

    async fn round_counts(&self, task_id: TaskId) -> Result<(u64, u64), StorageError> {
        const SELECT: &str = "SELECT COUNT(*) AS round_count, \
             COUNT(CASE WHEN phase_name = 'committed' THEN 1 END) AS committed_count \
             FROM rounds WHERE task_id = $1";
        let row = sqlx::query(SELECT).bind(task_id.to_string()).fetch_one(&self.reader).await?;
        let columns = Columns::new(&row, "round");
        Ok((columns.count("round_count")?, columns.count("committed_count")?))
    }

    async fn begin_reporting(
        &self,
        record: &RoundRecord,
        assignments: &[AssignmentRecord],
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            update_round(connection, record).await?;
            take_check_ins(connection, assignments).await?;
            insert_assignments(connection, assignments).await
        })
    }

    async fn close_reporting(
        &self,
        record: &RoundRecord,
        now: Timestamp,
    ) -> Result<Vec<AcceptedUpdate>, StorageError> {
        let Phase::Aggregating { accepted, .. } = record.round.phase else {
            return Err(StorageError::RevisionConflict("round"));
        };
        in_transaction!(self, |connection| {
            // Waits for whoever accepts an update just now, and makes those wait that come later.
            update_round(connection, record).await?;
            let updates = select_accepted_updates(&mut *connection, record.round.id).await?;
            if updates.len() as u64 != accepted {
                return Err(StorageError::RevisionConflict("round"));
            }
            expire_outstanding(connection, record.round.id, now).await?;
            Ok(updates)
        })
    }

    async fn commit_round(
        &self,
        record: &RoundRecord,
        version: &ModelVersionRecord,
        task_state: Option<TaskState>,
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| release(connection, record, version, task_state).await)
    }

    async fn abandon_round(&self, record: &RoundRecord, now: Timestamp) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            update_round(connection, record).await?;
            expire_outstanding(connection, record.round.id, now).await
        })
    }
}

async fn release(
    connection: &mut AnyConnection,
    record: &RoundRecord,
    version: &ModelVersionRecord,
    task_state: Option<TaskState>,
) -> Result<(), StorageError> {
    update_round(connection, record).await?;
    if !insert_model_version(connection, record.organisation_id, version).await? {
        return Err(StorageError::RevisionConflict("model version"));
    }
    match task_state {
        Some(state) => end_task(connection, record.round.task_id, state).await,
        None => Ok(()),
    }
}
