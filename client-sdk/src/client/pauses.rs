use folkmoot_work::{Pause, Phase};
use tokio::time::sleep;

use super::{Client, ClientEvent, OnEvent};
use crate::{Host, care::PauseReasons};

/// Reports that the device must not train, and that a pause has lasted too long.
pub(super) struct Pauses {
    pauses: folkmoot_work::Pauses,
    reasons: PauseReasons,
    host: Host,
    on_event: OnEvent,
}

impl Pauses {
    pub fn of(client: &Client) -> Self {
        Self {
            pauses: folkmoot_work::Pauses::new(client.care.give_up_after()),
            reasons: client.care.reasons(),
            host: client.host.clone(),
            on_event: client.on_event.clone(),
        }
    }

    /// Waits until a pause has begun or is too long.
    pub async fn next(&mut self, phase: Phase) -> Pause {
        loop {
            let was_paused = self.pauses.is_paused();
            self.look();
            let is_resting = self.reasons.is_resting();
            match self.pauses.effect(was_paused, phase, is_resting, || self.host.elapsed()) {
                Pause::Patience(None) => self.reasons.changed().await,
                Pause::Patience(Some(patience)) => tokio::select! {
                    () = self.reasons.changed() => {}
                    () = sleep(patience) => return Pause::Lasts,
                },
                pause => return pause,
            }
        }
    }

    /// Waits until the device may ask for an assignment.
    pub async fn over(&mut self) {
        loop {
            self.look();
            if self.pauses.may_ask() {
                return;
            }
            self.reasons.changed().await;
        }
    }

    fn look(&mut self) {
        if let Some(event) = self.pauses.look(self.reasons.now(), || self.host.elapsed()) {
            if let ClientEvent::Paused { reason } = &event {
                tracing::info!(%reason, "paused");
            }
            (self.on_event)(event);
        }
    }
}
