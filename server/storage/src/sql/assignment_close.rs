//! How assignments end: accepted, dropped, expired.

use folkmoot_protocol::{AssignmentId, RoundId, Timestamp};
use sqlx::AnyConnection;

use super::{
    Dialect,
    assignment_rows::{insert_accepted_update, status_name},
    column::{Columns, json, moment},
    dialect::Lock,
};
use crate::{AcceptOutcome, AcceptedUpdate, AssignmentStatus, DropReason, StorageError};

/// Accepts an update.
///
/// The round is locked for sharing: any number of updates are accepted at once, but none while the round is
/// being closed. Then the assignment is locked, so that of two updates for it one is the second.
pub(super) async fn accept(
    connection: &mut AnyConnection,
    dialect: Dialect,
    update: &AcceptedUpdate,
) -> Result<AcceptOutcome, StorageError> {
    const ROUND: &str = "SELECT rounds.id, rounds.organisation_id, rounds.phase_name FROM rounds \
         JOIN assignments ON assignments.round_id = rounds.id WHERE assignments.id = $1";
    const ASSIGNMENT: &str = "SELECT status FROM assignments WHERE id = $1";
    let id = update.assignment_id.to_string();
    let query = sqlx::query(dialect.locked(ROUND, Lock::Share, "rounds")).bind(&id);
    let round = query.fetch_optional(&mut *connection).await?.ok_or(StorageError::NotFound("assignment"))?;
    let round = Columns::new(&round, "round");
    let query = sqlx::query(dialect.locked(ASSIGNMENT, Lock::Update, "assignments")).bind(&id);
    let assignment = query.fetch_one(&mut *connection).await?;
    match Columns::new(&assignment, "assignment").json("status")? {
        AssignmentStatus::Accepted { digest } if digest == update.digest => {
            return Ok(AcceptOutcome::AlreadyAccepted);
        }
        AssignmentStatus::Accepted { .. } => return Ok(AcceptOutcome::Conflict),
        AssignmentStatus::Dropped { .. } => return Ok(AcceptOutcome::Closed),
        AssignmentStatus::Outstanding => {}
    }
    if round.text("phase_name")? != "reporting" {
        return Ok(AcceptOutcome::Closed);
    }
    let status = AssignmentStatus::Accepted { digest: update.digest };
    close_assignment(connection, update.assignment_id, &status, update.accepted_at).await?;
    insert_accepted_update(connection, round.parsed("id")?, round.parsed("organisation_id")?, update).await?;
    Ok(AcceptOutcome::Accepted)
}

/// Gives an outstanding assignment its last status; `false` if it is not outstanding.
///
/// # Errors
/// [`StorageError::NotFound`] if there is no such assignment.
pub(super) async fn close_assignment(
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

/// Lets a round's outstanding assignments expire.
pub(super) async fn expire_outstanding(
    connection: &mut AnyConnection,
    round_id: RoundId,
    now: Timestamp,
) -> Result<(), StorageError> {
    const UPDATE: &str = "UPDATE assignments SET status = $1, status_name = $2, closed_at = $3 \
         WHERE round_id = $4 AND status_name = 'outstanding'";
    let expired = AssignmentStatus::Dropped { reason: DropReason::Expired };
    let query = sqlx::query(UPDATE)
        .bind(json(&expired)?)
        .bind(status_name(&expired))
        .bind(moment(now)?)
        .bind(round_id.to_string());
    query.execute(connection).await?;
    Ok(())
}
