use async_trait::async_trait;
use folkmoot_coordinator::{
    participation::StartClocks,
    round::{Phase, Purpose},
};
use folkmoot_protocol::{OrganisationId, RoundId, TaskId, Timestamp};
use sqlx::AnyConnection;

use super::{
    SqlStorage,
    assignment::close::{expire_outstanding, leave_behind},
    check_in::take_check_ins,
    column::{Columns, integer},
    dialect::Dialect,
    ledger::charge,
    model_version::insert_model_version,
    page::ids_with,
    participation::record_starts,
    rows::assignment::{insert_assignments, select_accepted_updates},
    rows::round::{insert_round, round_of, update_round},
    secure::delete_messages,
    task::{end_task, serve},
    transaction::in_transaction,
};
use crate::{
    AcceptedUpdate, AssignmentRecord, Rest, RoundCommit, RoundRecord, RoundRepository, StorageError,
};

#[async_trait]
impl RoundRepository for SqlStorage {
    async fn open_round(&self, record: &RoundRecord) -> Result<(), StorageError> {
        in_transaction!(self, |connection| insert_round(connection, record).await)
    }

    async fn unfinished_rounds(&self, task_id: TaskId) -> Result<Vec<RoundRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM rounds WHERE task_id = $1 AND is_open = 1 ORDER BY purpose DESC";
        let rows = sqlx::query(SELECT).bind(task_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(round_of).collect()
    }

    async fn unfinished_round(&self, task_id: TaskId) -> Result<Option<RoundRecord>, StorageError> {
        let rounds = self.unfinished_rounds(task_id).await?;
        Ok(rounds.into_iter().find(|record| record.round.purpose == Purpose::Training))
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

    async fn abandoned_in_a_row(
        &self,
        task_id: TaskId,
        after_round: u64,
    ) -> Result<(u64, u64), StorageError> {
        // Phases are stored as JSON without spaces, so these patterns match.
        const SELECT: &str = "SELECT COUNT(*) AS round_count, COALESCE(MAX(number), 0) AS newest FROM rounds \
             WHERE task_id = $1 AND purpose = 'training' AND phase_name = 'abandoned' \
             AND (phase LIKE '%\"reason\":\"too_few_reports\"%' OR phase LIKE '%\"reason\":\"commit_failed\"%' \
             OR phase LIKE '%\"reason\":\"selection_failed\"%') \
             AND number > $2 AND number > COALESCE(( \
             SELECT number FROM rounds WHERE task_id = $1 AND phase_name = 'committed' \
             ORDER BY number DESC LIMIT 1), 0)";
        let query = sqlx::query(SELECT).bind(task_id.to_string()).bind(integer(after_round)?);
        let row = query.fetch_one(&self.reader).await?;
        let columns = Columns::new(&row, "round");
        Ok((columns.count("round_count")?, columns.count("newest")?))
    }

    async fn first_round_at(&self, task_id: TaskId) -> Result<Option<Timestamp>, StorageError> {
        const SELECT: &str = "SELECT MIN(created_at) AS began_at FROM rounds WHERE task_id = $1";
        let row = sqlx::query(SELECT).bind(task_id.to_string()).fetch_one(&self.reader).await?;
        Columns::new(&row, "round").optional_moment("began_at")
    }

    async fn assign_and_keep(
        &self,
        record: &RoundRecord,
        assignments: &[AssignmentRecord],
        clocks: &StartClocks,
        selection_state: Option<&[u8]>,
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            update_round(connection, record).await?;
            take_check_ins(connection, assignments).await?;
            insert_assignments(connection, assignments).await?;
            record_starts(connection, assignments, clocks).await?;
            if let Some(state) = selection_state {
                keep_selection(connection, record, state).await?;
            }
            serve(connection, record.round.task_id, assignments.len() as u64).await
        })
    }

    async fn selection_state(&self, task_id: TaskId) -> Result<Vec<u8>, StorageError> {
        const SELECT: &str = "SELECT state FROM selection_states WHERE task_id = $1";
        let row = sqlx::query(SELECT).bind(task_id.to_string()).fetch_optional(&self.reader).await?;
        let state =
            row.map(|row| Columns::new(&row, "selection state").optional_bytes("state")).transpose()?;
        Ok(state.flatten().unwrap_or_default())
    }

    async fn store_phase(&self, record: &RoundRecord) -> Result<(), StorageError> {
        in_transaction!(self, |connection| update_round(connection, record).await)
    }

    async fn close_reporting(
        &self,
        record: &RoundRecord,
        rest: Rest,
        now: Timestamp,
    ) -> Result<Vec<AcceptedUpdate>, StorageError> {
        let (Phase::Aggregating { accepted, .. } | Phase::Unmasking { accepted, .. }) = record.round.phase
        else {
            return Err(StorageError::RevisionConflict("round"));
        };
        in_transaction!(self, |connection| {
            // This waits until concurrent acceptances of updates have ended, and makes later ones wait.
            update_round(connection, record).await?;
            let updates = select_accepted_updates(&mut *connection, record.round.id).await?;
            if updates.len() as u64 != accepted {
                return Err(StorageError::RevisionConflict("round"));
            }
            if rest == Rest::Expires {
                expire_outstanding(connection, &record.round, now).await?;
            }
            Ok(updates)
        })
    }

    async fn commit_round(&self, commit: &RoundCommit<'_>) -> Result<(), StorageError> {
        in_transaction!(self, |connection| release(connection, self.dialect, commit).await)
    }

    async fn abandon_round(&self, record: &RoundRecord, now: Timestamp) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            update_round(connection, record).await?;
            delete_messages(connection, record.round.id).await?;
            expire_outstanding(connection, &record.round, now).await
        })
    }
}

/// Stores what the task's own selection keeps.
async fn keep_selection(
    connection: &mut AnyConnection,
    record: &RoundRecord,
    state: &[u8],
) -> Result<(), StorageError> {
    const UPSERT: &str = "INSERT INTO selection_states (task_id, organisation_id, state) VALUES ($1, $2, $3) \
         ON CONFLICT (task_id) DO UPDATE SET state = excluded.state";
    let query = sqlx::query(UPSERT).bind(record.round.task_id.to_string());
    query.bind(record.organisation_id.to_string()).bind(state.to_vec()).execute(connection).await?;
    Ok(())
}

impl SqlStorage {
    /// Lists the organisation's rounds whose id begins with `beginning`, at most `limit`. Ignores case. An empty beginning
    /// matches none.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn rounds_called(
        &self,
        organisation_id: OrganisationId,
        beginning: &str,
        limit: u32,
    ) -> Result<Vec<RoundId>, StorageError> {
        const SELECT: &str = "SELECT id FROM rounds WHERE organisation_id = $1 AND id >= $2 AND id < $3 \
             ORDER BY id LIMIT $4";
        let (from, to) = ids_with(beginning);
        let query = sqlx::query(SELECT).bind(organisation_id.to_string()).bind(from).bind(to);
        let rows = query.bind(i64::from(limit)).fetch_all(&self.reader).await?;
        rows.iter().map(|row| Columns::new(row, "round").parsed("id")).collect()
    }
}

async fn release(
    connection: &mut AnyConnection,
    dialect: Dialect,
    commit: &RoundCommit<'_>,
) -> Result<(), StorageError> {
    let RoundCommit { record, version, task_state, next, dropped, now, .. } = *commit;
    update_round(connection, record).await?;
    if !insert_model_version(connection, record.organisation_id, version).await? {
        return Err(StorageError::RevisionConflict("model version"));
    }
    charge(connection, dialect, commit).await?;
    delete_messages(connection, record.round.id).await?;
    leave_behind(connection, dropped, now).await?;
    match next {
        Some(next) => insert_round(connection, next).await?,
        None => expire_outstanding(connection, &record.round, now).await?,
    }
    match task_state {
        Some(state) => end_task(connection, record.round.task_id, state).await,
        None => Ok(()),
    }
}
