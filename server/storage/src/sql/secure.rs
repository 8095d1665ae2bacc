use async_trait::async_trait;
use folkmoot_coordinator::{
    round::{Phase, SecureStep},
    scheduling::ReportCounts,
};
use folkmoot_protocol::{AssignmentId, ClientId, RoundId, Timestamp};
use sqlx::{AnyConnection, AssertSqlSafe, any::AnyRow};

use super::{
    SqlStorage,
    assignment::close::{close_assignment, select_assignment},
    column::{Columns, moment},
    dialect::{Dialect, Lock},
    many::{ROWS_MAX, placeholders},
    participation::record_fault,
    rows::round::update_round,
    transaction::in_transaction,
};
use crate::{AssignmentStatus, DropReason, RecordOutcome, RoundRecord, SecureRepository, StorageError};

const LOCK: &str = "SELECT id FROM assignments WHERE id = $1";

#[async_trait]
impl SecureRepository for SqlStorage {
    async fn record_secure(
        &self,
        id: AssignmentId,
        step: SecureStep,
        message: &str,
        now: Timestamp,
    ) -> Result<RecordOutcome, StorageError> {
        in_transaction!(self, |connection| record(connection, self.dialect, id, step, message, now).await)
    }

    async fn secure_messages(
        &self,
        round_id: RoundId,
        step: SecureStep,
    ) -> Result<Vec<(AssignmentId, String)>, StorageError> {
        const SELECT: &str = "SELECT assignment_id, message FROM secure_messages \
             WHERE round_id = $1 AND step = $2 ORDER BY assignment_id";
        let query = sqlx::query(SELECT).bind(round_id.to_string()).bind(step.name());
        query.fetch_all(&self.reader).await?.iter().map(message_of).collect()
    }

    async fn secure_senders(
        &self,
        round_id: RoundId,
        step: SecureStep,
    ) -> Result<Vec<AssignmentId>, StorageError> {
        const SELECT: &str = "SELECT assignment_id FROM secure_messages \
             WHERE round_id = $1 AND step = $2 ORDER BY assignment_id";
        let query = sqlx::query(SELECT).bind(round_id.to_string()).bind(step.name());
        let sender = |row| Columns::new(row, "message").parsed("assignment_id");
        query.fetch_all(&self.reader).await?.iter().map(sender).collect()
    }

    async fn secure_messages_of(
        &self,
        ids: &[AssignmentId],
        step: SecureStep,
    ) -> Result<Vec<(AssignmentId, String)>, StorageError> {
        let mut messages = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(ROWS_MAX) {
            let sql = format!(
                "SELECT assignment_id, message FROM secure_messages WHERE step = $1 AND assignment_id IN ({})",
                placeholders(2, chunk.len())
            );
            let query = sqlx::query(AssertSqlSafe(sql)).bind(step.name());
            let query = chunk.iter().fold(query, |query, id| query.bind(id.to_string()));
            for row in &query.fetch_all(&self.reader).await? {
                messages.push(message_of(row)?);
            }
        }
        messages.sort_unstable_by_key(|(id, _)| *id);
        Ok(messages)
    }

    async fn step_counts(&self, round_id: RoundId, step: SecureStep) -> Result<ReportCounts, StorageError> {
        const SELECT: &str = "SELECT \
             COUNT(CASE WHEN status_name = 'outstanding' AND message IS NOT NULL THEN 1 END) AS accepted, \
             COUNT(CASE WHEN status_name = 'outstanding' AND message IS NULL THEN 1 END) AS outstanding, \
             COUNT(CASE WHEN status_name <> 'outstanding' THEN 1 END) AS dropped \
             FROM assignments LEFT JOIN secure_messages ON secure_messages.assignment_id = assignments.id \
             AND secure_messages.step = $2 WHERE assignments.round_id = $1";
        let query = sqlx::query(SELECT).bind(round_id.to_string()).bind(step.name());
        let row = query.fetch_one(&self.reader).await?;
        let columns = Columns::new(&row, "assignment");
        Ok(ReportCounts {
            accepted: columns.count("accepted")?,
            outstanding: columns.count("outstanding")?,
            dropped: columns.count("dropped")?,
        })
    }

    async fn blame(&self, id: AssignmentId, now: Timestamp) -> Result<ClientId, StorageError> {
        in_transaction!(self, |connection| {
            let query = sqlx::query(self.dialect.locked(LOCK, Lock::Update, "assignments"));
            query.bind(id.to_string()).fetch_optional(&mut *connection).await?;
            let assignment = select_assignment(&mut *connection, id).await?;
            record_fault(&mut *connection, &assignment, now).await?;
            Ok(assignment.client_id)
        })
    }

    async fn close_step(
        &self,
        record: &RoundRecord,
        step: SecureStep,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| close(connection, record, step, now).await)
    }
}

fn message_of(row: &AnyRow) -> Result<(AssignmentId, String), StorageError> {
    let columns = Columns::new(row, "message");
    Ok((columns.parsed("assignment_id")?, columns.text("message")?.to_owned()))
}

/// Records a message. The lock on the round excludes a concurrent end of the step, and the one on the assignment a second
/// message.
async fn record(
    connection: &mut AnyConnection,
    dialect: Dialect,
    id: AssignmentId,
    step: SecureStep,
    message: &str,
    now: Timestamp,
) -> Result<RecordOutcome, StorageError> {
    const ROUND: &str = "SELECT rounds.phase FROM rounds JOIN assignments ON assignments.round_id = rounds.id \
         WHERE assignments.id = $1";
    const STORED: &str = "SELECT message FROM secure_messages WHERE assignment_id = $1 AND step = $2";
    const INSERT: &str = "INSERT INTO secure_messages (assignment_id, step, round_id, organisation_id, message, recorded_at) \
         VALUES ($1, $2, $3, $4, $5, $6)";
    let query = sqlx::query(dialect.locked(ROUND, Lock::Share, "rounds")).bind(id.to_string());
    let row = query.fetch_optional(&mut *connection).await?.ok_or(StorageError::NotFound("assignment"))?;
    let phase: Phase = Columns::new(&row, "round").json("phase")?;
    let query = sqlx::query(dialect.locked(LOCK, Lock::Update, "assignments")).bind(id.to_string());
    query.fetch_optional(&mut *connection).await?;
    let query = sqlx::query(STORED).bind(id.to_string()).bind(step.name());
    if let Some(row) = query.fetch_optional(&mut *connection).await? {
        let is_same = Columns::new(&row, "message").text("message")? == message;
        return Ok(if is_same { RecordOutcome::Repeated } else { RecordOutcome::Conflict });
    }
    let assignment = select_assignment(&mut *connection, id).await?;
    if !step.is_open_in(&phase) || matches!(assignment.status, AssignmentStatus::Dropped { .. }) {
        return Ok(RecordOutcome::Closed);
    }
    let query = sqlx::query(INSERT)
        .bind(id.to_string())
        .bind(step.name())
        .bind(assignment.round_id.to_string())
        .bind(assignment.organisation_id.to_string())
        .bind(message.to_owned())
        .bind(moment(now)?);
    query.execute(connection).await?;
    Ok(RecordOutcome::Recorded)
}

async fn close(
    connection: &mut AnyConnection,
    record: &RoundRecord,
    step: SecureStep,
    now: Timestamp,
) -> Result<(), StorageError> {
    const MISSING: &str = "SELECT id FROM assignments WHERE round_id = $1 AND status_name = 'outstanding' \
         AND id NOT IN (SELECT assignment_id FROM secure_messages WHERE round_id = $1 AND step = $2)";
    const DELETE: &str = "DELETE FROM secure_messages WHERE round_id = $1 AND step = $2 \
         AND assignment_id IN (SELECT id FROM assignments WHERE round_id = $1 AND status_name = 'dropped')";
    update_round(connection, record).await?;
    let round = record.round.id.to_string();
    let rows = sqlx::query(MISSING).bind(&round).bind(step.name()).fetch_all(&mut *connection).await?;
    let expired = AssignmentStatus::Dropped { reason: DropReason::Expired };
    for row in rows {
        let id = Columns::new(&row, "assignment").parsed("id")?;
        close_assignment(&mut *connection, id, &expired, now).await?;
    }
    sqlx::query(DELETE).bind(&round).bind(step.name()).execute(connection).await?;
    Ok(())
}

/// Deletes the messages of a round that has ended.
pub(super) async fn delete_messages(
    connection: &mut AnyConnection,
    round_id: RoundId,
) -> Result<(), StorageError> {
    const DELETE: &str = "DELETE FROM secure_messages WHERE round_id = $1";
    sqlx::query(DELETE).bind(round_id.to_string()).execute(connection).await?;
    Ok(())
}
