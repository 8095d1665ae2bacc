//! Rounds in SQL.

use folkmoot_coordinator::round::{Purpose, Round};
use folkmoot_protocol::RoundId;
use sqlx::{AnyConnection, any::AnyRow};

use crate::sql::column::{Columns, integer, json, missing, moment, optional_integer};
use crate::{RoundRecord, StorageError};

/// Stores a new round. Returns a conflict if the task already has a round with this number, or an open round of the
/// same purpose.
pub(in crate::sql) async fn insert_round(
    connection: &mut AnyConnection,
    record: &RoundRecord,
) -> Result<(), StorageError> {
    // Without a conflict target, `ON CONFLICT` covers both constraints: unique numbers, and one open round.
    const INSERT: &str = "INSERT INTO rounds (id, organisation_id, task_id, number, base_version, phase, \
         phase_name, is_open, created_at, revision, purpose, updates_max) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT DO NOTHING";
    let round = &record.round;
    let inserted = sqlx::query(INSERT)
        .bind(round.id.to_string())
        .bind(record.organisation_id.to_string())
        .bind(round.task_id.to_string())
        .bind(integer(round.number)?)
        .bind(integer(round.base_version)?)
        .bind(json(&round.phase)?)
        .bind(round.phase.name())
        .bind(i64::from(!round.phase.is_final()))
        .bind(moment(record.created_at)?)
        .bind(integer(record.revision)?)
        .bind(round.purpose.name())
        .bind(optional_integer(record.updates_max)?)
        .execute(connection)
        .await
        .map_err(missing("task"))?;
    if inserted.rows_affected() == 1 { Ok(()) } else { Err(StorageError::RevisionConflict("round")) }
}

/// Stores a round's next phase; fails if the round was changed concurrently. The row stays locked until the transaction
/// ends.
pub(in crate::sql) async fn update_round(
    connection: &mut AnyConnection,
    record: &RoundRecord,
) -> Result<(), StorageError> {
    const UPDATE: &str = "UPDATE rounds SET phase = $1, phase_name = $2, is_open = $3, revision = revision + 1 \
         WHERE id = $4 AND organisation_id = $5 AND revision = $6";
    let phase = &record.round.phase;
    let updated = sqlx::query(UPDATE)
        .bind(json(phase)?)
        .bind(phase.name())
        .bind(i64::from(!phase.is_final()))
        .bind(record.round.id.to_string())
        .bind(record.organisation_id.to_string())
        .bind(integer(record.revision)?)
        .execute(&mut *connection)
        .await?;
    if updated.rows_affected() != 1 {
        return Err(StorageError::RevisionConflict("round"));
    }
    if phase.is_final() { delete_partial_sums(connection, record.round.id).await } else { Ok(()) }
}

/// Deletes the questions and answers of a round that has ended.
async fn delete_partial_sums(connection: &mut AnyConnection, round_id: RoundId) -> Result<(), StorageError> {
    let query = sqlx::query("DELETE FROM partial_sums WHERE round_id = $1").bind(round_id.to_string());
    query.execute(connection).await?;
    Ok(())
}

pub(in crate::sql) fn round_of(row: &AnyRow) -> Result<RoundRecord, StorageError> {
    let columns = Columns::new(row, "round");
    Ok(RoundRecord {
        organisation_id: columns.parsed("organisation_id")?,
        round: Round {
            id: columns.parsed("id")?,
            task_id: columns.parsed("task_id")?,
            number: columns.count("number")?,
            purpose: purpose_of(&columns)?,
            base_version: columns.count("base_version")?,
            phase: columns.json("phase")?,
        },
        updates_max: columns.optional_count("updates_max")?,
        created_at: columns.moment("created_at")?,
        revision: columns.count("revision")?,
    })
}

/// Reads the column `purpose`.
pub(in crate::sql) fn purpose_of(columns: &Columns<'_>) -> Result<Purpose, StorageError> {
    Ok(if columns.text("purpose")? == Purpose::Evaluation.name() {
        Purpose::Evaluation
    } else {
        Purpose::Training
    })
}
