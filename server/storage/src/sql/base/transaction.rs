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
#[path = "../../../tests/unit/transaction.rs"]
mod tests;
