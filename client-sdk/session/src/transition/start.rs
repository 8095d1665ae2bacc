use folkmoot_protocol::messages::AbortReason;

use super::{WAIT_MILLISECONDS_MAX, abort, check_in, exchange, fetch, report, train, upload, wake};
use crate::{
    ArtifactKind, RETRY_AFTER_MILLISECONDS_MAX, State,
    state::{Aborting, AfterAbort, Fetching, Resume, UploadPhase, Uploading},
    turn::Turn,
};

/// Continues after a restart of the process, when no earlier request is running any more.
pub(super) fn started(state: State, turn: &mut Turn<'_>) -> State {
    if let Some(work) = state.work().filter(|work| work.deadline <= turn.now) {
        return abort::give_up(work, AbortReason::DeadlinePassed, "", turn);
    }
    match state {
        // A clock that was set back must not silence the client.
        State::Idle { check_in_at } => {
            let latest = turn.now.plus_milliseconds(WAIT_MILLISECONDS_MAX);
            wake::woken(State::Idle { check_in_at: check_in_at.min(latest) }, turn)
        }
        // A start resumes even a client that was about to stop.
        State::BackingOff { failures, resume: Resume::Abort(aborting), .. }
        | State::Aborting { failures, aborting, .. } => {
            abort::send(Aborting { then: AfterAbort::CheckIn, ..aborting }, failures, turn)
        }
        State::Exchanging { failures, exchanging, .. } => exchange::started(exchanging, failures, turn),
        State::BackingOff { resume: Resume::Exchange(exchanging), failures, .. } => {
            exchange::started(exchanging, failures, turn)
        }
        State::BackingOff { until, failures, resume } => {
            let latest = turn.now.plus_milliseconds(RETRY_AFTER_MILLISECONDS_MAX);
            let resume = match resume {
                Resume::Fetch(fetching) => Resume::Fetch(from_the_first(fetching)),
                other => other,
            };
            wake::woken(State::BackingOff { until: until.min(latest), failures, resume }, turn)
        }
        State::CheckedIn { failures, .. } => check_in::check_in(failures, turn),
        State::Assigned { failures, fetching, .. } => fetch::fetch(from_the_first(fetching), failures, turn),
        // The result of the training was only in memory, and nothing of it was sent. So the client may train again.
        State::Training { work, .. } | State::Preparing { work, .. } => train::train(work, turn),
        State::Uploading { failures, uploading, .. } => {
            upload::send(Uploading { phase: UploadPhase::Asking, ..uploading }, failures, turn)
        }
        State::Done { assignment_id, report, .. } => report::send(assignment_id, report, turn),
        State::Stopped { .. } => check_in::check_in(0, turn),
    }
}

/// Starts with the first blob again, because the cache may have lost blobs.
fn from_the_first(fetching: Fetching) -> Fetching {
    Fetching { kind: ArtifactKind::Plan, part: 0, ..fetching }
}
