//! Without the feature `secure-aggregation`, the client refuses a plan with masks before it trains, so these functions
//! handle cases that cannot occur.

use folkmoot_protocol::messages::AbortReason;

use super::{abort, report};
use crate::{
    Exchanged, Exchanging, Failure, State,
    state::{Uploading, Work},
    turn::Turn,
};

pub(super) fn begin(work: Work, _training_milliseconds: u64, turn: &mut Turn<'_>) -> State {
    abort::give_up(&work, AbortReason::PlanUnsupported, "", turn)
}

pub(super) fn send(exchanging: Exchanging, _failures: u32, _turn: &mut Turn<'_>) -> State {
    match exchanging {}
}

pub(super) fn answered(
    _result: Result<Exchanged, Failure>,
    _failures: u32,
    exchanging: Exchanging,
    _turn: &mut Turn<'_>,
) -> State {
    match exchanging {}
}

pub(super) fn started(exchanging: Exchanging, _failures: u32, _turn: &mut Turn<'_>) -> State {
    match exchanging {}
}

pub(super) fn accepted(uploading: Uploading, turn: &mut Turn<'_>) -> State {
    report::accepted(uploading, turn)
}
