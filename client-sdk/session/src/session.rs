use folkmoot_protocol::Timestamp;
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::{
    Effect, Event, InvalidTransitionError, Offer, State,
    transition::transition,
    turn::{Memory, Turn},
};

/// A client's session: its state, and the few values that survive a change of state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub(crate) memory: Memory,
    pub(crate) state: State,
}

impl Session {
    /// Creates the session of a new install. Step it with [`Event::Started`].
    pub fn new(offer: Offer) -> Self {
        let memory = Memory { offer, next_request: 1, setbacks: 0, spent: Vec::new() };
        Self { memory, state: State::Idle { check_in_at: Timestamp(0) } }
    }

    /// Replaces the client's offer, because the number of examples may have changed since the last start.
    pub fn with_offer(mut self, offer: Offer) -> Self {
        self.memory.offer = offer;
        self
    }

    /// Returns the state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the client's offer.
    pub fn offer(&self) -> &Offer {
        &self.memory.offer
    }

    /// Returns whether only [`Event::Started`] can change the state.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, State::Stopped { .. })
    }

    /// Processes one event. Returns the next session and the effects for the host to perform, in order.
    ///
    /// The same session, event, time and generator give the same result. `now` may come from any clock that survives a
    /// restart; it need not be correct.
    ///
    /// # Errors
    /// [`InvalidTransitionError`] if the answer has the wrong kind for the current request, or belongs to a request
    /// that was never made.
    pub fn step<R: Rng>(
        self,
        event: Event,
        now: Timestamp,
        rng: &mut R,
    ) -> Result<(Session, Vec<Effect>), InvalidTransitionError> {
        let before = self.clone();
        let alarm_is_gone = matches!(event, Event::Started | Event::Wake);
        let Session { mut memory, state } = self;
        let mut turn = Turn { now, rng, memory: &mut memory, effects: Vec::new() };
        let state = transition(state, event, &mut turn)?;
        let mut effects = turn.effects;
        let after = Session { memory, state };
        if after != before {
            effects.insert(0, Effect::Persist);
        }
        let wake_at = after.state.wake_at();
        if alarm_is_gone || wake_at != before.state.wake_at() {
            effects.extend(wake_at.map(Effect::WakeAt));
        }
        Ok((after, effects))
    }
}
