//! Tests of the private parts of `src/sql/base/connect.rs`.

use sqlx::{Any, Transaction};

use super::*;

async fn pragma(pool: &AnyPool, name: &str) -> String {
    let sql = sqlx::AssertSqlSafe(format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}"));
    sqlx::query_scalar(sql).fetch_one(pool).await.expect("the pragma can be read")
}

const SYNCHRONOUS: &str = "SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous";

/// Returns the result of a query in a transaction.
async fn of_transaction(mut transaction: Transaction<'static, Any>, sql: &'static str) -> String {
    let result = sqlx::query_scalar(sql).fetch_one(&mut *transaction).await.expect("it is a query");
    transaction.commit().await.expect("nothing was written");
    result
}

#[cfg(unix)]
#[tokio::test]
async fn postgres_waits_for_the_disk_only_if_it_must_and_not_for_idle_processes() {
    let Some(server) = folkmoot_test_postgres::TestPostgres::start() else { return };
    let storage = SqlStorage::connect(&server.database(), SqlOptions::default()).await.unwrap();
    const SYNCHRONOUS: &str = "SELECT current_setting('synchronous_commit')";
    for (transaction, synchronous) in [
        (storage.begin().await.unwrap(), "on"),
        (storage.begin_unsynced().await.unwrap(), "off"),
        (storage.begin().await.unwrap(), "on"),
    ] {
        assert_eq!(of_transaction(transaction, SYNCHRONOUS).await, synchronous);
    }
    let idle = "SELECT current_setting('idle_in_transaction_session_timeout')";
    assert_eq!(of_transaction(storage.begin().await.unwrap(), idle).await, "10s");
}

#[tokio::test]
async fn every_sqlite_connection_is_set_up() {
    let folder = tempfile::tempdir().unwrap();
    for (durability, synchronous) in [(Durability::Full, "2"), (Durability::Normal, "1")] {
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("file.sqlite").display());
        let options = SqlOptions { durability, ..SqlOptions::default() };
        let storage = SqlStorage::connect(&url, options).await.unwrap();
        for (pool, query_only) in [(&storage.writer, "0"), (&storage.reader, "1")] {
            assert_eq!(pragma(pool, "journal_mode").await, "wal");
            assert_eq!(pragma(pool, "synchronous").await, synchronous);
            assert_eq!(pragma(pool, "foreign_keys").await, "1");
            assert_eq!(pragma(pool, "query_only").await, query_only);
            let timeout = sqlx::query_scalar::<_, i64>("SELECT timeout FROM pragma_busy_timeout");
            assert_eq!(timeout.fetch_one(pool).await.unwrap(), i64::from(SQLITE_BUSY_MILLISECONDS));
        }
        let unsynced = storage.begin_unsynced().await.unwrap();
        assert_eq!(of_transaction(unsynced, SYNCHRONOUS).await, "1");
        assert_eq!(of_transaction(storage.begin().await.unwrap(), SYNCHRONOUS).await, synchronous);
    }
}
