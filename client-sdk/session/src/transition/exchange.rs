//! Secure aggregation: keys and shares before the update is prepared, the opening after it was accepted.

use super::{failed, report, train};
use crate::{
    Effect, Exchanged, Exchanging, Failure, State,
    back_off::back_off_until,
    state::{Resume, Uploading, Work},
    turn::Turn,
};

/// Begins to exchange messages after the training.
pub(super) fn begin(work: Work, training_milliseconds: u64, turn: &mut Turn<'_>) -> State {
    send(Exchanging::Keys { work, training_milliseconds }, 0, turn)
}

/// Opens shares after the update was accepted.
pub(super) fn open(uploading: Uploading, turn: &mut Turn<'_>) -> State {
    send(Exchanging::Opening { uploading }, 0, turn)
}

/// Takes the step, for the first time or again.
pub(super) fn send(exchanging: Exchanging, failures: u32, turn: &mut Turn<'_>) -> State {
    let request_id = turn.next_request();
    let assignment = exchanging.work().assignment.clone();
    turn.effects.push(Effect::Exchange { request_id, assignment, step: exchanging.step() });
    State::Exchanging { request_id, failures, exchanging }
}

pub(super) fn answered(
    result: Result<Exchanged, Failure>,
    failures: u32,
    exchanging: Exchanging,
    turn: &mut Turn<'_>,
) -> State {
    match (result, exchanging) {
        // A short wait, because the coordinator may have answered at once.
        (Ok(Exchanged::Waiting), exchanging) => {
            let until = back_off_until(turn.now, 1, None, turn.rng);
            State::BackingOff { until, failures: 0, resume: Resume::Exchange(exchanging) }
        }
        (Ok(Exchanged::Completed), Exchanging::Keys { work, training_milliseconds }) => {
            send(Exchanging::Shares { work, training_milliseconds }, 0, turn)
        }
        (Ok(Exchanged::Completed), Exchanging::Shares { work, training_milliseconds }) => {
            train::prepare(work, training_milliseconds, turn)
        }
        (Ok(Exchanged::Completed), Exchanging::Opening { uploading }) => report::accepted(uploading, turn),
        (Err(failure), exchanging) => {
            let work = exchanging.work().clone();
            failed(&failure, failures, &work, Resume::Exchange(exchanging), turn)
        }
    }
}

/// Continues after a restart. Before the update was prepared, the result of the training was only in memory, so it is trained
/// again; the keys and shares stay the same.
pub(super) fn started(exchanging: Exchanging, failures: u32, turn: &mut Turn<'_>) -> State {
    match exchanging {
        Exchanging::Keys { work, .. } | Exchanging::Shares { work, .. } => train::train(work, turn),
        Exchanging::Opening { uploading } => send(Exchanging::Opening { uploading }, failures, turn),
    }
}

/// Ends an upload whose update was accepted.
pub(super) fn accepted(uploading: Uploading, turn: &mut Turn<'_>) -> State {
    if uploading.work.assignment.is_masked {
        open(uploading, turn)
    } else {
        report::accepted(uploading, turn)
    }
}
