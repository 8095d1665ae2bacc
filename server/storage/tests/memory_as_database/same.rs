use std::fmt::Debug;

use folkmoot_storage::StorageError;

/// Compares what both said.
///
/// Where the database itself refuses, by a rule that no caller gets to see, the other must refuse as well.
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

/// Calls a method of both, compares what they say, and returns it.
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
