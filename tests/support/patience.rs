//! How long a test waits for anything.

use std::time::Duration;

/// How long a test waits for anything before it fails: machines may have much else to do.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for `future`, for as long as anything may take.
///
/// # Panics
/// If it does not come: `what` says what was waited for.
pub async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within {PATIENCE:?}"),
    }
}
