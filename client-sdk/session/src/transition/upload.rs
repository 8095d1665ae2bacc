use folkmoot_protocol::{
    ErrorCode, UpdateDigest,
    messages::{AbortReason, UploadState, UploadStatus},
};

use super::{abort, exchange, failed};
use crate::{
    Effect, Failure, State,
    state::{PreparedUpdate, Resume, UploadPhase, Uploading, Work},
    turn::Turn,
};

/// The progress in bytes that restarts the failure count. A network that transfers less does not work.
pub const PROGRESS_BYTES_MIN: u64 = 16 * 1024;
/// The number of times that an update may arrive damaged. The client then assumes that its stored bytes are damaged,
/// and gives up.
pub const DIGEST_MISMATCHES_MAX: u32 = 3;

/// Fixes the only update of this assignment and starts to send it.
pub(super) fn prepared(
    work: Work,
    training_milliseconds: u64,
    digest: UpdateDigest,
    length: u64,
    turn: &mut Turn<'_>,
) -> State {
    turn.memory.spend(work.assignment.assignment_id);
    let uploading = Uploading {
        work,
        update: PreparedUpdate { digest, length },
        phase: UploadPhase::Sending { offset: 0 },
        training_milliseconds,
        upload_bytes: 0,
        acknowledged_bytes: 0,
        digest_mismatches: 0,
    };
    send(uploading, 0, turn)
}

/// Sends the request of the phase.
pub(super) fn send(uploading: Uploading, failures: u32, turn: &mut Turn<'_>) -> State {
    let request_id = turn.next_request();
    let assignment_id = uploading.work.assignment.assignment_id;
    let PreparedUpdate { digest, length } = uploading.update;
    turn.effects.push(match uploading.phase {
        UploadPhase::Asking => Effect::QueryUpload { request_id, assignment_id },
        UploadPhase::Sending { offset } => {
            Effect::Upload { request_id, assignment_id, offset, length, digest }
        }
    });
    State::Uploading { request_id, failures, uploading }
}

pub(super) fn answered(
    result: Result<UploadStatus, Failure>,
    failures: u32,
    mut uploading: Uploading,
    turn: &mut Turn<'_>,
) -> State {
    match result {
        Ok(UploadStatus { state: UploadState::Accepted, .. }) => {
            arrived(uploading.update.length, &mut uploading);
            exchange::accepted(uploading, turn)
        }
        Ok(UploadStatus { received_bytes, .. }) => partial(received_bytes, failures, uploading, turn),
        Err(failure) => refused(&failure, failures, uploading, turn),
    }
}

/// Continues from the coordinator's position: at once if there was progress, otherwise after a back-off.
fn partial(received_bytes: u64, failures: u32, mut uploading: Uploading, turn: &mut Turn<'_>) -> State {
    if received_bytes > uploading.update.length {
        let detail = "the coordinator reports more bytes than this update has";
        return abort::give_up(&uploading.work, AbortReason::StateLost, detail, turn);
    }
    let is_progress = match uploading.phase {
        UploadPhase::Asking => true,
        UploadPhase::Sending { offset } => received_bytes > offset,
    };
    // The failure count restarts if the upload made progress.
    let failures = if arrived(received_bytes, &mut uploading) >= PROGRESS_BYTES_MIN { 0 } else { failures };
    uploading.phase = UploadPhase::Sending { offset: received_bytes };
    if is_progress {
        return send(uploading, failures, turn);
    }
    turn.back_off(&Failure::network(), failures, Resume::Upload(uploading))
}

/// Records the coordinator's position. Returns the bytes that arrived since its last report.
fn arrived(received_bytes: u64, uploading: &mut Uploading) -> u64 {
    let arrived = received_bytes.saturating_sub(uploading.acknowledged_bytes);
    uploading.acknowledged_bytes = received_bytes;
    uploading.upload_bytes = uploading.upload_bytes.saturating_add(arrived);
    arrived
}

fn refused(failure: &Failure, failures: u32, mut uploading: Uploading, turn: &mut Turn<'_>) -> State {
    match failure.code {
        // The client made a different update before it lost its state.
        Some(ErrorCode::UpdateConflict) => {
            let detail = "a different update was already started for this assignment";
            return abort::give_up(&uploading.work, AbortReason::StateLost, detail, turn);
        }
        Some(ErrorCode::UpdateDigestMismatch) => {
            uploading.digest_mismatches = uploading.digest_mismatches.saturating_add(1);
            if uploading.digest_mismatches >= DIGEST_MISMATCHES_MAX {
                let detail = "the stored update is damaged";
                return abort::give_up(&uploading.work, AbortReason::StateLost, detail, turn);
            }
        }
        Some(ErrorCode::UploadOffsetMismatch) if failures == 0 => {
            if let Some(offset) = failure.received_bytes.filter(|&bytes| bytes <= uploading.update.length) {
                arrived(offset, &mut uploading);
                uploading.phase = UploadPhase::Sending { offset };
                return send(uploading, 1, turn);
            }
        }
        _ => {}
    }
    // Only the coordinator knows how much has arrived.
    uploading.phase = UploadPhase::Asking;
    let work = uploading.work.clone();
    failed(failure, failures, &work, Resume::Upload(uploading), turn)
}
