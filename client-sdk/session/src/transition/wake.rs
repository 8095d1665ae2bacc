use folkmoot_protocol::messages::AbortReason;

use super::{abort, check_in, exchange, fetch, listen, stop, upload};
use crate::{State, state::Resume, turn::Turn};

/// Handles everything that is due, the deadline first.
pub(super) fn woken(state: State, turn: &mut Turn<'_>) -> State {
    if let Some(work) = state.work().filter(|work| work.deadline <= turn.now) {
        stop::cancel(&state, turn);
        return abort::give_up(work, AbortReason::DeadlinePassed, "", turn);
    }
    match state {
        State::Idle { check_in_at } if check_in_at <= turn.now => check_in::check_in(0, turn),
        State::BackingOff { until, failures, resume } if until <= turn.now => {
            send_again(resume, failures, turn)
        }
        State::Training { request_id, work, started_at, listening } => {
            let listening = listen::woken(&work, listening, turn);
            State::Training { request_id, work, started_at, listening }
        }
        _ => state,
    }
}

fn send_again(resume: Resume, failures: u32, turn: &mut Turn<'_>) -> State {
    match resume {
        Resume::CheckIn => check_in::check_in(failures, turn),
        Resume::Fetch(fetching) => fetch::fetch(fetching, failures, turn),
        Resume::Exchange(exchanging) => exchange::send(exchanging, failures, turn),
        Resume::Upload(uploading) => upload::send(uploading, failures, turn),
        Resume::Abort(aborting) => abort::send(aborting, failures, turn),
    }
}
