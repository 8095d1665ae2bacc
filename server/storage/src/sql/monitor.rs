use std::collections::BTreeMap;

use folkmoot_protocol::{
    OrganisationId, PopulationName, RoundId, TaskId, Timestamp, messages::ReportRequest,
};
use sqlx::any::AnyRow;

use super::{
    SqlStorage,
    column::{Columns, integer, moment},
    dialect::Dialect,
    task::task_of,
    transaction::in_transaction,
};
use crate::{
    HourRecord, LaneRecord, LeaseRecord, PulseRecord, StorageError, TaskRecord, VersionTraffic, WatchedTask,
    WorkRecord,
};

/// An hour, in milliseconds.
const HOUR: u64 = 3_600_000;

impl SqlStorage {
    /// Returns the kind of database: `sqlite` or `postgresql`.
    pub fn kind(&self) -> &'static str {
        match self.dialect {
            Dialect::Sqlite => "sqlite",
            Dialect::Postgres => "postgresql",
        }
    }

    /// Lists the leases, by name.
    pub async fn leases(&self) -> Result<Vec<LeaseRecord>, StorageError> {
        let rows = sqlx::query("SELECT * FROM leases ORDER BY name").fetch_all(&self.reader).await?;
        let lease = |row| {
            let columns = Columns::new(row, "lease");
            Ok(LeaseRecord {
                name: columns.text("name")?,
                holder: columns.text("holder")?,
                held_until: columns.moment("held_until")?,
            })
        };
        rows.iter().map(lease).collect()
    }

    /// Counts an organisation's tasks by the name of their state.
    pub async fn task_counts(
        &self,
        organisation_id: OrganisationId,
    ) -> Result<BTreeMap<String, u64>, StorageError> {
        const SELECT: &str = "SELECT state_name, COUNT(*) AS tasks FROM tasks WHERE organisation_id = $1 \
             GROUP BY state_name";
        let rows = sqlx::query(SELECT).bind(organisation_id.to_string()).fetch_all(&self.reader).await?;
        let counted = |row| {
            let columns = Columns::new(row, "task");
            Ok((columns.text("state_name")?, columns.count("tasks")?))
        };
        rows.iter().map(counted).collect()
    }

    /// Counts the events in each of the last `count` hours, oldest first. The last hour contains `now` and is
    /// incomplete. Bytes are counted only for tasks without privacy.
    pub async fn hours(
        &self,
        organisation_id: OrganisationId,
        now: Timestamp,
        count: u64,
    ) -> Result<Vec<HourRecord>, StorageError> {
        const COMMITTED: &str = "SELECT created_at / 3600000 AS hour, COUNT(*) AS number FROM model_versions \
             WHERE organisation_id = $1 AND created_at >= $2 AND round_id IS NOT NULL GROUP BY 1";
        const ABANDONED: &str = "SELECT created_at / 3600000 AS hour, COUNT(*) AS number FROM rounds \
             WHERE organisation_id = $1 AND created_at >= $2 AND phase_name = 'abandoned' GROUP BY 1";
        // The size of an update depends on its values, so the sizes of private tasks' updates are left out.
        const UPDATES_SQLITE: &str = "SELECT accepted_at / 3600000 AS hour, COUNT(*) AS number, \
             CAST(SUM(CASE WHEN rounds.task_id IN (SELECT id FROM tasks WHERE organisation_id = $1 \
             AND COALESCE(json_extract(description, '$.privacy.kind'), 'none') <> 'none') \
             THEN 0 ELSE update_bytes END) AS BIGINT) AS bytes \
             FROM client_updates JOIN rounds ON rounds.id = client_updates.round_id \
             WHERE client_updates.organisation_id = $1 AND accepted_at >= $2 GROUP BY 1";
        const UPDATES_POSTGRES: &str = "SELECT accepted_at / 3600000 AS hour, COUNT(*) AS number, \
             CAST(SUM(CASE WHEN rounds.task_id IN (SELECT id FROM tasks WHERE organisation_id = $1 \
             AND COALESCE(description::json -> 'privacy' ->> 'kind', 'none') <> 'none') \
             THEN 0 ELSE update_bytes END) AS BIGINT) AS bytes \
             FROM client_updates JOIN rounds ON rounds.id = client_updates.round_id \
             WHERE client_updates.organisation_id = $1 AND accepted_at >= $2 GROUP BY 1";
        let newest = now.0 / HOUR;
        let first = newest.saturating_sub(count.saturating_sub(1));
        let hour = |hour: u64| HourRecord { since: Timestamp(hour * HOUR), ..HourRecord::default() };
        let mut hours: BTreeMap<u64, HourRecord> = (first..=newest).map(|one| (one, hour(one))).collect();
        let since = Timestamp(first * HOUR);
        for row in self.since(COMMITTED, organisation_id, since).await? {
            if let (Some(hour), number) = hour_of(&mut hours, &row)? {
                hour.committed = number;
            }
        }
        for row in self.since(ABANDONED, organisation_id, since).await? {
            if let (Some(hour), number) = hour_of(&mut hours, &row)? {
                hour.abandoned = number;
            }
        }
        let updates = match self.dialect {
            Dialect::Sqlite => UPDATES_SQLITE,
            Dialect::Postgres => UPDATES_POSTGRES,
        };
        for row in self.since(updates, organisation_id, since).await? {
            let bytes = Columns::new(&row, "hour").count("bytes")?;
            if let (Some(hour), number) = hour_of(&mut hours, &row)? {
                (hour.updates, hour.upload_bytes) = (number, bytes);
            }
        }
        Ok(hours.into_values().collect())
    }

    async fn since(
        &self,
        select: &'static str,
        organisation_id: OrganisationId,
        since: Timestamp,
    ) -> Result<Vec<AnyRow>, StorageError> {
        let query = sqlx::query(select).bind(organisation_id.to_string()).bind(moment(since)?);
        Ok(query.fetch_all(&self.reader).await?)
    }

    /// Counts the clients of each population that have an outstanding assignment.
    pub async fn training_counts(
        &self,
        organisation_id: OrganisationId,
    ) -> Result<BTreeMap<PopulationName, u64>, StorageError> {
        const SELECT: &str = "SELECT clients.population, COUNT(*) AS number FROM assignments \
             JOIN clients ON clients.id = assignments.client_id \
             WHERE assignments.status_name = 'outstanding' AND assignments.organisation_id = $1 \
             GROUP BY clients.population";
        self.by_population(SELECT, organisation_id).await
    }

    /// Counts the clients of each population whose check-in is valid at `now`.
    pub async fn waiting_counts(
        &self,
        organisation_id: OrganisationId,
        now: Timestamp,
    ) -> Result<BTreeMap<PopulationName, u64>, StorageError> {
        const SELECT: &str = "SELECT population, COUNT(*) AS number FROM check_ins \
             WHERE organisation_id = $1 AND expires_at >= $2 GROUP BY population";
        self.since(SELECT, organisation_id, now).await?.iter().map(population_of).collect()
    }

    /// Counts the active tasks of each population.
    pub async fn active_task_counts(
        &self,
        organisation_id: OrganisationId,
    ) -> Result<BTreeMap<PopulationName, u64>, StorageError> {
        const SELECT: &str = "SELECT population, COUNT(*) AS number FROM tasks \
             WHERE organisation_id = $1 AND state_name = 'active' GROUP BY population";
        self.by_population(SELECT, organisation_id).await
    }

    /// Counts the clients of each population whose key was revoked.
    pub async fn revoked_counts(
        &self,
        organisation_id: OrganisationId,
    ) -> Result<BTreeMap<PopulationName, u64>, StorageError> {
        const SELECT: &str = "SELECT population, COUNT(*) AS number FROM clients \
             WHERE organisation_id = $1 AND revoked_at IS NOT NULL GROUP BY population";
        self.by_population(SELECT, organisation_id).await
    }

    async fn by_population(
        &self,
        select: &'static str,
        organisation_id: OrganisationId,
    ) -> Result<BTreeMap<PopulationName, u64>, StorageError> {
        let rows = sqlx::query(select).bind(organisation_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(population_of).collect()
    }

    /// Returns the pulses of an organisation's tasks that are active, have an open round, or have a version created
    /// since `since` (also a new task, because of its version 0). A task has one record for each of its open rounds.
    /// Also returns the newest thousand draft and paused tasks.
    pub async fn pulses(
        &self,
        organisation_id: OrganisationId,
        since: Timestamp,
    ) -> Result<Vec<PulseRecord>, StorageError> {
        const SELECT: &str = "SELECT tasks.id, tasks.revision, rounds.id AS round_id, rounds.revision AS round_revision, \
             (SELECT COUNT(*) FROM client_updates WHERE client_updates.round_id = rounds.id) AS accepted, \
             (SELECT COUNT(*) FROM assignments WHERE assignments.round_id = rounds.id \
             AND status_name = 'outstanding') AS outstanding, \
             (SELECT MAX(number) FROM model_versions WHERE task_id = tasks.id) AS version \
             FROM tasks LEFT JOIN rounds ON rounds.task_id = tasks.id AND rounds.is_open = 1 \
             WHERE tasks.organisation_id = $1 AND (tasks.state_name = 'active' OR rounds.is_open = 1 \
             OR tasks.id IN (SELECT task_id FROM model_versions WHERE organisation_id = $1 AND created_at >= $2)) \
             ORDER BY tasks.id, rounds.id";
        let rows = self.since(SELECT, organisation_id, since).await?;
        let pulse = |row| {
            let columns = Columns::new(row, "task");
            let round: Option<String> = columns.optional_parsed("round_id")?;
            let pulse = format!(
                "{} {:?} {:?} {:?}",
                columns.count("revision")?,
                round,
                columns.optional_count("round_revision")?,
                columns.optional_count("version")?
            );
            let counts = format!("{} {}", columns.count("accepted")?, columns.count("outstanding")?);
            Ok(PulseRecord { task_id: columns.parsed("id")?, pulse, counts })
        };
        let mut pulses: Vec<PulseRecord> = rows.iter().map(pulse).collect::<Result<_, StorageError>>()?;
        const RESTING: &str = "SELECT id, revision FROM tasks WHERE organisation_id = $1 \
             AND state_name IN ('draft', 'paused') ORDER BY created_at DESC, id DESC LIMIT 1000";
        let rows = sqlx::query(RESTING).bind(organisation_id.to_string()).fetch_all(&self.reader).await?;
        for row in &rows {
            let columns = Columns::new(row, "task");
            let pulse = format!("rests {}", columns.count("revision")?);
            pulses.push(PulseRecord { task_id: columns.parsed("id")?, pulse, counts: String::new() });
        }
        Ok(pulses)
    }

    /// Lists a round's assignments in order of creation, at most `limit`.
    pub async fn lanes(&self, round_id: RoundId, limit: u32) -> Result<Vec<LaneRecord>, StorageError> {
        const SELECT: &str = "SELECT assignments.created_at, assignments.deadline, assignments.closed_at, \
             assignments.status, reports.report FROM assignments \
             LEFT JOIN reports ON reports.assignment_id = assignments.id \
             WHERE assignments.round_id = $1 ORDER BY assignments.created_at, assignments.id LIMIT $2";
        let query = sqlx::query(SELECT).bind(round_id.to_string()).bind(i64::from(limit));
        let lane = |row| {
            let columns = Columns::new(row, "assignment");
            Ok(LaneRecord {
                created_at: columns.moment("created_at")?,
                deadline: columns.moment("deadline")?,
                closed_at: columns.optional_moment("closed_at")?,
                status: columns.json("status")?,
                report: columns.optional_json("report")?,
            })
        };
        query.fetch_all(&self.reader).await?.iter().map(lane).collect()
    }

    /// Counts the updates in each version of a task, oldest version first.
    pub async fn version_traffic(&self, task_id: TaskId) -> Result<Vec<VersionTraffic>, StorageError> {
        const SELECT: &str = "SELECT model_versions.number, rounds.number AS round_number, \
             COUNT(client_updates.assignment_id) AS updates, \
             CAST(COALESCE(SUM(client_updates.update_bytes), 0) AS BIGINT) AS bytes \
             FROM model_versions LEFT JOIN rounds ON rounds.id = model_versions.round_id \
             LEFT JOIN client_updates ON client_updates.round_id = model_versions.round_id \
             WHERE model_versions.task_id = $1 \
             GROUP BY model_versions.number, rounds.number ORDER BY model_versions.number";
        let rows = sqlx::query(SELECT).bind(task_id.to_string()).fetch_all(&self.reader).await?;
        let traffic = |row| {
            let columns = Columns::new(row, "model version");
            Ok(VersionTraffic {
                version: columns.count("number")?,
                round_number: columns.optional_count("round_number")?,
                updates: columns.count("updates")?,
                upload_bytes: columns.count("bytes")?,
            })
        };
        rows.iter().map(traffic).collect()
    }

    /// Lists the work that a population's clients have reported since `since`, newest first, at most `limit`.
    pub async fn work(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<WorkRecord>, StorageError> {
        const SELECT: &str = "SELECT client_updates.example_count, reports.report FROM reports \
             JOIN client_updates ON client_updates.assignment_id = reports.assignment_id \
             JOIN assignments ON assignments.id = reports.assignment_id \
             JOIN clients ON clients.id = assignments.client_id \
             WHERE reports.organisation_id = $1 AND reports.reported_at >= $2 AND clients.population = $3 \
             ORDER BY reports.reported_at DESC LIMIT $4";
        let query = sqlx::query(SELECT)
            .bind(organisation_id.to_string())
            .bind(moment(since)?)
            .bind(population.as_str())
            .bind(i64::from(limit));
        let work = |row| {
            let columns = Columns::new(row, "report");
            let report: ReportRequest = columns.json("report")?;
            Ok(WorkRecord {
                example_count: columns.count("example_count")?,
                training_milliseconds: report.training_milliseconds,
            })
        };
        query.fetch_all(&self.reader).await?.iter().map(work).collect()
    }

    /// Lists tasks in all organisations whose state has changed since the last notice about it, by id, at most `limit`.
    /// `after` is the id of the last task on the previous page.
    pub async fn untold_tasks(
        &self,
        limit: u32,
        after: Option<TaskId>,
    ) -> Result<Vec<TaskRecord>, StorageError> {
        const SELECT: &str =
            "SELECT * FROM tasks WHERE told_revision < revision AND id > $1 ORDER BY id LIMIT $2";
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let rows = sqlx::query(SELECT).bind(after).bind(i64::from(limit)).fetch_all(&self.reader).await?;
        rows.iter().map(task_of).collect()
    }

    /// Records that a notice about a task's state was delivered, or that none was needed.
    pub async fn tell_state(&self, id: TaskId, revision: u64) -> Result<(), StorageError> {
        self.tell("UPDATE tasks SET told_revision = $2 WHERE id = $1 AND told_revision < $2", id, revision)
            .await
    }

    /// Lists the active tasks of all organisations, by id, with the notices that were delivered about them.
    pub async fn watched_tasks(&self) -> Result<Vec<WatchedTask>, StorageError> {
        const SELECT: &str = "SELECT * FROM tasks WHERE state_name = 'active' ORDER BY id";
        let rows = sqlx::query(SELECT).fetch_all(&self.reader).await?;
        let watched = |row| {
            let columns = Columns::new(row, "task");
            Ok(WatchedTask {
                task: task_of(row)?,
                told_stall: columns.optional_count("told_stall")?,
                told_budget: columns.count("told_budget")? == 1,
            })
        };
        rows.iter().map(watched).collect()
    }

    /// Records that a notice about this standstill of a task was delivered.
    pub async fn tell_stall(&self, id: TaskId, standstill: u64) -> Result<(), StorageError> {
        self.tell("UPDATE tasks SET told_stall = $2 WHERE id = $1", id, standstill).await
    }

    /// Records whether a notice was delivered that a task's privacy budget is nearly spent.
    pub async fn tell_budget(&self, id: TaskId, is_told: bool) -> Result<(), StorageError> {
        self.tell("UPDATE tasks SET told_budget = $2 WHERE id = $1", id, u64::from(is_told)).await
    }

    /// Returns when the first round began after the last committed one and after the round `after_round`. `None` if there
    /// is none yet.
    pub async fn trying_since(
        &self,
        id: TaskId,
        after_round: u64,
    ) -> Result<Option<Timestamp>, StorageError> {
        const SELECT: &str = "SELECT MIN(created_at) AS began_at FROM rounds \
             WHERE task_id = $1 AND purpose = 'training' AND number > $2 AND number > COALESCE(( \
             SELECT number FROM rounds WHERE task_id = $1 AND phase_name = 'committed' \
             ORDER BY number DESC LIMIT 1), 0)";
        let query = sqlx::query(SELECT).bind(id.to_string()).bind(integer(after_round)?);
        Columns::new(&query.fetch_one(&self.reader).await?, "round").optional_moment("began_at")
    }

    async fn tell(&self, update: &'static str, id: TaskId, value: u64) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            let query = sqlx::query(update).bind(id.to_string()).bind(integer(value)?);
            query.execute(connection).await?;
            Ok(())
        })
    }
}

/// Returns the record of the hour in the row's column `hour`, and the number in the column `number`.
fn hour_of<'h>(
    hours: &'h mut BTreeMap<u64, HourRecord>,
    row: &AnyRow,
) -> Result<(Option<&'h mut HourRecord>, u64), StorageError> {
    let columns = Columns::new(row, "hour");
    Ok((hours.get_mut(&columns.count("hour")?), columns.count("number")?))
}

fn population_of(row: &AnyRow) -> Result<(PopulationName, u64), StorageError> {
    let columns = Columns::new(row, "population");
    Ok((columns.parsed("population")?, columns.count("number")?))
}
