use folkmoot_protocol::messages::AbortReason;

use super::{abort, listen};
use crate::{
    Effect, State, StopCause,
    state::{Aborting, AfterAbort, Resume},
    turn::Turn,
};

/// Stops the session. Gives up the assignment, if there is one, and waits for nothing else.
pub(super) fn stop(state: State, reason: AbortReason, cause: StopCause, turn: &mut Turn<'_>) -> State {
    let then = AfterAbort::Stop(cause);
    match state {
        State::Stopped { .. } => state,
        State::Aborting { request_id, failures, aborting } => {
            State::Aborting { request_id, failures, aborting: Aborting { then, ..aborting } }
        }
        State::BackingOff { until, failures, resume: Resume::Abort(aborting) } => {
            State::BackingOff { until, failures, resume: Resume::Abort(Aborting { then, ..aborting }) }
        }
        _ => {
            cancel(&state, turn);
            match state.work() {
                Some(work) => abort::abort(work, reason, String::new(), then, turn),
                None => State::Stopped { cause },
            }
        }
    }
}

/// Makes the host cancel the current requests.
pub(super) fn cancel(state: &State, turn: &mut Turn<'_>) {
    turn.effects.extend(state.request_id().map(|request_id| Effect::Cancel { request_id }));
    listen::end(state, turn);
}
