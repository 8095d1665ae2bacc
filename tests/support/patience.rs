//! The time limit for all events for which a test waits.

use std::time::Duration;

/// The time that a test waits for an event before it fails. The limit is long because machines may be busy.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for `future`, up to [`PATIENCE`].
///
/// # Panics
/// If the future does not complete in time. The message contains `what`.
pub async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within {PATIENCE:?}"),
    }
}
