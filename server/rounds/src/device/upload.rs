use std::sync::Arc;

use folkmoot_protocol::{
    AssignmentId, Disposition, ErrorCode, Timestamp,
    messages::{UploadState, UploadStatus},
};
use folkmoot_storage::{
    AcceptOutcome, AssignmentRecord, AssignmentRepository, AssignmentStatus, ClientRecord, CloseOutcome,
    DropReason,
};
use tokio::sync::OwnedMutexGuard;

use super::own_assignment;
use crate::{
    coordinator::Coordinator,
    in_place::in_place,
    ingest::{Announced, ExpectedUpdate, Upload, logged},
    noise::Sabotage,
    privacy,
    refusal::Refusal,
};

/// When a client may ask again whose update has to wait for the next round.
const BETWEEN_ROUNDS_MILLISECONDS: u64 = 250;

/// A part of an upload, before its first byte.
#[derive(Clone, Copy, Debug)]
pub struct UploadRequest {
    /// The assignment that it answers.
    pub assignment_id: AssignmentId,
    /// The whole update.
    pub announced: Announced,
    /// Where this part begins.
    pub offset: u64,
}

/// The sole right to send an update's bytes.
pub type UploadGuard = OwnedMutexGuard<Option<Upload>>;

/// What a part of an upload meets.
pub enum Begun {
    /// Its bytes are awaited; the upload stands at the part's offset.
    Awaited(UploadGuard),
    /// The same update was accepted before: there is nothing to send.
    Accepted(UploadStatus),
}

/// Says how much of an update has arrived.
///
/// # Errors
/// If the assignment is not the client's, or no update is taken for it any more.
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
    // Reading takes no lock: a client may ask while another of its requests still sends.
    let received_bytes = match coordinator.ingest.received(id) {
        Some(received) => received,
        None => logged(&coordinator.ingest, assignment.round_id, id)?,
    };
    Ok(UploadStatus { received_bytes, state: UploadState::Partial })
}

/// Begins a part of an upload: finds out whether it is awaited, and where.
///
/// # Errors
/// A refusal if the assignment takes no update, takes another, is being sent by another request, or stands at
/// another offset.
pub async fn begin_upload(
    coordinator: &Coordinator,
    client: &ClientRecord,
    request: UploadRequest,
    now: Timestamp,
) -> Result<Begun, Refusal> {
    let id = request.assignment_id;
    let assignment = own_assignment(coordinator, client, id).await?;
    if let Some(status) = if_accepted(&assignment, request.announced)? {
        return Ok(Begun::Accepted(status));
    }
    check_outstanding(&assignment, now)?;
    let slot = coordinator.ingest.slot(assignment.round_id, id);
    let Ok(mut guard) = slot.try_lock_owned() else {
        let detail = "another request is sending this update; wait for it, then ask how far it came";
        return Err(Refusal::new(ErrorCode::UploadBusy, detail).retry_after(1_000));
    };
    let upload = match guard.as_ref() {
        Some(upload) => upload,
        None => {
            // Whoever has the segment is alone with it, also among processes: only now is it certain that the update in it was
            // not accepted meanwhile.
            let segment = coordinator.ingest.log().open(assignment.round_id, id)?;
            let assignment = own_assignment(coordinator, client, id).await?;
            if let Some(status) = if_accepted(&assignment, request.announced)? {
                drop(guard);
                coordinator.ingest.forget_upload(id);
                return Ok(Begun::Accepted(status));
            }
            check_outstanding(&assignment, now)?;
            let task = coordinator.catalog.task(&coordinator.storage, assignment.task_id).await?;
            if !privacy::may_collect(coordinator, &task, assignment.round_id, now).await? {
                let detail = "the privacy budget does not allow this update; check in again";
                let refusal = Refusal::new(ErrorCode::RoundClosed, detail);
                return Err(record_refusal(coordinator, id, refusal, now).await);
            }
            let mut expected = ExpectedUpdate::of(&task, &assignment);
            if !task.description.privacy.is_none() {
                let (storage, base) = (&coordinator.storage, assignment.base_version);
                let version = coordinator.catalog.version(storage, task.id, base).await?;
                let norm_max = privacy::clipping_steps(&task, &version);
                expected.norm_max =
                    norm_max.filter(|_| coordinator.sabotage != Some(Sabotage::LongUpdatesAreLetIn));
            }
            let opened = in_place(|| Upload::open(&coordinator.ingest, segment, expected, request.announced));
            match opened {
                Ok(upload) => &*guard.insert(upload),
                Err(refusal) => return Err(record_refusal(coordinator, id, refusal, now).await),
            }
        }
    };
    if upload.announced() != request.announced {
        let detail = "another update was begun for this assignment; a client sends one and the same";
        return Err(Refusal::new(ErrorCode::UpdateConflict, detail));
    }
    if upload.received() != request.offset {
        let detail =
            format!("the part begins at byte {}, but {} have arrived", request.offset, upload.received());
        return Err(Refusal::new(ErrorCode::UploadOffsetMismatch, detail).received(upload.received()));
    }
    Ok(Begun::Awaited(guard))
}

/// Ends a part of an upload. A whole update is made durable and counts from now on; the answer says so.
///
/// # Errors
/// A refusal if the update is not the announced one, or the round has closed.
pub async fn finish_upload(
    coordinator: &Arc<Coordinator>,
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
        // What comes next, if anything, is another upload with a digest of its own.
        Err(refusal) => return Err(refuse_upload(coordinator, guard, refusal, now).await),
    };
    let tally = guard.as_ref().and_then(Upload::tally);
    let outcome = coordinator.storage.accept_update(&update).await?;
    drop(guard);
    if let Some(tally) = tally.filter(|_| outcome == AcceptOutcome::Accepted) {
        tally.count();
    }
    if outcome == AcceptOutcome::Later {
        coordinator.facts.notify_one();
    }
    match outcome {
        AcceptOutcome::Accepted | AcceptOutcome::AlreadyAccepted => {
            coordinator.ingest.forget_upload(update.assignment_id);
            coordinator.facts.notify_one();
            Ok(accepted(received_bytes))
        }
        AcceptOutcome::Conflict => {
            Err(Refusal::new(ErrorCode::UpdateConflict, "another update was accepted for this assignment"))
        }
        AcceptOutcome::Closed => Err(Refusal::new(
            ErrorCode::RoundClosed,
            "the round has closed without this update; check in again",
        )),
        AcceptOutcome::Later => Err(between_rounds()),
    }
}

/// Ends an upload whose bytes were refused.
pub async fn refuse_upload(
    coordinator: &Coordinator,
    mut guard: UploadGuard,
    refusal: Refusal,
    now: Timestamp,
) -> Refusal {
    let Some(mut upload) = guard.take() else { return refusal };
    in_place(|| upload.give_up(&coordinator.ingest));
    let id = upload.assignment_id();
    // Another request may have the segment from here on, while the guard still keeps those of this process away.
    drop(upload);
    let refusal = record_refusal(coordinator, id, refusal, now).await;
    drop(guard);
    refusal
}

/// Drops the assignment when the client is to give the update up, so that the round does not wait for it.
async fn record_refusal(
    coordinator: &Coordinator,
    id: AssignmentId,
    refusal: Refusal,
    now: Timestamp,
) -> Refusal {
    if refusal.code().disposition() == Disposition::CheckIn {
        coordinator.ingest.forget_upload(id);
        let reason = DropReason::Refused { code: refusal.code() };
        if let Err(error) = drop_refused(coordinator, id, &reason, now).await {
            tracing::error!(%error, assignment = %id, "a refused update could not be recorded; it expires");
        }
        coordinator.facts.notify_one();
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

/// Removes the bytes of an assignment that brings no update. Where updates are summed while they arrive they stay until
/// the round closes: what was folded of them is taken out then.
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

/// The update is whole and stored; the next round, which is about to open, will take it.
fn between_rounds() -> Refusal {
    let detail = "the update has arrived, and the next round will count it; ask again for its state";
    Refusal::new(ErrorCode::UploadBusy, detail).retry_after(BETWEEN_ROUNDS_MILLISECONDS)
}

fn check_outstanding(assignment: &AssignmentRecord, now: Timestamp) -> Result<(), Refusal> {
    match &assignment.status {
        AssignmentStatus::Dropped { reason: DropReason::Refused { code } } => {
            Err(Refusal::new(*code, "the update was refused before; check in again"))
        }
        AssignmentStatus::Dropped { reason: DropReason::Aborted { .. } } => {
            Err(Refusal::new(ErrorCode::AssignmentExpired, "the assignment was given up; check in again"))
        }
        AssignmentStatus::Dropped { reason: DropReason::Expired | DropReason::LeftBehind } => Err(
            Refusal::new(ErrorCode::RoundClosed, "the round has closed without this update; check in again"),
        ),
        _ if assignment.deadline <= now => {
            Err(Refusal::new(ErrorCode::AssignmentExpired, "the deadline has passed; check in again"))
        }
        _ => Ok(()),
    }
}

/// Returns what is said of an update that was accepted before; nothing while none was.
fn if_accepted(assignment: &AssignmentRecord, announced: Announced) -> Result<Option<UploadStatus>, Refusal> {
    match assignment.status {
        AssignmentStatus::Accepted { digest, .. } if digest != announced.digest => {
            Err(Refusal::new(ErrorCode::UpdateConflict, "another update was accepted for this assignment"))
        }
        AssignmentStatus::Accepted { bytes, .. } => Ok(Some(accepted(bytes))),
        _ => Ok(None),
    }
}

fn accepted(received_bytes: u64) -> UploadStatus {
    UploadStatus { received_bytes, state: UploadState::Accepted }
}
