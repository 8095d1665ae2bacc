use folkmoot_protocol::{ErrorCode, OrganisationId};
use folkmoot_storage::Holdings;

use crate::{coordinator::Coordinator, refusal::Refusal};

/// Checks that an organisation may have `more` tasks and stored bytes. Requests in progress at the same time do not see
/// each other, so they may exceed a quota together.
///
/// # Errors
/// [`ErrorCode::QuotaExceeded`] if it would exceed a quota. Also fails if the storage fails.
pub async fn check_quotas(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    more: Holdings,
) -> Result<(), Refusal> {
    // In memory, there is one organisation and nobody who could set quotas.
    let Ok(database) = coordinator.storage.database() else { return Ok(()) };
    let quotas = database.quotas(organisation_id).await?;
    if quotas.tasks_max.is_none() && quotas.stored_bytes_max.is_none() {
        return Ok(());
    }
    let held = database.holdings(organisation_id).await?;
    let exceeds = |max: Option<u64>, held: u64, more: u64| {
        max.filter(|&max| more > 0 && held.saturating_add(more) > max)
    };
    let detail = if let Some(max) = exceeds(quotas.tasks_max, held.tasks, more.tasks) {
        format!(
            "the organisation has {} tasks that have not ended, and its quota is {max}; cancel one",
            held.tasks
        )
    } else if let Some(max) = exceeds(quotas.stored_bytes_max, held.stored_bytes, more.stored_bytes) {
        format!(
            "the organisation's models and versions have {} bytes, this would add {}, and its quota is {max}; use a smaller \
             model",
            held.stored_bytes, more.stored_bytes
        )
    } else {
        return Ok(());
    };
    let remedy = "or ask the coordinator's system administrator for a larger quota";
    Err(Refusal::new(ErrorCode::QuotaExceeded, format!("{detail}, {remedy}")))
}
