//! What clients have done for a task.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_coordinator::participation::{History, Participated, Push, User, Waiting};
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

impl ParticipationRepository for SqlStorage {
    async fn waiting_for(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        task_id: TaskId,
        now: Timestamp,
    ) -> Result<Vec<Waiting>, StorageError> {
        const SELECT: &str = "SELECT check_ins.client_id, check_ins.example_count, check_ins.attributes, \
             check_ins.sdk_version, participations.history, clients.user_key FROM check_ins \
             JOIN clients ON clients.id = check_ins.client_id LEFT JOIN participations \
             ON participations.task_id = $1 AND participations.client_id = check_ins.client_id \
             WHERE check_ins.organisation_id = $2 AND check_ins.population = $3 AND check_ins.expires_at >= $4 \
             ORDER BY check_ins.client_id";
        let unit =
            self.population(organisation_id, population).await?.map_or(Unit::Client, |one| one.privacy.unit);
        let users = match unit {
            Unit::Client => None,
            // They are read before the pool: whose update is accepted in between is still taken for busy.
            Unit::User => Some(Users::read(self, organisation_id, population, task_id).await?),
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
            let user = match (&users, columns.optional_parsed("user_key")?) {
                (Some(users), Some(key)) => Some(users.user(key)),
                _ => None,
            };
            Ok(Waiting { candidate: candidate_of(row)?, history, user })
        };
        rows.iter().map(waiting).collect()
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

/// What the users of a population have done for a task, with all their devices.
struct Users {
    busy: BTreeSet<UserKey>,
    participated: BTreeMap<UserKey, Participated>,
}

impl Users {
    async fn read(
        storage: &SqlStorage,
        organisation_id: OrganisationId,
        population: &PopulationName,
        task_id: TaskId,
    ) -> Result<Self, StorageError> {
        const BUSY: &str = "SELECT clients.user_key FROM assignments JOIN clients ON clients.id = assignments.client_id \
             WHERE assignments.task_id = $1 AND assignments.status_name = 'outstanding' AND clients.user_key IS NOT NULL";
        // Of the users with a device that waits: the others are not asked for.
        const HISTORIES: &str = "SELECT clients.user_key, participations.history FROM participations \
             JOIN clients ON clients.id = participations.client_id WHERE participations.task_id = $1 \
             AND clients.user_key IN (SELECT waiting.user_key FROM check_ins \
             JOIN clients AS waiting ON waiting.id = check_ins.client_id \
             WHERE check_ins.organisation_id = $2 AND check_ins.population = $3)";
        let key = |row| Columns::new(row, "client").parsed("user_key");
        let rows = sqlx::query(BUSY).bind(task_id.to_string()).fetch_all(&storage.reader).await?;
        let busy = rows.iter().map(key).collect::<Result<_, _>>()?;
        let query = sqlx::query(HISTORIES).bind(task_id.to_string());
        let query = query.bind(organisation_id.to_string()).bind(population.as_str());
        let mut participated: BTreeMap<UserKey, Participated> = BTreeMap::new();
        for row in &query.fetch_all(&storage.reader).await? {
            let history = Columns::new(row, "participation").json("history")?;
            participated.entry(key(row)?).or_default().add(&history);
        }
        Ok(Self { busy, participated })
    }

    fn user(&self, key: UserKey) -> User {
        let participated = self.participated.get(&key).copied().unwrap_or_default();
        User { key, participated, is_busy: self.busy.contains(&key) }
    }
}

/// Records that clients were given assignments; a clock behind `first_clock` is set to it.
pub(super) async fn record_starts(
    connection: &mut AnyConnection,
    assignments: &[AssignmentRecord],
    first_clock: u64,
) -> Result<(), StorageError> {
    for chunk in assignments.chunks(ROWS_MAX) {
        let clients: Vec<ClientId> = chunk.iter().map(|assignment| assignment.client_id).collect();
        let mut histories = select(connection, chunk[0].task_id, &clients).await?;
        for assignment in chunk {
            let history = histories.entry(assignment.client_id).or_default();
            history.start(assignment.round_number, assignment.created_at);
            history.clock = history.clock.max(first_clock);
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

/// Records that an assignment brought no update.
pub(super) async fn record_failure(
    connection: &mut AnyConnection,
    assignment: &AssignmentRecord,
    now: Timestamp,
) -> Result<(), StorageError> {
    change(connection, assignment, |history| history.fail(now)).await
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
