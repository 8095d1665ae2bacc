use bytes::Bytes;
use folkmoot_protocol::{BlobDigest, ErrorCode};
use folkmoot_storage::{AssignmentRepository, ClientRecord, ModelVersionRepository, TaskRepository};

use crate::{coordinator::Coordinator, refusal::Refusal};

/// Brings a blob that the client's outstanding assignment needs; no other exists for it.
///
/// # Errors
/// [`ErrorCode::BlobUnknown`] for any other digest.
pub async fn blob(coordinator: &Coordinator, client: &ClientRecord, digest: BlobDigest) -> Result<Bytes, Refusal> {
    let unknown = || {
        let detail = format!("no outstanding assignment of this client needs blob {digest}; check in again");
        Refusal::new(ErrorCode::BlobUnknown, detail)
    };
    let assignment = coordinator.storage.outstanding_assignment(client.id).await?.ok_or_else(unknown)?;
    let task = coordinator.storage.task_of_any_organisation(assignment.task_id).await?.ok_or_else(unknown)?;
    if digest != task.plan && digest != task.model {
        let version = coordinator.storage.model_version(assignment.task_id, assignment.base_version).await?;
        version.filter(|version| version.weights == digest).ok_or_else(unknown)?;
    }
    Ok(coordinator.blobs.get(digest).await?)
}
