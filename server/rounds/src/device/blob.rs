use bytes::Bytes;
use folkmoot_combine::NetworkClass;
use folkmoot_objects::BlobStoreError;
use folkmoot_protocol::{BlobDigest, ErrorCode};
use folkmoot_storage::{AssignmentRepository, ClientRecord, TaskRecord};

use super::{check_in, rollout::is_rolled_out};
use crate::{coordinator::Coordinator, refusal::Refusal};

/// Returns a blob that the client's outstanding assignment or a model that is rolled out to it needs, and the network class
/// under which its bytes are counted (`None` if they are not counted). A client without an assignment can also fetch the
/// weights that it was offered.
///
/// # Errors
/// [`ErrorCode::BlobUnknown`] for any other digest. Also fails if the storage or the blob store fails.
pub async fn blob(
    coordinator: &Coordinator,
    client: &ClientRecord,
    digest: BlobDigest,
) -> Result<(Bytes, Option<NetworkClass>), Refusal> {
    let Some(assignment) = coordinator.storage.outstanding_assignment(client.id).await? else {
        // A waiting client may fetch the weights that the coordinator offered to it.
        let offered = coordinator.crowds.offered(client.organisation_id, &client.population);
        return match offered.filter(|artifact| artifact.digest == digest) {
            Some(_) => Ok((coordinator.blobs.get(digest).await?, Some(NetworkClass::Unknown))),
            None => of_rollout(coordinator, client, digest).await,
        };
    };
    let (catalog, storage) = (&coordinator.catalog, &coordinator.storage);
    let task = catalog.task(storage, assignment.task_id).await?;
    let evaluation_plan = task.evaluation_plan.map(|plan| plan.digest);
    let mut is_part = false;
    if digest != task.plan && digest != task.model && Some(digest) != evaluation_plan {
        let version = catalog.version(storage, assignment.task_id, assignment.base_version).await?;
        let control_variate = check_in::control_variate(&task, &version).map(|artifact| artifact.digest);
        let is_of_version = version.weights == digest || control_variate == Some(digest);
        is_part = !is_of_version && is_part_of(coordinator, &task, assignment.base_version, digest).await?;
        if !is_of_version && !is_part {
            return of_rollout(coordinator, client, digest).await;
        }
    }
    // The metrics must not include the bytes that a cohort fetched, because they would reveal the cohort's size.
    let counted_as = (!task.description.hides_counts()).then(|| NetworkClass::of(&assignment.slices));
    let found = match coordinator.blobs.get(digest).await {
        Err(BlobStoreError::NotFound(_)) if is_part => {
            coordinator.make_part_again(&task, assignment.base_version, digest).await?;
            coordinator.blobs.get(digest).await
        }
        found => found,
    };
    Ok((found?, counted_as))
}

/// Returns a blob of a model that is rolled out to the client. Its bytes count for no round.
async fn of_rollout(
    coordinator: &Coordinator,
    client: &ClientRecord,
    digest: BlobDigest,
) -> Result<(Bytes, Option<NetworkClass>), Refusal> {
    if is_rolled_out(coordinator, client, digest).await? {
        return Ok((coordinator.blobs.get(digest).await?, Some(NetworkClass::Unknown)));
    }
    let detail = format!(
        "neither an outstanding assignment of this client nor its rolled-out model needs blob {digest}; check in again"
    );
    Err(Refusal::new(ErrorCode::BlobUnknown, detail))
}

/// Returns whether a blob is one of a version's parts.
async fn is_part_of(
    coordinator: &Coordinator,
    task: &TaskRecord,
    version: u64,
    digest: BlobDigest,
) -> Result<bool, Refusal> {
    let parts = coordinator.parts_of(task, version).await?;
    Ok(parts.is_some_and(|parts| parts.iter().any(|part| part.digest == digest)))
}
