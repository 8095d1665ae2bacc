use std::time::Duration;

use folkmoot_session::State;
use tokio::time::sleep;

use super::{Client, ClientEvent, OnEvent};
use crate::{Host, PauseReason, care::PauseReasons};

/// Reports that the device must not train, and that a pause has lasted too long.
pub(super) struct Pauses {
    reasons: PauseReasons,
    give_up_after: Duration,
    host: Host,
    on_event: OnEvent,
    /// The reason that was last reported, and the time at which its pause began.
    told: Option<(PauseReason, Duration)>,
}

/// The activity of the session, as far as pauses are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
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
pub(super) enum Pause {
    /// The pause has begun: work that is not needed now can wait.
    Began,
    /// The pause is too long: the session must end its assignment or check-in.
    Lasts,
}

impl Pauses {
    pub fn of(client: &Client) -> Self {
        Self {
            reasons: client.care.reasons(),
            give_up_after: client.care.give_up_after(),
            host: client.host.clone(),
            on_event: client.on_event.clone(),
            told: None,
        }
    }

    /// Waits until a pause affects the session.
    pub async fn next(&mut self, phase: Phase) -> Pause {
        loop {
            let was_paused = self.told.is_some();
            self.look();
            let patience = match (&self.told, phase) {
                (Some(_), _) if !was_paused => return Pause::Began,
                (None, _) | (_, Phase::Waiting) => None,
                // The step that uses the day's last time may be the last step of the training. If so, training ends and
                // the client sends the update. If not, the thread pauses. The client asks for no other assignment on
                // this day.
                (Some((PauseReason::TrainingTime, _)), Phase::Working) => {
                    self.reasons.is_resting().then_some(Duration::ZERO)
                }
                (Some((PauseReason::TrainingTime, _)), _)
                | (Some((PauseReason::BatteryTime, _)), Phase::Assigned) => None,
                (Some(_), Phase::Asking) => Some(Duration::ZERO),
                (Some((_, since)), Phase::Working | Phase::Assigned) => {
                    Some(self.give_up_after.saturating_sub(self.host.elapsed().saturating_sub(*since)))
                }
            };
            match patience {
                Some(Duration::ZERO) => return Pause::Lasts,
                Some(patience) => tokio::select! {
                    () = self.reasons.changed() => {}
                    () = sleep(patience) => return Pause::Lasts,
                },
                None => self.reasons.changed().await,
            }
        }
    }

    /// Waits until the device may ask for an assignment.
    pub async fn over(&mut self) {
        loop {
            self.look();
            if matches!(self.told, None | Some((PauseReason::TrainingTime, _))) {
                return;
            }
            self.reasons.changed().await;
        }
    }

    fn look(&mut self) {
        match (self.reasons.now(), &mut self.told) {
            (None, None) => {}
            (None, Some(_)) => {
                self.told = None;
                (self.on_event)(ClientEvent::Resumed);
            }
            (Some(reason), Some((told, _))) if *told == reason => {}
            (Some(reason), told) => {
                let since = told.as_ref().map_or_else(|| self.host.elapsed(), |(_, since)| *since);
                tracing::info!(%reason, "paused");
                (self.on_event)(ClientEvent::Paused { reason: reason.to_string() });
                *told = Some((reason, since));
            }
        }
    }
}
