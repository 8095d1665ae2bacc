use folkmoot_protocol::{AssignmentId, Timestamp, messages::ReportRequest};
use folkmoot_storage::{AssignmentRepository, ClientRecord};

use super::{own_assignment, seen::seen};
use crate::{coordinator::Coordinator, refusal::Refusal};

/// Stores a client's report about its work on an assignment.
///
/// # Errors
/// Fails if the client has no such assignment, or the storage fails.
pub async fn report(
    coordinator: &Coordinator,
    client: &ClientRecord,
    id: AssignmentId,
    request: &ReportRequest,
    now: Timestamp,
) -> Result<(), Refusal> {
    seen(coordinator, client, None, now).await;
    let assignment = own_assignment(coordinator, client, id).await?;
    let _turn = coordinator.tenants.turn(client.organisation_id).await;
    Ok(coordinator.storage.record_report(assignment.id, request, now).await?)
}
