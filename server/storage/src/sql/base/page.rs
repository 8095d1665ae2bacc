use folkmoot_protocol::TaskId;
use sqlx::any::AnyRow;

use super::column::integer;
use crate::StorageError;
use crate::sql::SqlStorage;

impl SqlStorage {
    /// Reads a page of a task's numbered rows, for example its versions. The parameters of `select` are the task, an
    /// exclusive upper bound of the number, and the limit.
    pub(in crate::sql) async fn numbered_page(
        &self,
        select: &'static str,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<AnyRow>, StorageError> {
        let query = sqlx::query(select)
            .bind(task_id.to_string())
            .bind(integer(before.unwrap_or(u64::MAX).min(i64::MAX as u64))?)
            .bind(i64::from(limit));
        Ok(query.fetch_all(&self.reader).await?)
    }
}

/// Returns the range of ids with this beginning. Ids consist of hexadecimal digits and hyphens, which sort before `g`.
pub(in crate::sql) fn ids_with(beginning: &str) -> (String, String) {
    let beginning = beginning.to_lowercase();
    let end = if beginning.is_empty() { String::new() } else { format!("{beginning}g") };
    (beginning, end)
}
