use folkmoot_protocol::{OrganisationId, PopulationName};
use sqlx::Row;

use super::{SqlStorage, dialect::Dialect};
use crate::StorageError;

impl SqlStorage {
    /// Returns whether the population has or had a task with privacy that is not a draft.
    pub async fn has_private_tasks(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<bool, StorageError> {
        // A description without the key `privacy` promises no privacy.
        const SQLITE: &str = "SELECT COUNT(*) AS tasks FROM tasks WHERE organisation_id = $1 AND population = $2 \
             AND state_name <> 'draft' AND COALESCE(json_extract(description, '$.privacy.kind'), 'none') <> 'none'";
        const POSTGRES: &str = "SELECT COUNT(*) AS tasks FROM tasks WHERE organisation_id = $1 AND population = $2 \
             AND state_name <> 'draft' AND COALESCE(description::json -> 'privacy' ->> 'kind', 'none') <> 'none'";
        let select = match self.dialect {
            Dialect::Sqlite => SQLITE,
            Dialect::Postgres => POSTGRES,
        };
        let query = sqlx::query(select).bind(organisation_id.to_string()).bind(population.as_str());
        let tasks: i64 = query.fetch_one(&self.reader).await?.try_get("tasks")?;
        Ok(tasks > 0)
    }
}
