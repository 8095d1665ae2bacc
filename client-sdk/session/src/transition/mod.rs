//! The effect of each event in each state, with one file per state that has requests.

mod abort;
mod check_in;
#[cfg(feature = "secure-aggregation")]
mod exchange;
#[cfg(not(feature = "secure-aggregation"))]
#[path = "no_exchange.rs"]
mod exchange;
mod fetch;
mod listen;
mod report;
mod start;
mod stop;
mod train;
mod upload;
mod wake;

pub use abort::{ABORT_FAILURES_MAX, DECLINED_MILLISECONDS_MIN};
pub use check_in::{WAIT_MILLISECONDS_MAX, WAIT_MILLISECONDS_MIN};
pub use fetch::FETCH_FAILURES_MAX;
pub use upload::{DIGEST_MISMATCHES_MAX, PROGRESS_BYTES_MIN};

use folkmoot_protocol::{Disposition, messages::AbortReason};

use crate::{
    Answer, Event, Failure, InvalidTransitionError, Listening, RequestId, State, StopCause,
    state::{Fetching, Resume, Work},
    turn::Turn,
};

/// Passes an event to the state that handles it.
pub(crate) fn transition(
    state: State,
    event: Event,
    turn: &mut Turn<'_>,
) -> Result<State, InvalidTransitionError> {
    match event {
        Event::Started => Ok(start::started(state, turn)),
        Event::Wake => Ok(wake::woken(state, turn)),
        Event::StopRequested => Ok(stop::stop(state, AbortReason::Stopped, StopCause::Requested, turn)),
        Event::ConditionsEnded => {
            Ok(stop::stop(state, AbortReason::ConditionsEnded, StopCause::ConditionsEnded, turn))
        }
        Event::Answered { request_id, ref answer } => {
            let error = InvalidTransitionError { state: state.name(), event: event.name() };
            answered(state, request_id, answer.clone(), turn, error)
        }
    }
}

fn answered(
    state: State,
    answered_id: RequestId,
    answer: Answer,
    turn: &mut Turn<'_>,
    error: InvalidTransitionError,
) -> Result<State, InvalidTransitionError> {
    if let State::Training { listening: Listening::Waiting { request_id, failures }, .. } = state
        && request_id == answered_id
    {
        return match answer {
            Answer::Ask(result) => Ok(listen::answered(result, failures, state, turn)),
            _ => Err(error),
        };
    }
    if state.request_id() != Some(answered_id) {
        let was_made = answered_id.0 < turn.memory.next_request;
        return if was_made { Ok(state) } else { Err(error) };
    }
    // Any answer to a training means that the training is over.
    listen::end(&state, turn);
    Ok(match (state, answer) {
        (State::CheckedIn { failures, .. }, Answer::CheckIn(result)) => {
            check_in::answered(result, failures, turn)
        }
        (State::Assigned { failures, fetching, .. }, Answer::Fetch(result)) => {
            fetch::answered(result, failures, fetching, turn)
        }
        (State::Training { work, started_at, .. }, Answer::Trained) => {
            let training_milliseconds = turn.now.milliseconds_since(started_at);
            match work.assignment.is_masked {
                true => exchange::begin(work, training_milliseconds, turn),
                false => train::prepare(work, training_milliseconds, turn),
            }
        }
        (State::Exchanging { failures, exchanging, .. }, Answer::Exchanged(result)) => {
            exchange::answered(result, failures, exchanging, turn)
        }
        (State::Exchanging { exchanging, .. }, Answer::WorkFailed { reason, detail }) => {
            abort::give_up(exchanging.work(), reason, detail, turn)
        }
        (
            State::Assigned { fetching: Fetching { work, .. }, .. }
            | State::Training { work, .. }
            | State::Preparing { work, .. },
            Answer::WorkFailed { reason, detail },
        ) => abort::give_up(&work, reason, detail, turn),
        (State::Preparing { work, training_milliseconds, .. }, Answer::Prepared { digest, length }) => {
            upload::prepared(work, training_milliseconds, digest, length, turn)
        }
        (State::Uploading { failures, uploading, .. }, Answer::Upload(result)) => {
            upload::answered(result, failures, uploading, turn)
        }
        (State::Uploading { uploading, .. }, Answer::UpdateLost) => {
            abort::give_up(&uploading.work, AbortReason::StateLost, "the stored update is gone", turn)
        }
        // A report is only for statistics, so its failure does not matter.
        (State::Done { .. }, Answer::Report(_)) => check_in::check_in(0, turn),
        (State::Aborting { failures, aborting, .. }, Answer::Abort(result)) => {
            abort::answered(result, failures, aborting, turn)
        }
        _ => return Err(error),
    })
}

/// Handles a failure during an assignment.
fn failed(failure: &Failure, failures: u32, work: &Work, resume: Resume, turn: &mut Turn<'_>) -> State {
    match failure.disposition {
        Disposition::Retry => turn.back_off(failure, failures, resume),
        Disposition::CheckIn => {
            abort::forget(work, turn);
            turn.set_back(failure.retry_after_milliseconds)
        }
        Disposition::GiveUp => {
            abort::forget(work, turn);
            State::Stopped { cause: StopCause::Refused(failure.code) }
        }
    }
}
