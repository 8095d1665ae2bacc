use async_trait::async_trait;
use folkmoot_coordinator::task::{TaskFilter, TaskState};
use folkmoot_protocol::{OrganisationId, PopulationName, TaskId};
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, integer, json, missing, moment},
    dialect::{Dialect, Lock},
    ledger::{check_settings, count_entries, write_terms},
    model_version::insert_model_version,
    transaction::in_transaction,
};
use crate::{Admission, ModelVersionRecord, StorageError, TaskRecord, TaskRepository, audit::Act};

#[async_trait]
impl TaskRepository for SqlStorage {
    async fn create_task(&self, task: &TaskRecord, version: &ModelVersionRecord) -> Result<(), StorageError> {
        in_transaction!(self, |connection| create(connection, self.dialect, task, version).await)
    }

    async fn admit_task(
        &self,
        task: &TaskRecord,
        version: &ModelVersionRecord,
        admission: &Admission<'_>,
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            check_admission(connection, self.dialect, task, admission).await?;
            create(connection, self.dialect, task, version).await
        })
    }

    async fn task(
        &self,
        organisation_id: OrganisationId,
        id: TaskId,
    ) -> Result<Option<TaskRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM tasks WHERE organisation_id = $1 AND id = $2")
            .bind(organisation_id.to_string())
            .bind(id.to_string());
        query.fetch_optional(&self.reader).await?.as_ref().map(task_of).transpose()
    }

    async fn task_of_any_organisation(&self, id: TaskId) -> Result<Option<TaskRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM tasks WHERE id = $1").bind(id.to_string());
        query.fetch_optional(&self.reader).await?.as_ref().map(task_of).transpose()
    }

    async fn tasks(
        &self,
        organisation_id: OrganisationId,
        filter: &TaskFilter,
        limit: u32,
        before: Option<TaskId>,
    ) -> Result<Vec<TaskRecord>, StorageError> {
        // An empty parameter disables its filter.
        const FIRST: &str = "SELECT * FROM tasks WHERE organisation_id = $1 \
             AND ($3 = '' OR state_name = $3) AND ($4 = '' OR population = $4) \
             AND ($5 = '' OR name_lower LIKE $5 ESCAPE '\\') \
             AND ($6 = '' OR name_lower = $6 OR id LIKE $7 ESCAPE '\\') ORDER BY created_at DESC, id DESC LIMIT $2";
        const NEXT: &str = "SELECT * FROM tasks WHERE organisation_id = $1 \
             AND ($3 = '' OR state_name = $3) AND ($4 = '' OR population = $4) \
             AND ($5 = '' OR name_lower LIKE $5 ESCAPE '\\') \
             AND ($6 = '' OR name_lower = $6 OR id LIKE $7 ESCAPE '\\') AND (created_at, id) < \
             (SELECT created_at, id FROM tasks WHERE organisation_id = $1 AND id = $8) \
             ORDER BY created_at DESC, id DESC LIMIT $2";
        let sql = if before.is_some() { NEXT } else { FIRST };
        let called = filter.called.as_deref().unwrap_or_default();
        let mut query = sqlx::query(sql)
            .bind(organisation_id.to_string())
            .bind(i64::from(limit))
            .bind(filter.state.clone().unwrap_or_default())
            .bind(filter.population.as_ref().map_or("", PopulationName::as_str).to_owned())
            .bind(filter.name.as_deref().map(|name| format!("%{}%", literal(name))).unwrap_or_default())
            .bind(called.to_lowercase())
            .bind(literal(called) + "%");
        if let Some(before) = before {
            query = query.bind(before.to_string());
        }
        query.fetch_all(&self.reader).await?.iter().map(task_of).collect()
    }

    async fn set_task_state(&self, id: TaskId, state: TaskState, revision: u64) -> Result<(), StorageError> {
        in_transaction!(self, |connection| set_state(connection, self.dialect, id, state, revision).await)
    }

    async fn start_task(
        &self,
        task: &TaskRecord,
        state: TaskState,
        admission: &Admission<'_>,
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            check_admission(connection, self.dialect, task, admission).await?;
            set_state(connection, self.dialect, task.id, state, task.revision).await
        })
    }

    async fn tasks_to_drive(&self) -> Result<Vec<TaskId>, StorageError> {
        const SELECT: &str = "SELECT id FROM tasks WHERE state_name = 'active' \
             UNION SELECT task_id AS id FROM rounds WHERE is_open = 1 ORDER BY id";
        let rows = sqlx::query(SELECT).fetch_all(&self.reader).await?;
        rows.iter().map(|row| Columns::new(row, "task").parsed("id")).collect()
    }
}

/// Stores a task with its first version and its privacy terms.
async fn create(
    connection: &mut AnyConnection,
    dialect: Dialect,
    task: &TaskRecord,
    version: &ModelVersionRecord,
) -> Result<(), StorageError> {
    if !insert_task(connection, task).await? {
        return Err(StorageError::NameTaken("task"));
    }
    insert_model_version(connection, task.organisation_id, version).await?;
    write_terms(connection, dialect, task, version).await?;
    record(connection, dialect, || Act::task_created(task)).await
}

/// Checks that a task's population has not changed since `admission` was read. Locks the population, so that until the
/// transaction ends, no other task is admitted, no version is charged, and no budget is set.
async fn check_admission(
    connection: &mut AnyConnection,
    dialect: Dialect,
    task: &TaskRecord,
    admission: &Admission<'_>,
) -> Result<(), StorageError> {
    const RUNNING: &str = "SELECT id FROM tasks WHERE organisation_id = $1 AND population = $2 \
         AND (state_name = 'active' OR id IN (SELECT task_id FROM rounds WHERE is_open = 1)) ORDER BY id";
    let (organisation_id, population) = (task.organisation_id, &task.description.population);
    check_settings(connection, dialect, organisation_id, population, admission.privacy, Lock::Update).await?;
    let entries = count_entries(connection, organisation_id, population).await?;
    let running = sqlx::query(RUNNING).bind(organisation_id.to_string()).bind(population.as_str());
    let rows = running.fetch_all(connection).await?;
    let running = rows.iter().map(|row| Columns::new(row, "task").parsed("id"));
    let running: Vec<TaskId> = running.collect::<Result<_, StorageError>>()?;
    match entries == admission.entries && running == admission.running {
        true => Ok(()),
        false => Err(StorageError::LeaveConflict),
    }
}

/// Stores the task's next state, if its revision is still the expected one.
async fn set_state(
    connection: &mut AnyConnection,
    dialect: Dialect,
    id: TaskId,
    state: TaskState,
    revision: u64,
) -> Result<(), StorageError> {
    const UPDATE: &str = "UPDATE tasks SET state = $1, state_name = $2, revision = revision + 1 \
         WHERE id = $3 AND revision = $4";
    const BEFORE: &str = "SELECT organisation_id, state_name FROM tasks WHERE id = $1";
    let before = sqlx::query(BEFORE).bind(id.to_string()).fetch_optional(&mut *connection).await?;
    let query = sqlx::query(UPDATE)
        .bind(json(&state)?)
        .bind(state.name())
        .bind(id.to_string())
        .bind(integer(revision)?);
    let (Some(before), 1) = (before, query.execute(&mut *connection).await?.rows_affected()) else {
        return Err(StorageError::RevisionConflict("task"));
    };
    let before = Columns::new(&before, "task");
    let (organisation_id, from) = (before.parsed("organisation_id")?, before.text("state_name")?);
    record(connection, dialect, || Act::state_set(organisation_id, id, &from, state)).await
}

/// Stores the task's next state regardless of its revision. A task that has already ended keeps its state: an operator
/// may have cancelled it.
pub(super) async fn end_task(
    connection: &mut AnyConnection,
    id: TaskId,
    state: TaskState,
) -> Result<(), StorageError> {
    const UPDATE: &str = "UPDATE tasks SET state = $1, state_name = $2, revision = revision + 1 \
         WHERE id = $3 AND state_name NOT IN ('completed', 'cancelled')";
    let query = sqlx::query(UPDATE).bind(json(&state)?).bind(state.name()).bind(id.to_string());
    query.execute(connection).await?;
    Ok(())
}

/// Adds `clients` to the number of clients that the task was given.
pub(super) async fn serve(
    connection: &mut AnyConnection,
    id: TaskId,
    clients: u64,
) -> Result<(), StorageError> {
    let query = sqlx::query("UPDATE tasks SET served = served + $1 WHERE id = $2");
    query.bind(integer(clients)?).bind(id.to_string()).execute(connection).await?;
    Ok(())
}

/// Stores the task. Returns `false` if its id already exists.
async fn insert_task(connection: &mut AnyConnection, task: &TaskRecord) -> Result<bool, StorageError> {
    const INSERT: &str = "INSERT INTO tasks (id, organisation_id, description, state, state_name, model, \
         model_bytes, tensor_schema, plan, plan_bytes, created_at, revision, evaluation_data, served, \
         evaluation_plan, name_lower, population) VALUES \
         ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) ON CONFLICT (id) DO NOTHING";
    let inserted = sqlx::query(INSERT)
        .bind(task.id.to_string())
        .bind(task.organisation_id.to_string())
        .bind(json(&task.description)?)
        .bind(json(&task.state)?)
        .bind(task.state.name())
        .bind(task.model.to_string())
        .bind(integer(task.model_bytes)?)
        .bind(json(&task.schema)?)
        .bind(task.plan.to_string())
        .bind(integer(task.plan_bytes)?)
        .bind(moment(task.created_at)?)
        .bind(integer(task.revision)?)
        .bind(task.evaluation_data.map(|digest| digest.to_string()))
        .bind(integer(task.served)?)
        .bind(task.evaluation_plan.as_ref().map(json).transpose()?)
        .bind(task.description.name.to_lowercase())
        .bind(task.description.population.as_str())
        .execute(connection)
        .await
        .map_err(missing("organisation"))?;
    Ok(inserted.rows_affected() == 1)
}

/// Returns the LIKE pattern that matches this text in lower case.
fn literal(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.to_lowercase().chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

pub(super) fn task_of(row: &AnyRow) -> Result<TaskRecord, StorageError> {
    let columns = Columns::new(row, "task");
    Ok(TaskRecord {
        id: columns.parsed("id")?,
        organisation_id: columns.parsed("organisation_id")?,
        description: columns.json("description")?,
        state: columns.json("state")?,
        model: columns.parsed("model")?,
        model_bytes: columns.count("model_bytes")?,
        schema: columns.json("tensor_schema")?,
        plan: columns.parsed("plan")?,
        plan_bytes: columns.count("plan_bytes")?,
        created_at: columns.moment("created_at")?,
        revision: columns.count("revision")?,
        evaluation_data: columns.optional_parsed("evaluation_data")?,
        served: columns.count("served")?,
        evaluation_plan: columns.optional_json("evaluation_plan")?,
    })
}
