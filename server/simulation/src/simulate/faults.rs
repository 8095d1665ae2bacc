//! Injected faults: lost requests and answers, and a coordinator that crashes.

use std::sync::Arc;

use folkmoot_rounds::coordinator::Coordinator;
use folkmoot_session::{Failure, RequestId};
use folkmoot_strategy::Strategies;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::{
    SimulateError,
    events::Event,
    polls::Kind,
    world::{World, bytes, purpose},
};
use crate::chance::{Stream, uniform};

/// The number of milliseconds that a client waits for an answer before it gives up.
const TIMEOUT_MILLISECONDS: u64 = 30_000;

impl World {
    pub async fn start_coordinator(&mut self) -> Result<(), SimulateError> {
        self.starts += 1;
        let words = [purpose::COORDINATOR, self.starts];
        let seed = bytes(&mut Stream::new(self.settings.seed, &words));
        let chance = ChaCha20Rng::from_seed(seed);
        let coordinator =
            Coordinator::new(self.storage.clone(), self.blobs.clone(), self.log.clone(), chance);
        let mut coordinator = coordinator.sabotaged(self.sabotage);
        if let Some(functions) = &self.functions {
            coordinator.strategies = Strategies::with_functions(functions.clone());
        }
        let coordinator = Arc::new(coordinator);
        coordinator.forget_unneeded_logs().await?;
        self.polls.listen_to(&coordinator.processes);
        self.coordinator = Some(coordinator);
        self.wake_drivers(1);
        Ok(())
    }

    /// Ends the coordinator's process: its memory is lost, and its connections break.
    pub fn crash(&mut self) {
        if self.coordinator.take().is_none() {
            return;
        }
        self.totals.crashes += 1;
        for poll in self.polls.take_all() {
            self.lose(poll.client, poll.request_id, poll.of.kind());
        }
        let away = self.settings.faults.coordinator_restart_seconds.max(0.1);
        self.after((away * 1000.0) as u64, Event::CoordinatorStarts);
        self.plan_crash();
    }

    /// Schedules the next crash. Crashes are a Poisson process.
    pub fn plan_crash(&mut self) {
        let mean = self.settings.faults.coordinator_crash_seconds;
        if mean > 0.0 {
            let seconds = -mean * uniform(&mut self.chance).ln();
            self.after((seconds * 1000.0) as u64, Event::CoordinatorCrashes);
        }
    }

    /// Returns whether a request reaches the coordinator. If not, the client's request times out.
    pub fn reaches(&mut self, client: usize, request_id: RequestId, kind: Kind) -> bool {
        let is_lost = self.coordinator.is_none() || self.happens(self.settings.faults.request_loss);
        if is_lost {
            self.lose(client, request_id, kind);
        }
        !is_lost
    }

    /// Draws whether an event with this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && uniform(&mut self.chance) <= probability
    }

    /// Loses an answer, so that the client's request times out.
    pub fn lose(&mut self, client: usize, request_id: RequestId, kind: Kind) {
        self.answer(client, request_id, TIMEOUT_MILLISECONDS, kind.failed(Failure::network()));
    }
}
