//! Assignments and accepted updates in SQL.

use folkmoot_protocol::{OrganisationId, RoundId};
use sqlx::{Any, AnyConnection, AssertSqlSafe, Executor, any::AnyRow};

use super::round::purpose_of;
use crate::sql::{
    column::{Columns, integer, json, missing, moment},
    many::{ROWS_MAX, placeholder_rows},
    metrics::{bind_metrics, metrics_of},
};
use crate::{AcceptedUpdate, AssignmentRecord, AssignmentStatus, HeldUpdate, StorageError, UpdateTraffic};

/// Stores new assignments.
///
/// # Errors
/// [`StorageError::RevisionConflict`] if one of the clients has another outstanding assignment.
pub(in crate::sql) async fn insert_assignments(
    connection: &mut AnyConnection,
    assignments: &[AssignmentRecord],
) -> Result<(), StorageError> {
    for chunk in assignments.chunks(ROWS_MAX) {
        let sql = format!(
            "INSERT INTO assignments (id, organisation_id, task_id, round_id, round_number, client_id, \
             base_version, created_at, deadline, status, status_name, slices, purpose) VALUES {} \
             ON CONFLICT DO NOTHING",
            placeholder_rows(chunk.len(), 13)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for assignment in chunk {
            query = query
                .bind(assignment.id.to_string())
                .bind(assignment.organisation_id.to_string())
                .bind(assignment.task_id.to_string())
                .bind(assignment.round_id.to_string())
                .bind(integer(assignment.round_number)?)
                .bind(assignment.client_id.to_string())
                .bind(integer(assignment.base_version)?)
                .bind(moment(assignment.created_at)?)
                .bind(moment(assignment.deadline)?)
                .bind(json(&assignment.status)?)
                .bind(status_name(&assignment.status))
                .bind(json(&assignment.slices)?)
                .bind(assignment.purpose.name());
        }
        let inserted = query.execute(&mut *connection).await.map_err(missing("client"))?;
        if inserted.rows_affected() != chunk.len() as u64 {
            return Err(StorageError::RevisionConflict("cohort"));
        }
    }
    Ok(())
}

/// Stores an accepted update.
pub(in crate::sql) async fn insert_accepted_update(
    connection: &mut AnyConnection,
    round_id: RoundId,
    organisation_id: OrganisationId,
    update: &AcceptedUpdate,
) -> Result<(), StorageError> {
    const INSERT: &str = "INSERT INTO client_updates (assignment_id, organisation_id, round_id, digest, \
         update_bytes, weight, accepted_at, codec, place, held_by, extent, \
         example_count, loss_sum_bits, correct_count, step_count) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    let held = update.held.as_ref();
    let query = sqlx::query(INSERT)
        .bind(update.assignment_id.to_string())
        .bind(organisation_id.to_string())
        .bind(round_id.to_string())
        .bind(update.digest.to_string())
        .bind(integer(update.bytes)?)
        .bind(integer(update.weight)?)
        .bind(moment(update.accepted_at)?)
        .bind(&update.codec)
        .bind(update.place.as_ref().map(json).transpose()?)
        .bind(held.map(|held| held.by.as_str()))
        .bind(held.map(|held| json(&held.extent)).transpose()?);
    bind_metrics(query, &update.metrics)?.execute(connection).await?;
    Ok(())
}

/// Lists a round's accepted updates, by assignment id.
pub(in crate::sql) async fn select_accepted_updates(
    executor: impl Executor<'_, Database = Any>,
    round_id: RoundId,
) -> Result<Vec<AcceptedUpdate>, StorageError> {
    const SELECT: &str = "SELECT client_updates.*, assignments.round_id AS given_in, assignments.base_version \
         FROM client_updates JOIN assignments ON assignments.id = client_updates.assignment_id \
         WHERE client_updates.round_id = $1 ORDER BY client_updates.assignment_id";
    let query = sqlx::query(SELECT);
    let rows = query.bind(round_id.to_string()).fetch_all(executor).await?;
    rows.iter().map(accepted_update_of).collect()
}

/// Lists the traffic of a round's accepted updates, by assignment id.
pub(in crate::sql) async fn select_traffic(
    executor: impl Executor<'_, Database = Any>,
    round_id: RoundId,
) -> Result<Vec<UpdateTraffic>, StorageError> {
    const SELECT: &str = "SELECT client_updates.codec, client_updates.update_bytes, assignments.slices, \
         reports.report FROM client_updates \
         JOIN assignments ON assignments.id = client_updates.assignment_id \
         LEFT JOIN reports ON reports.assignment_id = client_updates.assignment_id \
         WHERE client_updates.round_id = $1 ORDER BY client_updates.assignment_id";
    let rows = sqlx::query(SELECT).bind(round_id.to_string()).fetch_all(executor).await?;
    let traffic = |row| {
        let columns = Columns::new(row, "client update");
        Ok(UpdateTraffic {
            codec: columns.text("codec")?,
            slices: columns.json("slices")?,
            bytes: columns.count("update_bytes")?,
            report: columns.optional_json("report")?,
        })
    };
    rows.iter().map(traffic).collect()
}

pub(in crate::sql) fn status_name(status: &AssignmentStatus) -> &'static str {
    match status {
        AssignmentStatus::Outstanding => "outstanding",
        AssignmentStatus::Accepted { .. } => "accepted",
        AssignmentStatus::Dropped { .. } => "dropped",
    }
}

pub(in crate::sql) fn assignment_of(row: &AnyRow) -> Result<AssignmentRecord, StorageError> {
    let columns = Columns::new(row, "assignment");
    Ok(AssignmentRecord {
        id: columns.parsed("id")?,
        organisation_id: columns.parsed("organisation_id")?,
        task_id: columns.parsed("task_id")?,
        round_id: columns.parsed("round_id")?,
        round_number: columns.count("round_number")?,
        purpose: purpose_of(&columns)?,
        client_id: columns.parsed("client_id")?,
        base_version: columns.count("base_version")?,
        created_at: columns.moment("created_at")?,
        deadline: columns.moment("deadline")?,
        slices: columns.json("slices")?,
        status: columns.json("status")?,
    })
}

fn accepted_update_of(row: &AnyRow) -> Result<AcceptedUpdate, StorageError> {
    let columns = Columns::new(row, "client update");
    Ok(AcceptedUpdate {
        assignment_id: columns.parsed("assignment_id")?,
        round_id: columns.parsed("given_in")?,
        base_version: columns.count("base_version")?,
        digest: columns.parsed("digest")?,
        bytes: columns.count("update_bytes")?,
        codec: columns.text("codec")?,
        weight: columns.count("weight")?,
        metrics: metrics_of(&columns)?,
        accepted_at: columns.moment("accepted_at")?,
        place: columns.optional_json("place")?,
        held: match columns.optional_parsed("held_by")? {
            Some(by) => Some(HeldUpdate { by, extent: columns.json("extent")? }),
            None => None,
        },
    })
}
