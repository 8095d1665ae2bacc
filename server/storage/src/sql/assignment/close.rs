//! The ways in which assignments end: accepted, dropped or expired.

use folkmoot_coordinator::{
    participation::Push,
    round::{Phase, Round},
};
use folkmoot_protocol::{AssignmentId, RoundId, Timestamp};
use sqlx::AnyConnection;

use crate::sql::{
    Dialect,
    column::{Columns, json, moment},
    dialect::Lock,
    participation::{record_failure, record_push},
    rows::assignment::{assignment_of, insert_accepted_update, status_name},
    site::record_expiries_of_sites,
};
use crate::{AcceptOutcome, AcceptedUpdate, AssignmentRecord, AssignmentStatus, DropReason, StorageError};

/// Accepts an update.
///
/// First, the round that would combine the update is locked: in shared mode, or exclusively if the round limits the
/// number of updates. So many updates can be accepted concurrently, but none while the round is being closed. Then the
/// assignment is locked, so that two updates for one assignment are processed one after the other.
pub(in crate::sql) async fn accept(
    connection: &mut AnyConnection,
    dialect: Dialect,
    update: &AcceptedUpdate,
) -> Result<AcceptOutcome, StorageError> {
    const LOCK: &str = "SELECT id FROM assignments WHERE id = $1";
    let open = lock_open_round(connection, dialect, update.assignment_id).await?;
    let query =
        sqlx::query(dialect.locked(LOCK, Lock::Update, "assignments")).bind(update.assignment_id.to_string());
    query.fetch_optional(&mut *connection).await?;
    let assignment = select_assignment(&mut *connection, update.assignment_id).await?;
    match assignment.status {
        AssignmentStatus::Accepted { digest, .. } if digest == update.digest => {
            return Ok(AcceptOutcome::AlreadyAccepted);
        }
        AssignmentStatus::Accepted { .. } => return Ok(AcceptOutcome::Conflict),
        AssignmentStatus::Dropped { .. } => return Ok(AcceptOutcome::Closed),
        AssignmentStatus::Outstanding => {}
    }
    let Some((round_id, was_asked)) = open else { return Ok(AcceptOutcome::Later) };
    let status = AssignmentStatus::Accepted { digest: update.digest, bytes: update.bytes };
    close_assignment(connection, update.assignment_id, &status, update.accepted_at).await?;
    insert_accepted_update(connection, round_id, assignment.organisation_id, update).await?;
    let push = Push {
        started_at: assignment.created_at,
        was_asked,
        at: update.accepted_at,
        base_version: assignment.base_version,
        loss_sum: update.metrics.loss_sum,
        example_count: update.metrics.example_count,
    };
    record_push(connection, &assignment, push).await?;
    Ok(AcceptOutcome::Accepted)
}

/// Locks the open round of the assignment's task and purpose. If that round accepts another update, returns its id and
/// whether it has asked its clients to send their updates.
async fn lock_open_round(
    connection: &mut AnyConnection,
    dialect: Dialect,
    id: AssignmentId,
) -> Result<Option<(RoundId, bool)>, StorageError> {
    const OPEN: &str = "SELECT open.id, open.updates_max FROM assignments \
         JOIN rounds AS open ON open.task_id = assignments.task_id AND open.purpose = assignments.purpose \
         WHERE assignments.id = $1 AND open.is_open = 1";
    const ROUND: &str = "SELECT phase FROM rounds WHERE id = $1";
    const COUNT: &str = "SELECT COUNT(*) AS accepted FROM client_updates WHERE round_id = $1";
    let row = sqlx::query(OPEN).bind(id.to_string()).fetch_optional(&mut *connection).await?;
    let Some(row) = row else { return Ok(None) };
    let columns = Columns::new(&row, "round");
    let (round_id, updates_max): (RoundId, _) =
        (columns.parsed("id")?, columns.optional_count("updates_max")?);
    let lock = if updates_max.is_some() { Lock::Update } else { Lock::Share };
    let query = sqlx::query(dialect.locked(ROUND, lock, "rounds")).bind(round_id.to_string());
    let row = query.fetch_one(&mut *connection).await?;
    let phase: Phase = Columns::new(&row, "round").json("phase")?;
    if !matches!(phase, Phase::Reporting { .. } | Phase::Collecting { .. }) {
        return Ok(None);
    }
    let open = (round_id, phase.asked().is_some());
    let Some(updates_max) = updates_max else { return Ok(Some(open)) };
    let row = sqlx::query(COUNT).bind(round_id.to_string()).fetch_one(connection).await?;
    let accepted = Columns::new(&row, "client update").count("accepted")?;
    Ok((accepted < updates_max).then_some(open))
}

/// Reads an assignment.
///
/// # Errors
/// [`StorageError::NotFound`] if there is none.
pub(in crate::sql) async fn select_assignment(
    connection: &mut AnyConnection,
    id: AssignmentId,
) -> Result<AssignmentRecord, StorageError> {
    let query = sqlx::query("SELECT * FROM assignments WHERE id = $1").bind(id.to_string());
    let row = query.fetch_optional(connection).await?.ok_or(StorageError::NotFound("assignment"))?;
    assignment_of(&row)
}

/// Closes an outstanding assignment with its final status. Returns `false` if it is not outstanding.
///
/// # Errors
/// [`StorageError::NotFound`] if there is no such assignment.
pub(in crate::sql) async fn close_assignment(
    connection: &mut AnyConnection,
    id: AssignmentId,
    status: &AssignmentStatus,
    now: Timestamp,
) -> Result<bool, StorageError> {
    const UPDATE: &str = "UPDATE assignments SET status = $1, status_name = $2, closed_at = $3 \
         WHERE id = $4 AND status_name = 'outstanding'";
    let query = sqlx::query(UPDATE)
        .bind(json(status)?)
        .bind(status_name(status))
        .bind(moment(now)?)
        .bind(id.to_string());
    if query.execute(&mut *connection).await?.rows_affected() == 1 {
        return Ok(true);
    }
    let query = sqlx::query("SELECT id FROM assignments WHERE id = $1").bind(id.to_string());
    let found = query.fetch_optional(connection).await?;
    found.map(|_| false).ok_or(StorageError::NotFound("assignment"))
}

/// Lets the outstanding assignments of a round's task and purpose expire. Records a failure for each client whose
/// deadline has passed.
pub(in crate::sql) async fn expire_outstanding(
    connection: &mut AnyConnection,
    round: &Round,
    now: Timestamp,
) -> Result<(), StorageError> {
    const OVERDUE: &str = "SELECT * FROM assignments WHERE task_id = $1 AND purpose = $2 \
         AND status_name = 'outstanding' AND deadline <= $3";
    const UPDATE: &str = "UPDATE assignments SET status = $1, status_name = $2, closed_at = $3 \
         WHERE task_id = $4 AND status_name = 'outstanding' AND purpose = $5";
    let query =
        sqlx::query(OVERDUE).bind(round.task_id.to_string()).bind(round.purpose.name()).bind(moment(now)?);
    let overdue = query.fetch_all(&mut *connection).await?;
    for row in &overdue {
        record_failure(connection, &assignment_of(row)?, now).await?;
    }
    if !overdue.is_empty() {
        record_expiries_of_sites(connection, round, now).await?;
    }
    let expired = AssignmentStatus::Dropped { reason: DropReason::Expired };
    let query = sqlx::query(UPDATE)
        .bind(json(&expired)?)
        .bind(status_name(&expired))
        .bind(moment(now)?)
        .bind(round.task_id.to_string())
        .bind(round.purpose.name());
    query.execute(connection).await?;
    Ok(())
}

/// Drops the outstanding ones among these assignments, because their work became too stale.
pub(in crate::sql) async fn leave_behind(
    connection: &mut AnyConnection,
    assignments: &[AssignmentId],
    now: Timestamp,
) -> Result<(), StorageError> {
    let status = AssignmentStatus::Dropped { reason: DropReason::LeftBehind };
    for id in assignments {
        close_assignment(connection, *id, &status, now).await?;
    }
    Ok(())
}
