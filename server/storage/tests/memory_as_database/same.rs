use std::fmt::Debug;

use folkmoot_storage::StorageError;

/// Compares the answers of the database and of the storage in memory.
///
/// If an internal constraint of the database rejects a call, the storage in memory must reject it, too.
pub fn compare<T: Debug>(
    call: &str,
    database: &Result<T, StorageError>,
    memory: &Result<T, StorageError>,
) -> Result<(), String> {
    let is_hidden =
        matches!(database, Err(StorageError::Database(error)) if !matches!(error, sqlx::Error::Encode(_)));
    if is_hidden && memory.is_err() || format!("{database:?}") == format!("{memory:?}") {
        return Ok(());
    }
    Err(format!("{call}\n  database: {database:?}\n  memory:   {memory:?}"))
}

/// Calls a method of both storages, compares the answers and returns one of them.
macro_rules! same {
    ($world:expr, $method:ident($($argument:expr),*)) => {{
        let database = $world.database.$method($($argument),*).await;
        let memory = $world.memory.$method($($argument),*).await;
        let call = || -> String { [stringify!($method).to_owned() $(, format!("{:?}", $argument))*].join(" ") };
        $crate::memory_as_database::same::compare(&call(), &database, &memory)?;
        database
    }};
}
pub(crate) use same;
