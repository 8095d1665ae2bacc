use std::time::Duration;

use sqlx::{Any, Transaction};

use super::durability::Durability;
use crate::{StorageError, sql::SqlStorage};

/// The maximum number of attempts for a transaction that PostgreSQL rolls back because of another transaction.
const ATTEMPTS_MAX: u32 = 5;
/// The wait before the second attempt, in milliseconds. Each further wait is longer than the previous one by the same
/// amount.
const RETRY_MILLISECONDS: u64 = 5;

/// Runs a block in one transaction, which commits if the block returns `Ok` and rolls back otherwise. With
/// `begin_unsynced`, a power failure may undo it ([`SqlStorage::begin_unsynced`]).
///
/// After a deadlock or a serialisation failure, the transaction is rolled back, and the block runs again. This is a
/// macro because the compiler cannot prove that a future which borrows from an async closure is `Send`.
macro_rules! in_transaction {
    ($storage:expr, |$connection:ident| $work:expr) => {
        in_transaction!($storage, begin, |$connection| $work)
    };
    ($storage:expr, $begin:ident, |$connection:ident| $work:expr) => {{
        let mut attempts = $crate::sql::base::transaction::Attempts::default();
        loop {
            let mut transaction = $storage.$begin().await?;
            let $connection = &mut *transaction;
            let result = $crate::sql::base::transaction::typed(async { $work }).await;
            if let Some(result) = attempts.settle(transaction, result).await {
                break result;
            }
        }
    }};
}
pub(in crate::sql) use in_transaction;

/// Fixes the result type of a block, so that the compiler can infer the error type of `?` in it.
pub(in crate::sql) fn typed<T, F: Future<Output = Result<T, StorageError>>>(work: F) -> F {
    work
}

impl SqlStorage {
    /// Begins a writing transaction.
    pub(in crate::sql) async fn begin(&self) -> Result<Transaction<'static, Any>, StorageError> {
        Ok(self.writer.begin_with(self.dialect.begin(self.durability)).await?)
    }

    /// Begins a writing transaction that does not wait for the disk. A power failure, or a crash of
    /// PostgreSQL, may undo it, for as long as no committed write of [`SqlStorage::begin`] has followed. A crash of this
    /// process does not.
    ///
    /// For records that mean nothing after a power failure, because nobody is connected any more.
    pub(in crate::sql) async fn begin_unsynced(&self) -> Result<Transaction<'static, Any>, StorageError> {
        Ok(self.writer.begin_with(self.dialect.begin(Durability::Normal)).await?)
    }
}

/// Counts the failed attempts of one transaction.
#[derive(Default)]
pub(in crate::sql) struct Attempts {
    failed: u32,
}

impl Attempts {
    /// Commits or rolls back the transaction, according to its result. Returns `None` if the caller should try again.
    pub(in crate::sql) async fn settle<T>(
        &mut self,
        transaction: Transaction<'static, Any>,
        result: Result<T, StorageError>,
    ) -> Option<Result<T, StorageError>> {
        let result = match result {
            Ok(value) => transaction.commit().await.map(|()| value).map_err(StorageError::Database),
            Err(error) => {
                // The original error is more useful than a failed rollback, which the pool detects anyway.
                let _ = transaction.rollback().await;
                Err(error)
            }
        };
        self.failed += 1;
        if self.failed < ATTEMPTS_MAX && result.as_ref().is_err_and(is_transient) {
            tokio::time::sleep(Duration::from_millis(RETRY_MILLISECONDS * u64::from(self.failed))).await;
            return None;
        }
        Some(result)
    }
}

/// Returns whether the error is PostgreSQL's serialization_failure or deadlock_detected.
fn is_transient(error: &StorageError) -> bool {
    let StorageError::Database(sqlx::Error::Database(error)) = error else { return false };
    matches!(error.code().as_deref(), Some("40001" | "40P01"))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
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
        for (failures, code, attempts) in [(2, "40001", 3), (4, "40P01", 5), (9, "40001", 5), (9, "23505", 1)]
        {
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
}
