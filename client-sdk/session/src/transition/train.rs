use folkmoot_protocol::Timestamp;

use super::listen::listen;
use crate::{Effect, State, state::Work, turn::Turn};

/// Trains, from the checkpoint if there is one.
///
/// A checkpoint can be there although the session is new to the assignment: an abort was lost, and the
/// coordinator gave the same assignment again.
pub(super) fn train(work: Work, turn: &mut Turn<'_>) -> State {
    let request_id = turn.next_request();
    turn.effects.push(Effect::Train { request_id, assignment: work.assignment.clone() });
    let listening = listen(&work, 0, turn);
    State::Training { request_id, work, started_at: turn.now, listening }
}

pub(super) fn finished(work: Work, started_at: Timestamp, turn: &mut Turn<'_>) -> State {
    let request_id = turn.next_request();
    turn.effects.push(Effect::Prepare { request_id, assignment: work.assignment.clone() });
    State::Preparing { request_id, work, training_milliseconds: turn.now.milliseconds_since(started_at) }
}
