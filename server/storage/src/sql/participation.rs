//! Clients' histories in SQL.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use folkmoot_coordinator::participation::{History, Participated, Push, StartClocks, User, Waiting};
use folkmoot_privacy::Unit;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, TaskId, Timestamp, UserKey};
use sqlx::{AnyConnection, AssertSqlSafe};

use super::{
    SqlStorage,
    check_in::candidate_of,
    column::{Columns, json, missing, moment},
    many::{ROWS_MAX, placeholder_rows, placeholders},
};
use crate::{AssignmentRecord, ParticipationRepository, PopulationRepository, StorageError};

#[async_trait]
impl ParticipationRepository for SqlStorage {
    async fn waiting_for(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        task_id: TaskId,
        now: Timestamp,
    ) -> Result<Vec<Waiting>, StorageError> {
        const SELECT: &str = "SELECT check_ins.client_id, check_ins.example_count, check_ins.attributes, \
             check_ins.sdk_version, participations.history, clients.token_id FROM check_ins \
             JOIN clients ON clients.id = check_ins.client_id AND clients.revoked_at IS NULL LEFT JOIN participations \
             ON participations.task_id = $1 AND participations.client_id = check_ins.client_id \
             WHERE check_ins.organisation_id = $2 AND check_ins.population = $3 AND check_ins.expires_at >= $4 \
             ORDER BY check_ins.client_id";
        let unit =
            self.population(organisation_id, population).await?.map_or(Unit::Client, |one| one.privacy.unit);
        // Read the busy users first. A user whose update is accepted between the two reads is then still treated as
        // busy.
        let busy = match unit {
            Unit::Client => None,
            Unit::User => Some(self.busy_users(task_id).await?),
        };
        let rows = sqlx::query(SELECT)
            .bind(task_id.to_string())
            .bind(organisation_id.to_string())
            .bind(population.as_str())
            .bind(moment(now)?)
            .fetch_all(&self.reader)
            .await?;
        let waiting = |row| {
            let columns = Columns::new(row, "participation");
            let history = columns.optional_json("history")?.unwrap_or_default();
            let token = columns.optional_parsed("token_id")?;
            Ok(Waiting { candidate: Arc::new(candidate_of(row)?), history, user: None, token })
        };
        let mut waiting = rows.iter().map(waiting).collect::<Result<Vec<Waiting>, StorageError>>()?;
        if let Some(busy) = busy {
            self.name_users(&mut waiting, task_id, &busy).await?;
        }
        Ok(waiting)
    }

    async fn participations(&self, task_id: TaskId) -> Result<Vec<(ClientId, History)>, StorageError> {
        const SELECT: &str =
            "SELECT client_id, history FROM participations WHERE task_id = $1 ORDER BY client_id";
        let rows = sqlx::query(SELECT).bind(task_id.to_string()).fetch_all(&self.reader).await?;
        let participation = |row| {
            let columns = Columns::new(row, "participation");
            Ok((columns.parsed("client_id")?, columns.json("history")?))
        };
        rows.iter().map(participation).collect()
    }
}

impl SqlStorage {
    /// Lists the users with a device that has an outstanding assignment of the task.
    async fn busy_users(&self, task_id: TaskId) -> Result<BTreeSet<UserKey>, StorageError> {
        const BUSY: &str = "SELECT clients.user_key FROM assignments JOIN clients ON clients.id = assignments.client_id \
             WHERE assignments.task_id = $1 AND assignments.status_name = 'outstanding' AND clients.user_key IS NOT NULL";
        let rows = sqlx::query(BUSY).bind(task_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(|row| Columns::new(row, "client").parsed("user_key")).collect()
    }

    /// Sets the user of each waiting client, with the participation of all the user's devices in the task.
    async fn name_users(
        &self,
        waiting: &mut [Waiting],
        task_id: TaskId,
        busy: &BTreeSet<UserKey>,
    ) -> Result<(), StorageError> {
        for chunk in waiting.chunks_mut(ROWS_MAX) {
            let clients: Vec<String> = chunk.iter().map(|one| one.candidate.client_id.to_string()).collect();
            let sql = format!(
                "SELECT id, user_key FROM clients WHERE user_key IS NOT NULL AND id IN ({})",
                placeholders(1, clients.len())
            );
            let query = clients.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, id| query.bind(id));
            let mut keys: BTreeMap<ClientId, UserKey> = BTreeMap::new();
            for row in &query.fetch_all(&self.reader).await? {
                let columns = Columns::new(row, "client");
                keys.insert(columns.parsed("id")?, columns.parsed("user_key")?);
            }
            let users: BTreeSet<UserKey> = keys.values().copied().collect();
            let participated = self.participated(task_id, &users).await?;
            for one in chunk {
                one.user = keys.get(&one.candidate.client_id).map(|key| User {
                    key: *key,
                    participated: participated.get(key).copied().unwrap_or_default(),
                    is_busy: busy.contains(key),
                });
            }
        }
        Ok(())
    }

    /// Adds up the participation of all devices of up to [`ROWS_MAX`] users in a task.
    async fn participated(
        &self,
        task_id: TaskId,
        users: &BTreeSet<UserKey>,
    ) -> Result<BTreeMap<UserKey, Participated>, StorageError> {
        let mut participated: BTreeMap<UserKey, Participated> = BTreeMap::new();
        if users.is_empty() {
            return Ok(participated);
        }
        let sql = format!(
            "SELECT clients.user_key, participations.history FROM clients JOIN participations \
             ON participations.client_id = clients.id AND participations.task_id = $1 WHERE clients.user_key IN ({})",
            placeholders(2, users.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(task_id.to_string());
        for user in users {
            query = query.bind(user.to_string());
        }
        for row in &query.fetch_all(&self.reader).await? {
            let columns = Columns::new(row, "participation");
            let history = columns.json("history")?;
            participated.entry(columns.parsed("user_key")?).or_default().add(&history);
        }
        Ok(participated)
    }
}

/// Records that clients were given assignments, and updates their clocks.
pub(super) async fn record_starts(
    connection: &mut AnyConnection,
    assignments: &[AssignmentRecord],
    clocks: &StartClocks,
) -> Result<(), StorageError> {
    for chunk in assignments.chunks(ROWS_MAX) {
        let clients: Vec<ClientId> = chunk.iter().map(|assignment| assignment.client_id).collect();
        let mut histories = select(connection, chunk[0].task_id, &clients).await?;
        for assignment in chunk {
            let history = histories.entry(assignment.client_id).or_default();
            history.start(assignment.round_number, assignment.created_at);
            history.set_clocks(assignment.client_id, clocks);
        }
        upsert(connection, chunk[0].task_id, chunk[0].organisation_id, &histories).await?;
    }
    Ok(())
}

/// Records that an update was accepted.
pub(super) async fn record_push(
    connection: &mut AnyConnection,
    assignment: &AssignmentRecord,
    push: Push,
) -> Result<(), StorageError> {
    change(connection, assignment, |history| history.push(push)).await
}

/// Records that an assignment ended without an update.
pub(super) async fn record_failure(
    connection: &mut AnyConnection,
    assignment: &AssignmentRecord,
    now: Timestamp,
) -> Result<(), StorageError> {
    change(connection, assignment, |history| history.fail(now)).await
}

/// Records that the assignment's client was proved to have broken the protocol.
pub(super) async fn record_fault(
    connection: &mut AnyConnection,
    assignment: &AssignmentRecord,
    now: Timestamp,
) -> Result<(), StorageError> {
    change(connection, assignment, |history| history.blame(assignment.round_number, now)).await
}

async fn change(
    connection: &mut AnyConnection,
    assignment: &AssignmentRecord,
    change: impl FnOnce(&mut History),
) -> Result<(), StorageError> {
    let mut histories = select(connection, assignment.task_id, &[assignment.client_id]).await?;
    change(histories.entry(assignment.client_id).or_default());
    upsert(connection, assignment.task_id, assignment.organisation_id, &histories).await
}

async fn select(
    connection: &mut AnyConnection,
    task_id: TaskId,
    clients: &[ClientId],
) -> Result<BTreeMap<ClientId, History>, StorageError> {
    let sql = format!(
        "SELECT client_id, history FROM participations WHERE task_id = $1 AND client_id IN ({})",
        placeholders(2, clients.len())
    );
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(task_id.to_string());
    for client in clients {
        query = query.bind(client.to_string());
    }
    let rows = query.fetch_all(connection).await?;
    let history = |row| {
        let columns = Columns::new(row, "participation");
        Ok((columns.parsed("client_id")?, columns.json("history")?))
    };
    rows.iter().map(history).collect()
}

async fn upsert(
    connection: &mut AnyConnection,
    task_id: TaskId,
    organisation_id: OrganisationId,
    histories: &BTreeMap<ClientId, History>,
) -> Result<(), StorageError> {
    let sql = format!(
        "INSERT INTO participations (task_id, client_id, organisation_id, history) VALUES {} \
         ON CONFLICT (task_id, client_id) DO UPDATE SET history = excluded.history",
        placeholder_rows(histories.len(), 4)
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (client, history) in histories {
        query = query
            .bind(task_id.to_string())
            .bind(client.to_string())
            .bind(organisation_id.to_string())
            .bind(json(history)?);
    }
    query.execute(connection).await.map_err(missing("client"))?;
    Ok(())
}
