use super::listen::listen;
use crate::{Effect, State, state::Work, turn::Turn};

/// Trains, from the checkpoint if there is one.
///
/// There can be a checkpoint even though the assignment is new to the session: an abort was lost, and the coordinator
/// sent the same assignment again.
pub(super) fn train(work: Work, turn: &mut Turn<'_>) -> State {
    let request_id = turn.next_request();
    turn.effects.push(Effect::Train { request_id, assignment: work.assignment.clone() });
    let listening = listen(&work, 0, turn);
    State::Training { request_id, work, started_at: turn.now, listening }
}

/// Makes the host build the update.
pub(super) fn prepare(work: Work, training_milliseconds: u64, turn: &mut Turn<'_>) -> State {
    let request_id = turn.next_request();
    turn.effects.push(Effect::Prepare { request_id, assignment: work.assignment.clone() });
    State::Preparing { request_id, work, training_milliseconds }
}
