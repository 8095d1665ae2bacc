use folkmoot_protocol::Timestamp;
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::{
    Effect, Event, InvalidTransitionError, Offer, State,
    transition::transition,
    turn::{Memory, Turn},
};

/// A client's session: the state, and the little that outlives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub(crate) memory: Memory,
    pub(crate) state: State,
}

impl Session {
    /// Makes the session of a new install. Step it with [`Event::Started`].
    pub fn new(offer: Offer) -> Self {
        let memory = Memory { offer, next_request: 1, setbacks: 0, spent: Vec::new() };
        Self { memory, state: State::Idle { check_in_at: Timestamp(0) } }
    }

    /// Replaces what the client offers: the number of examples may have changed since the last start.
    pub fn with_offer(mut self, offer: Offer) -> Self {
        self.memory.offer = offer;
        self
    }

    /// Returns the state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns what the client offers.
    pub fn offer(&self) -> &Offer {
        &self.memory.offer
    }

    /// Says whether only [`Event::Started`] can move it.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, State::Stopped { .. })
    }

    /// Takes one event and returns the session after it, with what the host is to do, in order.
    ///
    /// The same session, event, moment and generator give the same result. `now` is any clock that survives a
    /// restart; it need not be right.
    ///
    /// # Errors
    /// [`InvalidTransitionError`] if the answer is to the request under way but of another kind, or to a
    /// request that was never made.
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
