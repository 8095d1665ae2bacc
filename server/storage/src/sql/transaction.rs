use std::time::Duration;

use sqlx::{Any, Transaction};

use super::SqlStorage;
use crate::StorageError;

/// How often a transaction is tried that PostgreSQL undoes for the sake of another one.
const ATTEMPTS_MAX: u32 = 5;
/// The wait before the second attempt; it grows by as much with each.
const RETRY_MILLISECONDS: u64 = 5;

/// Does a block in one transaction: all of it is kept if it returns `Ok`, nothing otherwise.
///
/// A deadlock or a serialisation failure has undone everything, so the block is done again. It is a macro
/// because a future that borrows from an async closure cannot be shown to be `Send` today.
macro_rules! in_transaction {
    ($storage:expr, |$connection:ident| $work:expr) => {{
        let mut attempts = $crate::sql::transaction::Attempts::default();
        loop {
            let mut transaction = $storage.begin().await?;
            let $connection = &mut *transaction;
            let result = $crate::sql::transaction::typed(async { $work }).await;
            if let Some(result) = attempts.settle(transaction, result).await {
                break result;
            }
        }
    }};
}
pub(super) use in_transaction;

/// Names the type of a block's result, so that `?` in it knows the error.
pub(super) fn typed<T, F: Future<Output = Result<T, StorageError>>>(work: F) -> F {
    work
}

impl SqlStorage {
    /// Begins a transaction that writes.
    pub(super) async fn begin(&self) -> Result<Transaction<'static, Any>, StorageError> {
        Ok(self.writer.begin_with(self.dialect.begin()).await?)
    }
}

/// Counts the attempts at one transaction.
#[derive(Default)]
pub(super) struct Attempts {
    failed: u32,
}

impl Attempts {
    /// Ends the transaction as its result demands; `None` asks for another attempt.
    pub(super) async fn settle<T>(
        &mut self,
        transaction: Transaction<'static, Any>,
        result: Result<T, StorageError>,
    ) -> Option<Result<T, StorageError>> {
        let result = match result {
            Ok(value) => transaction.commit().await.map(|()| value).map_err(StorageError::Database),
            Err(error) => {
                // The reason of the failure says more than a failing rollback, which the pool sees anyway.
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

/// Recognises PostgreSQL's serialization_failure and deadlock_detected.
fn is_transient(error: &StorageError) -> bool {
    let StorageError::Database(sqlx::Error::Database(error)) = error else { return false };
    matches!(error.code().as_deref(), Some("40001" | "40P01"))
}
