use folkmoot_protocol::{AssignmentId, messages::ReportRequest};

use crate::{Effect, State, state::Uploading, turn::Turn};

/// Ends an assignment whose update was accepted.
pub(super) fn accepted(uploading: Uploading, turn: &mut Turn<'_>) -> State {
    turn.memory.setbacks = 0;
    let report = ReportRequest {
        training_milliseconds: uploading.training_milliseconds,
        download_bytes: uploading.work.download_bytes,
        upload_bytes: uploading.upload_bytes,
    };
    send(uploading.work.assignment.assignment_id, report, turn)
}

/// Makes the host settle the accepted update's files, and sends the report.
pub(super) fn send(assignment_id: AssignmentId, report: ReportRequest, turn: &mut Turn<'_>) -> State {
    turn.effects.push(Effect::Forget { assignment_id, was_accepted: Some(true) });
    let request_id = turn.next_request();
    turn.effects.push(Effect::SendReport { request_id, assignment_id, report });
    State::Done { request_id, assignment_id, report }
}
