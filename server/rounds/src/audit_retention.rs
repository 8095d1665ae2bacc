//! Retention of audit logs.

use folkmoot_protocol::Timestamp;
use folkmoot_storage::{
    AuditRepository, StorageError,
    audit::{Actor, PRUNED_MAX, on_behalf_of},
};

use crate::coordinator::Coordinator;

const DAY_MILLISECONDS: u64 = 86_400_000;

/// Removes the entries of all audit logs that are older than the configured number of days. Each log keeps an entry about
/// what was removed, so that the rest can still be verified. Does nothing if no number is configured.
///
/// A log whose oldest entries are not a chain is left as it is, with an error in the coordinator's log.
///
/// # Errors
/// [`StorageError`] if the storage fails.
pub async fn prune(coordinator: &Coordinator, now: Timestamp) -> Result<(), StorageError> {
    let Some(days) = coordinator.audit_keep_days else { return Ok(()) };
    let before = Timestamp(now.0.saturating_sub(u64::from(days) * DAY_MILLISECONDS));
    let actor = Actor { by: format!("coordinator (audit.keep_days = {days})"), from: None, at: now };
    for organisation in coordinator.storage.database()?.audited_organisations().await? {
        loop {
            let pruned = coordinator.storage.prune_audit(organisation, before);
            let removed = match on_behalf_of(actor.clone(), pruned).await {
                Err(error @ StorageError::Corrupt { .. }) => {
                    tracing::error!(%organisation, %error, "the oldest entries of an audit log were changed; none is removed");
                    break;
                }
                removed => removed?,
            };
            if removed > 0 {
                tracing::info!(%organisation, removed, "removed old entries of an audit log");
            }
            if removed < u64::from(PRUNED_MAX) {
                break;
            }
        }
    }
    Ok(())
}
