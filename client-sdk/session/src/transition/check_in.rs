use folkmoot_protocol::{
    Disposition,
    messages::{AbortReason, Assignment, CheckInResponse, WEIGHTS_PARTS_MAX},
};
use rand::RngExt;

use super::{abort, fetch};
use crate::{
    ArtifactKind, Effect, Failure, State, StopCause,
    state::{Fetching, Resume, Work},
    turn::Turn,
};

/// The shortest wait between check-ins. It protects a coordinator that answers 0 by mistake.
pub const WAIT_MILLISECONDS_MIN: u64 = 100;
/// The longest wait between check-ins: a day.
pub const WAIT_MILLISECONDS_MAX: u64 = 24 * 60 * 60 * 1000;

pub(super) fn check_in(failures: u32, turn: &mut Turn<'_>) -> State {
    let request_id = turn.next_request();
    let offer = &turn.memory.offer;
    let (request, wait_seconds) = (offer.request.clone(), offer.wait_seconds);
    turn.effects.push(Effect::CheckIn { request_id, request, wait_seconds });
    State::CheckedIn { request_id, failures }
}

pub(super) fn answered(
    result: Result<CheckInResponse, Failure>,
    failures: u32,
    turn: &mut Turn<'_>,
) -> State {
    match result {
        Ok(CheckInResponse::Assigned { assignment }) => assigned(assignment, turn),
        Ok(CheckInResponse::Wait { retry_after_milliseconds_min, retry_after_milliseconds_max, offered }) => {
            turn.effects.extend(offered.map(|artifact| Effect::Prefetch { artifact }));
            wait(retry_after_milliseconds_min, retry_after_milliseconds_max, turn)
        }
        Err(failure) if failure.disposition == Disposition::GiveUp => {
            State::Stopped { cause: StopCause::Refused(failure.code) }
        }
        Err(failure) => turn.back_off(&failure, failures, Resume::CheckIn),
    }
}

fn assigned(assignment: Assignment, turn: &mut Turn<'_>) -> State {
    let deadline = turn.now.plus_milliseconds(assignment.deadline_in_milliseconds);
    let is_spent = turn.memory.spent.contains(&assignment.assignment_id);
    let work = Work { assignment, deadline, download_bytes: 0 };
    if is_spent {
        let detail = "the client already prepared an update for this assignment, but lost it";
        return abort::give_up(&work, AbortReason::StateLost, detail, turn);
    }
    if work.assignment.weights_parts.len() > WEIGHTS_PARTS_MAX {
        let detail = format!("the weights come in more than {WEIGHTS_PARTS_MAX} parts, the maximum");
        return abort::give_up(&work, AbortReason::PlanUnsupported, detail, turn);
    }
    fetch::fetch(Fetching { work, kind: ArtifactKind::Plan, part: 0 }, 0, turn)
}

fn wait(min: u64, max: u64, turn: &mut Turn<'_>) -> State {
    let min = min.clamp(WAIT_MILLISECONDS_MIN, WAIT_MILLISECONDS_MAX);
    let max = max.clamp(min, WAIT_MILLISECONDS_MAX);
    let check_in_at = turn.now.plus_milliseconds(turn.rng.random_range(min..=max));
    State::Idle { check_in_at }
}
