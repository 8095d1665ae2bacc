pub(super) mod close;
pub(super) mod partial_sum;

use std::collections::BTreeSet;

use async_trait::async_trait;
use folkmoot_coordinator::{
    scheduling::{Outstanding, ReportCounts},
    selection::TokenCounts,
};
use folkmoot_protocol::{AssignmentId, ClientId, RoundId, TaskId, Timestamp, messages::ReportRequest};

use self::close::{accept, close_assignment, select_assignment};
use super::{
    SqlStorage,
    column::{Columns, json, moment},
    participation::record_failure,
    rows::assignment::{assignment_of, select_accepted_updates, select_traffic},
    site::record_site_failure,
    transaction::in_transaction,
};
use crate::{
    AcceptOutcome, AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus, CloseOutcome,
    DropReason, StorageError, UpdateTraffic,
};

#[async_trait]
impl AssignmentRepository for SqlStorage {
    async fn assignment(&self, id: AssignmentId) -> Result<Option<AssignmentRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM assignments WHERE id = $1").bind(id.to_string());
        query.fetch_optional(&self.reader).await?.as_ref().map(assignment_of).transpose()
    }

    async fn outstanding_assignment(
        &self,
        client_id: ClientId,
    ) -> Result<Option<AssignmentRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM assignments WHERE client_id = $1 AND status_name = 'outstanding'";
        let query = sqlx::query(SELECT).bind(client_id.to_string());
        query.fetch_optional(&self.reader).await?.as_ref().map(assignment_of).transpose()
    }

    async fn assignments(&self, round_id: RoundId) -> Result<Vec<AssignmentRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM assignments WHERE round_id = $1 ORDER BY id");
        let rows = query.bind(round_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(assignment_of).collect()
    }

    async fn accept_update(&self, update: &AcceptedUpdate) -> Result<AcceptOutcome, StorageError> {
        in_transaction!(self, |connection| accept(connection, self.dialect, update).await)
    }

    async fn drop_assignment(
        &self,
        id: AssignmentId,
        reason: &DropReason,
        now: Timestamp,
    ) -> Result<CloseOutcome, StorageError> {
        let status = AssignmentStatus::Dropped { reason: reason.clone() };
        in_transaction!(self, |connection| {
            let is_closed = close_assignment(connection, id, &status, now).await?;
            if !is_closed {
                return Ok(CloseOutcome::Unchanged);
            }
            let assignment = select_assignment(&mut *connection, id).await?;
            record_site_failure(connection, &assignment, reason, now).await?;
            record_failure(connection, &assignment, now).await?;
            Ok(CloseOutcome::Dropped)
        })
    }

    async fn report_counts(&self, round_id: RoundId) -> Result<ReportCounts, StorageError> {
        const SELECT: &str = "SELECT COUNT(CASE WHEN status_name = 'accepted' THEN 1 END) AS accepted, \
             COUNT(CASE WHEN status_name = 'outstanding' THEN 1 END) AS outstanding, \
             COUNT(CASE WHEN status_name = 'dropped' THEN 1 END) AS dropped \
             FROM assignments WHERE round_id = $1";
        let row = sqlx::query(SELECT).bind(round_id.to_string()).fetch_one(&self.reader).await?;
        let columns = Columns::new(&row, "assignment");
        Ok(ReportCounts {
            accepted: columns.count("accepted")?,
            outstanding: columns.count("outstanding")?,
            dropped: columns.count("dropped")?,
        })
    }

    async fn flow_counts(&self, task_id: TaskId, round_id: RoundId) -> Result<ReportCounts, StorageError> {
        const SELECT: &str = "SELECT (SELECT COUNT(*) FROM client_updates WHERE round_id = $1) AS accepted, \
             (SELECT COUNT(*) FROM assignments WHERE round_id = $1 AND status_name = 'dropped') AS dropped, \
             COUNT(*) AS outstanding FROM assignments \
             WHERE task_id = $2 AND status_name = 'outstanding' AND purpose = 'training'";
        let query = sqlx::query(SELECT).bind(round_id.to_string()).bind(task_id.to_string());
        let row = query.fetch_one(&self.reader).await?;
        let columns = Columns::new(&row, "assignment");
        Ok(ReportCounts {
            accepted: columns.count("accepted")?,
            outstanding: columns.count("outstanding")?,
            dropped: columns.count("dropped")?,
        })
    }

    async fn flow_tokens(&self, task_id: TaskId, round_id: RoundId) -> Result<TokenCounts, StorageError> {
        const SELECT: &str = "SELECT clients.token_id, COUNT(*) AS client_count FROM (SELECT client_id FROM assignments \
             WHERE task_id = $1 AND status_name = 'outstanding' AND purpose = 'training' \
             UNION ALL SELECT assignments.client_id FROM client_updates \
             JOIN assignments ON assignments.id = client_updates.assignment_id WHERE client_updates.round_id = $2) \
             AS present JOIN clients ON clients.id = present.client_id GROUP BY clients.token_id";
        let query = sqlx::query(SELECT).bind(task_id.to_string()).bind(round_id.to_string());
        let count = |row| {
            let columns = Columns::new(row, "client");
            Ok((columns.optional_parsed("token_id")?, columns.count("client_count")?))
        };
        query.fetch_all(&self.reader).await?.iter().map(count).collect()
    }

    async fn outstanding(&self, task_id: TaskId) -> Result<Vec<Outstanding>, StorageError> {
        const SELECT: &str = "SELECT id, client_id, base_version, deadline FROM assignments \
             WHERE task_id = $1 AND status_name = 'outstanding' AND purpose = 'training' ORDER BY id";
        let rows = sqlx::query(SELECT).bind(task_id.to_string()).fetch_all(&self.reader).await?;
        let outstanding = |row| {
            let columns = Columns::new(row, "assignment");
            Ok(Outstanding {
                assignment_id: columns.parsed("id")?,
                client_id: columns.parsed("client_id")?,
                base_version: columns.count("base_version")?,
                deadline: columns.moment("deadline")?,
            })
        };
        rows.iter().map(outstanding).collect()
    }

    async fn needed_logs(&self) -> Result<BTreeSet<(RoundId, AssignmentId)>, StorageError> {
        const SELECT: &str = "SELECT round_id, id FROM assignments WHERE status_name = 'outstanding' \
             UNION SELECT assignments.round_id, assignments.id FROM rounds \
             JOIN client_updates ON client_updates.round_id = rounds.id \
             JOIN assignments ON assignments.id = client_updates.assignment_id WHERE rounds.is_open = 1 \
             UNION SELECT partial_sums.round_id, partial_sums.segment FROM rounds \
             JOIN partial_sums ON partial_sums.round_id = rounds.id WHERE rounds.is_open = 1";
        let rows = sqlx::query(SELECT).fetch_all(&self.reader).await?;
        let log = |row| {
            let columns = Columns::new(row, "assignment");
            Ok((columns.parsed("round_id")?, columns.parsed("id")?))
        };
        rows.iter().map(log).collect()
    }

    async fn accepted_updates(&self, round_id: RoundId) -> Result<Vec<AcceptedUpdate>, StorageError> {
        select_accepted_updates(&self.reader, round_id).await
    }

    async fn traffic(&self, round_id: RoundId) -> Result<Vec<UpdateTraffic>, StorageError> {
        select_traffic(&self.reader, round_id).await
    }

    async fn record_report(
        &self,
        id: AssignmentId,
        report: &ReportRequest,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        const INSERT: &str = "INSERT INTO reports (assignment_id, organisation_id, report, reported_at) \
             VALUES ($1, $2, $3, $4) ON CONFLICT (assignment_id) DO NOTHING";
        in_transaction!(self, |connection| {
            let query =
                sqlx::query("SELECT organisation_id FROM assignments WHERE id = $1").bind(id.to_string());
            let row = query.fetch_optional(&mut *connection).await?;
            let row = row.ok_or(StorageError::NotFound("assignment"))?;
            let query = sqlx::query(INSERT)
                .bind(id.to_string())
                .bind(Columns::new(&row, "assignment").text("organisation_id")?)
                .bind(json(report)?)
                .bind(moment(now)?);
            query.execute(connection).await?;
            Ok(())
        })
    }

    async fn report(&self, id: AssignmentId) -> Result<Option<ReportRequest>, StorageError> {
        let query = sqlx::query("SELECT report FROM reports WHERE assignment_id = $1").bind(id.to_string());
        let row = query.fetch_optional(&self.reader).await?;
        row.map(|row| Columns::new(&row, "report").json("report")).transpose()
    }
}
