//! The client against a small coordinator in the same process.

mod budget;
mod care;
mod compression;
mod declining;
mod endorsements;
mod fake;
#[cfg(feature = "gpu")]
mod gpu;
mod listener;
mod prefetch;
mod story;
mod table_schema;
mod tiny_model;
mod tls;
mod traffic;
mod transparency;

use std::time::Duration;

/// The maximum time that a test waits before it fails. It is long because the machine may be busy with other work.
const PATIENCE: Duration = Duration::from_secs(120);
/// The interval at which [`until`] checks its condition.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until a condition holds.
///
/// # Panics
/// If it does not hold within [`PATIENCE`]; `what` names the condition in the message.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let holding = async {
        while !holds() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    patiently(what, holding).await;
}

/// Waits for `future` to complete.
///
/// # Panics
/// If it does not complete within [`PATIENCE`]; `what` names the future in the message.
async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    let ready = tokio::time::timeout(PATIENCE, future).await;
    ready.unwrap_or_else(|_| panic!("{what}: it did not come within {PATIENCE:?}"))
}
