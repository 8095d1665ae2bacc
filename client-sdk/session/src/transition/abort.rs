use folkmoot_protocol::{
    Disposition,
    limits::TEXT_BYTES_MAX,
    messages::{AbortReason, AbortRequest},
};

use crate::{
    Effect, Failure, State, StopCause,
    state::{Aborting, AfterAbort, Resume, Work},
    turn::Turn,
};

/// The number of failures in a row after which the client stops sending the abort. The deadline then ends the
/// assignment.
pub const ABORT_FAILURES_MAX: u32 = 4;
/// The shortest wait after a declined assignment: a second. The next one is likely to be declined too, and the random
/// back-off alone could be 0.
pub const DECLINED_MILLISECONDS_MIN: u64 = 1000;

/// Gives up an assignment, notifies the coordinator, and checks in again.
pub(super) fn give_up(
    work: &Work,
    reason: AbortReason,
    detail: impl Into<String>,
    turn: &mut Turn<'_>,
) -> State {
    abort(work, reason, detail.into(), AfterAbort::CheckIn, turn)
}

/// Gives up an assignment and notifies the coordinator.
pub(super) fn abort(
    work: &Work,
    reason: AbortReason,
    mut detail: String,
    then: AfterAbort,
    turn: &mut Turn<'_>,
) -> State {
    let was_sent = turn.memory.spent.contains(&work.assignment.assignment_id);
    if was_sent {
        let assignment_id = work.assignment.assignment_id;
        turn.effects.push(Effect::Forget { assignment_id, was_accepted: None });
    } else {
        forget(work, turn);
    }
    detail.truncate(detail.floor_char_boundary(TEXT_BYTES_MAX));
    let assignment_id = work.assignment.assignment_id;
    send(Aborting { assignment_id, abort: AbortRequest { reason, detail }, then }, 0, turn)
}

/// Sends the abort.
pub(super) fn send(aborting: Aborting, failures: u32, turn: &mut Turn<'_>) -> State {
    let request_id = turn.next_request();
    let (assignment_id, abort) = (aborting.assignment_id, aborting.abort.clone());
    turn.effects.push(Effect::SendAbort { request_id, assignment_id, abort });
    State::Aborting { request_id, failures, aborting }
}

pub(super) fn answered(
    result: Result<(), Failure>,
    failures: u32,
    aborting: Aborting,
    turn: &mut Turn<'_>,
) -> State {
    match (result, aborting.then) {
        (Err(failure), _) if failure.disposition == Disposition::Retry && failures < ABORT_FAILURES_MAX => {
            turn.back_off(&failure, failures, Resume::Abort(aborting))
        }
        // The coordinator learns at the deadline that the assignment was given up. The client does not work on it
        // again.
        (_, AfterAbort::Stop(cause)) => State::Stopped { cause },
        (Err(failure), AfterAbort::CheckIn) if failure.disposition == Disposition::GiveUp => {
            State::Stopped { cause: StopCause::Refused(failure.code) }
        }
        (_, AfterAbort::CheckIn) => {
            let is_declined = aborting.abort.reason == AbortReason::Declined;
            turn.set_back(is_declined.then_some(DECLINED_MILLISECONDS_MIN))
        }
    }
}

/// Makes the host delete the files of an assignment whose update does not count.
pub(super) fn forget(work: &Work, turn: &mut Turn<'_>) {
    let assignment_id = work.assignment.assignment_id;
    turn.effects.push(Effect::Forget { assignment_id, was_accepted: Some(false) });
}
