//! Decides what a pause means for a running session.

use std::time::Duration;

use folkmoot_session::State;

use crate::{ClientEvent, PauseReason};

/// The activity of the session, as far as pauses are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The session waits for its next check-in or is stopped. Its next action must wait for the end of the pause.
    Waiting,
    /// A check-in is in progress.
    Asking,
    /// An assignment is being trained or evaluated.
    Working,
    /// Another part of an assignment is in progress.
    Assigned,
}

impl Phase {
    /// Returns the phase of this state.
    pub fn of(state: &State) -> Self {
        match state {
            State::CheckedIn { .. } => Self::Asking,
            State::Training { .. } => Self::Working,
            _ if state.assignment_id().is_some() => Self::Assigned,
            _ => Self::Waiting,
        }
    }
}

/// The effect of a pause on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The pause has begun: work that is not needed now can wait.
    Began,
    /// The pause is too long: the session must end its assignment or check-in.
    Lasts,
    /// There is nothing to do until the reason to pause changes. After this time, if there is one, the pause is too long.
    Patience(Option<Duration>),
}

/// Remembers the pause that was last reported to the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pauses {
    give_up_after: Duration,
    /// The reason that was last reported, and the time at which its pause began.
    told: Option<(PauseReason, Duration)>,
}

impl Pauses {
    /// Creates the state of a session that is not paused. It ends an assignment after a pause of this duration.
    pub fn new(give_up_after: Duration) -> Self {
        Self { give_up_after, told: None }
    }

    /// Records the current reason to pause. Returns the event for the app if the reason has changed. `stopwatch`
    /// returns the time since any fixed moment.
    pub fn look(
        &mut self,
        reason: Option<PauseReason>,
        stopwatch: impl FnOnce() -> Duration,
    ) -> Option<ClientEvent> {
        match (reason, &mut self.told) {
            (None, None) => None,
            (None, Some(_)) => {
                self.told = None;
                Some(ClientEvent::Resumed)
            }
            (Some(reason), Some((told, _))) if *told == reason => None,
            (Some(reason), told) => {
                let since = told.as_ref().map_or_else(stopwatch, |(_, since)| *since);
                let event = ClientEvent::Paused { reason: reason.to_string() };
                *told = Some((reason, since));
                Some(event)
            }
        }
    }

    /// Returns whether a pause was reported to the app and is not over.
    pub fn is_paused(&self) -> bool {
        self.told.is_some()
    }

    /// Returns whether the device may ask for an assignment. The limit on the day's training time does not matter here,
    /// because a check-in then waits for the next day.
    pub fn may_ask(&self) -> bool {
        matches!(self.told, None | Some((PauseReason::TrainingTime, _)))
    }

    /// Returns what the pause means for a session in this phase. `was_paused` is the value of [`Pauses::is_paused`]
    /// before the last call of [`Pauses::look`]. `is_resting` is true once the training thread has noticed the pause
    /// and waits.
    pub fn effect(
        &self,
        was_paused: bool,
        phase: Phase,
        is_resting: bool,
        stopwatch: impl FnOnce() -> Duration,
    ) -> Pause {
        let patience = match (&self.told, phase) {
            (Some(_), _) if !was_paused => return Pause::Began,
            (None, _) | (_, Phase::Waiting) => None,
            // The step that uses up the day's time may be the last step of the training. If so, training ends and
            // the client sends the update. If not, the thread pauses. The client asks for no other assignment on
            // this day.
            (Some((PauseReason::TrainingTime, _)), Phase::Working) => is_resting.then_some(Duration::ZERO),
            (Some((PauseReason::TrainingTime, _)), _)
            | (Some((PauseReason::BatteryTime, _)), Phase::Assigned) => None,
            (Some(_), Phase::Asking) => Some(Duration::ZERO),
            (Some((_, since)), Phase::Working | Phase::Assigned) => {
                Some(self.give_up_after.saturating_sub(stopwatch().saturating_sub(*since)))
            }
        };
        if patience == Some(Duration::ZERO) { Pause::Lasts } else { Pause::Patience(patience) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const PHASES: [Phase; 4] = [Phase::Waiting, Phase::Asking, Phase::Working, Phase::Assigned];

    /// Pauses that began at 0 and have a patience of ten seconds.
    fn paused(reason: PauseReason) -> Pauses {
        let mut pauses = Pauses::new(10 * SECOND);
        assert!(matches!(pauses.look(Some(reason), Duration::default), Some(ClientEvent::Paused { .. })));
        pauses
    }

    fn after(pauses: &Pauses, seconds: u32) -> [Pause; 4] {
        PHASES.map(|phase| pauses.effect(true, phase, false, || seconds * SECOND))
    }

    #[test]
    fn the_app_is_told_of_each_reason_once() {
        let mut pauses = paused(PauseReason::Charging);
        assert!(pauses.is_paused() && !pauses.may_ask());
        assert_eq!(pauses.look(Some(PauseReason::Charging), || SECOND), None);
        let event = pauses.look(Some(PauseReason::Thermal), || SECOND);
        assert_eq!(event, Some(ClientEvent::Paused { reason: "thermal".to_owned() }));
        assert_eq!(after(&pauses, 10)[2], Pause::Lasts, "another reason does not begin another pause");
        assert_eq!(pauses.look(None, || SECOND), Some(ClientEvent::Resumed));
        assert_eq!(pauses.look(None, || SECOND), None);
        assert!(!pauses.is_paused() && pauses.may_ask());
    }

    #[test]
    fn a_pause_ends_a_check_in_at_once_and_work_after_a_while() {
        use Pause::{Lasts, Patience};
        let pauses = paused(PauseReason::Unmetered);
        assert_eq!(pauses.effect(false, Phase::Working, false, || SECOND), Pause::Began);
        let left = |seconds: u32| Patience(Some(seconds * SECOND));
        assert_eq!(after(&pauses, 4), [Patience(None), Lasts, left(6), left(6)]);
        assert_eq!(after(&pauses, 10), [Patience(None), Lasts, Lasts, Lasts]);
    }

    #[test]
    fn what_the_last_time_of_a_day_has_trained_is_sent() {
        use Pause::{Lasts, Patience};
        let pauses = paused(PauseReason::TrainingTime);
        assert!(pauses.may_ask());
        assert_eq!(after(&pauses, 99), [Patience(None); 4]);
        assert_eq!(pauses.effect(true, Phase::Working, true, || SECOND), Lasts);
        let battery = paused(PauseReason::BatteryTime);
        assert_eq!(after(&battery, 99), [Patience(None), Lasts, Lasts, Patience(None)]);
    }
}
