use std::sync::Arc;

use folkmoot_coordinator::round::Purpose;
use folkmoot_objects::UpdateStoreError;
use folkmoot_protocol::{
    AssignmentId, Disposition, ErrorCode, OrganisationId, Timestamp, UpdateDigest,
    messages::{UploadState, UploadStatus},
    update::HEADER_BYTES,
};
use folkmoot_storage::{
    AcceptOutcome, AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus, ClientRecord,
    CloseOutcome, DropReason, TaskRecord,
};
use tokio::sync::OwnedMutexGuard;
use tracing::Instrument;

use super::own_assignment;
use crate::{
    coordinator::Coordinator,
    in_place::in_place,
    ingest::{Announced, ExpectedUpdate, Upload, logged, reports_metrics},
    noise::Sabotage,
    privacy,
    refusal::Refusal,
    signals::Signal,
};

/// The time, in milliseconds, after which a client should ask again about an update that waits for the next round.
const BETWEEN_ROUNDS_MILLISECONDS: u64 = 250;

/// The time, in milliseconds, after which a client should repeat a request because the object storage failed.
const NOT_STORED_MILLISECONDS: u64 = 1_000;

/// The announced properties of one part of an upload.
#[derive(Clone, Copy, Debug)]
pub struct UploadRequest {
    /// The assignment that the upload answers.
    pub assignment_id: AssignmentId,
    /// The digest and length of the whole update.
    pub announced: Announced,
    /// The byte offset at which this part begins.
    pub offset: u64,
}

/// Exclusive access to an assignment's upload.
pub type UploadGuard = OwnedMutexGuard<Option<Upload>>;

/// The state of the upload when a part begins.
pub enum Begun {
    /// The bytes are expected; the upload has arrived up to the part's offset.
    Awaited(UploadGuard),
    /// This update was already accepted; no bytes need to be sent.
    Accepted(UploadStatus),
}

/// Returns the number of bytes of an update that have arrived, and whether the update was accepted.
///
/// # Errors
/// Fails if the assignment belongs to another client, or no longer accepts an update.
pub async fn upload_status(
    coordinator: &Coordinator,
    client: &ClientRecord,
    id: AssignmentId,
    now: Timestamp,
) -> Result<UploadStatus, Refusal> {
    let assignment = own_assignment(coordinator, client, id).await?;
    if let AssignmentStatus::Accepted { bytes, .. } = assignment.status {
        return Ok(accepted(bytes));
    }
    check_outstanding(&assignment, now)?;
    // Reading the count takes no lock, so a client may ask for the state while another of its requests sends bytes.
    let received_bytes = match coordinator.ingest.received(id) {
        Some(received) => received,
        None => {
            take_over_if_free(coordinator, &assignment).await?;
            logged(&coordinator.ingest, assignment.round_id, id)?
        }
    };
    Ok(UploadStatus { received_bytes, state: UploadState::Partial })
}

/// Begins a part of an upload. Checks that the assignment awaits this update, and that the part begins where the
/// received bytes end.
///
/// # Errors
/// Fails if the assignment accepts no update or has received another one, if another request is sending the update, if
/// the privacy budget does not allow the update, or if the part begins at the wrong offset.
pub async fn begin_upload(
    coordinator: &Coordinator,
    client: &ClientRecord,
    request: UploadRequest,
    now: Timestamp,
) -> Result<Begun, Refusal> {
    let id = request.assignment_id;
    let assignment = own_assignment(coordinator, client, id).await?;
    if let Some(status) = if_accepted(&assignment, request.announced.digest)? {
        return Ok(Begun::Accepted(status));
    }
    check_outstanding(&assignment, now)?;
    let slot = coordinator.ingest.slot(assignment.round_id, id);
    let Ok(mut guard) = slot.try_lock_owned() else {
        let detail = "another request is sending this update; wait until it has ended, then ask how many bytes have arrived";
        return Err(Refusal::new(ErrorCode::UploadBusy, detail).retry_after(1_000));
    };
    let upload = match guard.as_ref() {
        Some(upload) => upload,
        None => {
            if request.offset > 0 {
                coordinator.ingest.take_over(assignment.round_id, id).await.map_err(not_stored)?;
            }
            // The log's segment is locked across processes. Read the assignment again: before the lock, another process
            // may have accepted the update.
            let segment = coordinator.ingest.log().open(assignment.round_id, id)?;
            let assignment = own_assignment(coordinator, client, id).await?;
            if let Some(status) = if_accepted(&assignment, request.announced.digest)? {
                drop(guard);
                coordinator.ingest.forget_upload(id);
                return Ok(Begun::Accepted(status));
            }
            check_outstanding(&assignment, now)?;
            let task = coordinator.catalog.task(&coordinator.storage, assignment.task_id).await?;
            check_budget(coordinator, &task, &assignment, now).await?;
            let mut expected = ExpectedUpdate::of(&task, &assignment);
            expected.norm_max = norm_max(coordinator, &task, &assignment).await?;
            if request.announced.length > HEADER_BYTES as u64
                && assignment.purpose == Purpose::Evaluation
                && reports_metrics(&task.description)
            {
                expected.sum_shapes = coordinator.sum_shapes.of(&coordinator.blobs, &task).await?;
            }
            let opened = in_place(|| Upload::open(&coordinator.ingest, segment, expected, request.announced));
            match opened {
                Ok(upload) => &*guard.insert(upload),
                Err(refusal) => {
                    return Err(record_refusal(coordinator, client.organisation_id, id, refusal, now).await);
                }
            }
        }
    };
    upload.check_part(request.announced, request.offset)?;
    Ok(Begun::Awaited(guard))
}

/// Refuses an update that the privacy budget does not allow.
pub(super) async fn check_budget(
    coordinator: &Coordinator,
    task: &TaskRecord,
    assignment: &AssignmentRecord,
    now: Timestamp,
) -> Result<(), Refusal> {
    if privacy::may_collect(coordinator, task, assignment.round_id, now).await? {
        return Ok(());
    }
    let detail = "the privacy budget does not allow this update; check in again";
    let refusal = Refusal::new(ErrorCode::RoundClosed, detail);
    let (organisation, id) = (assignment.organisation_id, assignment.id);
    Err(record_refusal(coordinator, organisation, id, refusal, now).await)
}

/// Returns the largest allowed L2 norm of an update, in steps of the grid; `None` if updates are not clipped.
pub(super) async fn norm_max(
    coordinator: &Coordinator,
    task: &TaskRecord,
    assignment: &AssignmentRecord,
) -> Result<Option<u64>, Refusal> {
    if task.description.privacy.is_none() || coordinator.sabotage == Some(Sabotage::LongUpdatesAreLetIn) {
        return Ok(None);
    }
    let (storage, base) = (&coordinator.storage, assignment.base_version);
    let version = coordinator.catalog.version(storage, task.id, base).await?;
    Ok(privacy::clipping_steps(task, &version))
}

/// Ends a part of an upload. If the update is complete, makes it durable and accepts it.
///
/// # Errors
/// Fails if the digest does not match, or the round has closed.
pub async fn finish_upload(
    coordinator: &Arc<Coordinator>,
    client: &ClientRecord,
    mut guard: UploadGuard,
    now: Timestamp,
) -> Result<UploadStatus, Refusal> {
    let upload = guard.as_ref().expect("whoever sends has begun");
    let received_bytes = upload.received();
    if !upload.is_whole() {
        return Ok(UploadStatus { received_bytes, state: UploadState::Partial });
    }
    let shared = coordinator.clone();
    let finished = tokio::task::spawn_blocking(move || {
        let update = guard.as_mut().expect("whoever sends has begun").finish(&shared.ingest, now);
        (guard, update)
    });
    let (guard, update) = finished.await.map_err(|error| Refusal::internal(&error))?;
    let update = match update {
        Ok(update) => update,
        // The client can only start again, with a new upload and its new digest.
        Err(refusal) => return Err(refuse_upload(coordinator, client, guard, refusal, now).await),
    };
    let (guard, update) = kept(coordinator, guard, update).await?;
    let tally = guard.as_ref().and_then(Upload::tally);
    let turn = coordinator.tenants.turn(client.organisation_id).await;
    let outcome = coordinator.storage.accept_update(&update).await?;
    drop((turn, guard));
    if let Some(tally) = tally.filter(|_| outcome == AcceptOutcome::Accepted) {
        tally.count();
    }
    if matches!(outcome, AcceptOutcome::Accepted | AcceptOutcome::AlreadyAccepted) {
        coordinator.ingest.forget_upload(update.assignment_id);
    }
    answered(coordinator, outcome, received_bytes)
}

/// Returns the answer to a client whose complete update was offered to the storage, and wakes the drivers.
pub(super) fn answered(
    coordinator: &Coordinator,
    outcome: AcceptOutcome,
    received_bytes: u64,
) -> Result<UploadStatus, Refusal> {
    match outcome {
        AcceptOutcome::Accepted | AcceptOutcome::AlreadyAccepted => {
            coordinator.signal(Signal::Fact);
            Ok(accepted(received_bytes))
        }
        AcceptOutcome::Conflict => Err(Refusal::new(
            ErrorCode::UpdateConflict,
            "another update was already accepted for this assignment; check in again",
        )),
        AcceptOutcome::Closed => {
            Err(Refusal::new(ErrorCode::RoundClosed, "the round closed without this update; check in again"))
        }
        AcceptOutcome::Later => {
            coordinator.signal(Signal::Fact);
            Err(between_rounds())
        }
    }
}

/// Aborts an upload whose bytes were refused.
pub async fn refuse_upload(
    coordinator: &Coordinator,
    client: &ClientRecord,
    mut guard: UploadGuard,
    refusal: Refusal,
    now: Timestamp,
) -> Refusal {
    let Some(mut upload) = guard.take() else { return refusal };
    in_place(|| upload.give_up(&coordinator.ingest));
    let id = upload.assignment_id();
    // From here on, another process may open the segment; the guard still excludes other requests to this process.
    drop(upload);
    let refusal = record_refusal(coordinator, client.organisation_id, id, refusal, now).await;
    drop(guard);
    refusal
}

/// Drops the assignment if the refusal tells the client to check in again, so that the round does not wait for it.
pub(super) async fn record_refusal(
    coordinator: &Coordinator,
    organisation: OrganisationId,
    id: AssignmentId,
    refusal: Refusal,
    now: Timestamp,
) -> Refusal {
    if refusal.code().disposition() == Disposition::CheckIn {
        coordinator.ingest.forget_upload(id);
        let reason = DropReason::Refused { code: refusal.code() };
        let _turn = coordinator.tenants.turn(organisation).await;
        if let Err(error) = drop_refused(coordinator, id, &reason, now).await {
            tracing::error!(%error, assignment = %id, "could not record that an update was refused; its assignment will expire");
        }
        coordinator.signal(Signal::Fact);
    }
    refusal
}

async fn drop_refused(
    coordinator: &Coordinator,
    id: AssignmentId,
    reason: &DropReason,
    now: Timestamp,
) -> Result<(), Refusal> {
    if coordinator.storage.drop_assignment(id, reason, now).await? != CloseOutcome::Dropped {
        return Ok(());
    }
    match coordinator.storage.assignment(id).await? {
        Some(assignment) => forget_unless_summed(coordinator, &assignment).await,
        None => Ok(()),
    }
}

/// Deletes the bytes of an assignment that was dropped. If updates are summed on arrival, the bytes stay until the
/// round closes, because the round needs them to subtract the summed values.
pub(super) async fn forget_unless_summed(
    coordinator: &Coordinator,
    assignment: &AssignmentRecord,
) -> Result<(), Refusal> {
    let task = coordinator.catalog.task(&coordinator.storage, assignment.task_id).await?;
    if ExpectedUpdate::of(&task, assignment).summed_by().is_none() {
        coordinator.ingest.forget_assignment(assignment.round_id, assignment.id)?;
    }
    Ok(())
}

/// Copies the beginning of an update that another process has received, unless another request works on the update.
async fn take_over_if_free(coordinator: &Coordinator, assignment: &AssignmentRecord) -> Result<(), Refusal> {
    let ingest = &coordinator.ingest;
    if ingest.store().is_none() {
        return Ok(());
    }
    let Ok(guard) = ingest.slot(assignment.round_id, assignment.id).try_lock_owned() else { return Ok(()) };
    if guard.is_some() {
        return Ok(());
    }
    let taken = ingest.take_over(assignment.round_id, assignment.id).await;
    ingest.forget_upload(assignment.id);
    taken.map_err(not_stored)
}

/// Stores a complete update where other processes can read it, if there is such a place.
async fn kept(
    coordinator: &Arc<Coordinator>,
    guard: UploadGuard,
    mut update: AcceptedUpdate,
) -> Result<(UploadGuard, AcceptedUpdate), Refusal> {
    let Some(logged) = guard.as_ref().map(Upload::logged_digest) else { return Ok((guard, update)) };
    if coordinator.ingest.store().is_none() {
        return Ok((guard, update));
    }
    let shared = coordinator.clone();
    // A separate task, which also holds the guard: it finishes even if the client disconnects.
    let storing = async move {
        let stored = shared.ingest.keep(&mut update, logged).await;
        (guard, update, stored)
    };
    let storing = tokio::spawn(storing.in_current_span());
    let (guard, update, stored) = storing.await.map_err(|error| Refusal::internal(&error))?;
    stored.map_err(not_stored)?;
    Ok((guard, update))
}

/// Refuses an update because the object storage failed. The bytes that have arrived stay here.
pub(super) fn not_stored(error: UpdateStoreError) -> Refusal {
    tracing::warn!(%error, "an update could not be stored; its client will try again");
    let detail = "the update could not be stored; ask for the state of the upload and repeat the request";
    Refusal::new(ErrorCode::Overloaded, detail).retry_after(NOT_STORED_MILLISECONDS)
}

/// Refuses a complete and stored update because no round is open. The next round, which is about to open, will use it.
fn between_rounds() -> Refusal {
    let detail =
        "the update has arrived and the next round will use it; ask for the state of the upload again";
    Refusal::new(ErrorCode::UploadBusy, detail).retry_after(BETWEEN_ROUNDS_MILLISECONDS)
}

pub(super) fn check_outstanding(assignment: &AssignmentRecord, now: Timestamp) -> Result<(), Refusal> {
    match &assignment.status {
        AssignmentStatus::Dropped { reason: DropReason::Refused { code } } => {
            Err(Refusal::new(*code, "this assignment's update was refused earlier; check in again"))
        }
        AssignmentStatus::Dropped { reason: DropReason::Aborted { .. } } => Err(Refusal::new(
            ErrorCode::AssignmentExpired,
            "the client gave up this assignment; check in again",
        )),
        AssignmentStatus::Dropped { reason: DropReason::Expired | DropReason::LeftBehind } => {
            Err(Refusal::new(ErrorCode::RoundClosed, "the round closed without this update; check in again"))
        }
        _ if assignment.deadline <= now => Err(Refusal::new(
            ErrorCode::AssignmentExpired,
            "the assignment's deadline has passed; check in again",
        )),
        _ => Ok(()),
    }
}

/// Returns the status of an update that was already accepted; `None` if no update was accepted.
pub(super) fn if_accepted(
    assignment: &AssignmentRecord,
    digest: UpdateDigest,
) -> Result<Option<UploadStatus>, Refusal> {
    match assignment.status {
        AssignmentStatus::Accepted { digest: accepted, .. } if accepted != digest => Err(Refusal::new(
            ErrorCode::UpdateConflict,
            "another update was already accepted for this assignment; check in again",
        )),
        AssignmentStatus::Accepted { bytes, .. } => Ok(Some(accepted(bytes))),
        _ => Ok(None),
    }
}

pub(super) fn accepted(received_bytes: u64) -> UploadStatus {
    UploadStatus { received_bytes, state: UploadState::Accepted }
}
