//! Tests of the private parts of `src/sql/base/transaction.rs`.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::AnyConnection;
use tokio::sync::Barrier;

use super::*;
use folkmoot_test_postgres::TestPostgres;

use crate::SqlOptions;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_postgres_undoes_is_done_again() {
    let Some(server) = TestPostgres::start() else { return };
    let storage = SqlStorage::connect(&server.database(), SqlOptions::default()).await.unwrap();
    for (failures, code, attempts) in [(2, "40001", 3), (4, "40P01", 5), (9, "40001", 5), (9, "23505", 1)] {
        let result = fail_at_first(&storage, failures, code).await;
        assert_eq!(
            (result.is_ok(), result.unwrap_or_else(|made| made)),
            (failures < attempts, attempts),
            "{code}"
        );
    }
    a_deadlock_is_resolved(&storage).await;
}

/// Runs a transaction whose first attempts fail, and returns the number of attempts.
async fn fail_at_first(storage: &SqlStorage, failures: u32, code: &str) -> Result<u32, u32> {
    let made = AtomicU32::new(0);
    let result: Result<(), StorageError> = async {
        in_transaction!(storage, |connection| {
            if made.fetch_add(1, Ordering::Relaxed) < failures {
                let sql = format!("DO $$ BEGIN RAISE 'undone' USING ERRCODE = '{code}'; END $$");
                sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(connection).await?;
            }
            Ok(())
        })
    }
    .await;
    let made = made.into_inner();
    result.map(|()| made).map_err(|_| made)
}

async fn a_deadlock_is_resolved(storage: &SqlStorage) {
    for name in ["one", "two"] {
        let insert =
            sqlx::query("INSERT INTO leases (name, holder, held_until) VALUES ($1, '', 0)").bind(name);
        insert.execute(&storage.writer).await.unwrap();
    }
    let both_have_one = Barrier::new(2);
    let attempts = AtomicU32::new(0);
    let take_both = async |first: &str, second: &str| -> Result<(), StorageError> {
        in_transaction!(storage, |connection| {
            take(connection, first).await?;
            // The first two attempts run concurrently.
            if attempts.fetch_add(1, Ordering::Relaxed) < 2 {
                both_have_one.wait().await;
            }
            take(connection, second).await
        })
    };
    let (one, two) = tokio::join!(take_both("one", "two"), take_both("two", "one"));
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    // The attempt after a deadlock may meet the other transaction again.
    assert!(attempts.into_inner() >= 3, "PostgreSQL has undone one of them");
    let select = sqlx::query_scalar("SELECT SUM(held_until)::BIGINT FROM leases");
    let sum: i64 = select.fetch_one(&storage.reader).await.unwrap();
    assert_eq!(sum, 4);
}

async fn take(connection: &mut AnyConnection, name: &str) -> Result<(), StorageError> {
    let update = sqlx::query("UPDATE leases SET held_until = held_until + 1 WHERE name = $1").bind(name);
    update.execute(connection).await?;
    Ok(())
}
