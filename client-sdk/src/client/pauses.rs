use std::time::Duration;

use folkmoot_session::State;
use tokio::time::sleep;

use super::{Client, ClientEvent, OnEvent};
use crate::{Host, PauseReason, care::PauseReasons};

/// Tells when the device is not to train, and when that has lasted too long.
pub(super) struct Pauses {
    reasons: PauseReasons,
    give_up_after: Duration,
    host: Host,
    on_event: OnEvent,
    /// What was told, and since when it is so.
    told: Option<(PauseReason, Duration)>,
}

/// What a session does, as far as pauses are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for a moment of its own; what comes then waits for the pause's end.
    Waiting,
    /// A check-in is under way.
    Asking,
    /// An assignment is trained or evaluated.
    Working,
    /// Another part of an assignment is under way.
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

/// What a pause means for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// It has begun: what is not needed now can wait.
    Began,
    /// An assignment is not to wait for its end, and none is to be asked for.
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

    /// Waits until a pause means something.
    pub async fn next(&mut self, phase: Phase) -> Pause {
        loop {
            let was_paused = self.told.is_some();
            self.look();
            let patience = match (&self.told, phase) {
                (Some(_), _) if !was_paused => return Pause::Began,
                (None, _) | (_, Phase::Waiting) => None,
                // The step that uses the day's last time may be the training's last. If it is, the training ends and is sent;
                // if not, its thread rests. No other assignment is asked for before the day is over.
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
