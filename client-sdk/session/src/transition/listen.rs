use folkmoot_protocol::{Disposition, messages::AskResponse};

use super::abort;
use crate::{
    Effect, Failure, Listening, RequestId, State, back_off::back_off_until, state::Work, turn::Turn,
};

/// Listens for a request for a partial update, if the assignment allows one. A host whose check-ins do not wait holds
/// no requests open, and does not listen.
pub(super) fn listen(work: &Work, failures: u32, turn: &mut Turn<'_>) -> Listening {
    let wait_seconds = turn.memory.offer.wait_seconds;
    if !work.assignment.may_be_asked || wait_seconds == 0 {
        return Listening::Not;
    }
    let request_id = turn.next_request();
    let assignment_id = work.assignment.assignment_id;
    turn.effects.push(Effect::Listen { request_id, assignment_id, wait_seconds });
    Listening::Waiting { request_id, failures }
}

/// Listens again when the back-off is over.
pub(super) fn woken(work: &Work, listening: Listening, turn: &mut Turn<'_>) -> Listening {
    match listening {
        Listening::BackingOff { until, failures } if until <= turn.now => listen(work, failures, turn),
        _ => listening,
    }
}

/// Processes the answer to a listening request. The training ends only if the assignment no longer exists, because the
/// result of the training would be useless.
pub(super) fn answered(
    result: Result<AskResponse, Failure>,
    failures: u32,
    state: State,
    turn: &mut Turn<'_>,
) -> State {
    let State::Training { request_id, work, started_at, .. } = state else { return state };
    let listening = match result {
        Ok(AskResponse { asked: true }) => {
            turn.effects.push(Effect::FinishEarly { request_id });
            Listening::Asked
        }
        Ok(AskResponse { asked: false }) => back_off(0, None, turn),
        Err(failure) => match failure.disposition {
            Disposition::Retry => {
                back_off(failures.saturating_add(1), failure.retry_after_milliseconds, turn)
            }
            Disposition::CheckIn => return gone(request_id, &work, &failure, turn),
            // If the coordinator also refuses other requests, the upload will show it.
            Disposition::GiveUp => Listening::Not,
        },
    };
    State::Training { request_id, work, started_at, listening }
}

/// Makes the host stop listening when a training is over.
pub(super) fn end(state: &State, turn: &mut Turn<'_>) {
    turn.effects.extend(state.listening_id().map(|request_id| Effect::Cancel { request_id }));
}

/// Waits a little after every answer, to protect a coordinator that answers at once.
fn back_off(failures: u32, retry_after_milliseconds: Option<u64>, turn: &mut Turn<'_>) -> Listening {
    let until = back_off_until(turn.now, failures.max(1), retry_after_milliseconds, turn.rng);
    Listening::BackingOff { until, failures }
}

fn gone(training: RequestId, work: &Work, failure: &Failure, turn: &mut Turn<'_>) -> State {
    turn.effects.push(Effect::Cancel { request_id: training });
    abort::forget(work, turn);
    turn.set_back(failure.retry_after_milliseconds)
}
