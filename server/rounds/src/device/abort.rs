use folkmoot_protocol::{AssignmentId, ErrorCode, Timestamp, limits::TEXT_BYTES_MAX, messages::AbortRequest};
use folkmoot_storage::{AssignmentRepository, ClientRecord, CloseOutcome, DropReason};

use super::{own_assignment, seen::seen, upload::forget_unless_summed};
use crate::{coordinator::Coordinator, refusal::Refusal, signals::Signal};

/// Records that a client gives up an assignment. An assignment that was already accepted or dropped does not change.
///
/// # Errors
/// Fails if the client has no such assignment, or the detail is too long.
pub async fn abort(
    coordinator: &Coordinator,
    client: &ClientRecord,
    id: AssignmentId,
    request: &AbortRequest,
    now: Timestamp,
) -> Result<(), Refusal> {
    if request.detail.len() > TEXT_BYTES_MAX {
        let detail = format!("detail is too long: the limit is {TEXT_BYTES_MAX} bytes; shorten it");
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
    }
    seen(coordinator, client, None, now).await;
    let assignment = own_assignment(coordinator, client, id).await?;
    let reason = DropReason::Aborted { reason: request.reason, detail: request.detail.clone() };
    let turn = coordinator.tenants.turn(client.organisation_id).await;
    // An accepted update is used, even if the client did not receive the confirmation.
    let outcome = coordinator.storage.drop_assignment(assignment.id, &reason, now).await?;
    drop(turn);
    if outcome == CloseOutcome::Dropped {
        forget_unless_summed(coordinator, &assignment).await?;
    }
    coordinator.signal(Signal::Fact);
    Ok(())
}
