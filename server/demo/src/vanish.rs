//! The clients that stop in the middle of a round and never come back.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use folkmoot_client::ClientEvent;
use tokio::sync::Notify;

use super::report::SettingsReport;

/// Decides which clients vanish, and in which rounds. Clones share the decisions. The default lets no client vanish.
///
/// Once half of the rounds are over, the first clients of each round vanish, until all have vanished that should.
#[derive(Clone, Debug, Default)]
pub struct Vanishing {
    limits: Limits,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    /// The last round in which no client vanishes.
    calm_until: u64,
    clients: u32,
    clients_of_round: u32,
    is_masked: bool,
}

#[derive(Debug, Default)]
struct Counts {
    vanished: u32,
    by_round: BTreeMap<u64, u32>,
}

impl Vanishing {
    /// Lets clients vanish as these settings say, in the second half of `rounds` rounds.
    pub fn new(settings: &SettingsReport, rounds: u32) -> Self {
        let Some(share) = settings.vanish else { return Self::default() };
        let limits = Limits {
            calm_until: u64::from(rounds / 2),
            clients: clients_of(share, settings.clients),
            clients_of_round: ((share * f64::from(settings.cohort)) as u32).max(1),
            is_masked: settings.secure_aggregation,
        };
        Self { limits, counts: Arc::default() }
    }

    /// Returns the number of clients that have vanished.
    pub fn vanished(&self) -> u32 {
        self.lock().vanished
    }

    /// Decides whether one more client vanishes in this round, and counts it.
    fn takes_one(&self, round_number: u64) -> bool {
        let Limits { calm_until, clients, clients_of_round, .. } = self.limits;
        let mut counts = self.lock();
        let Counts { vanished, by_round } = &mut *counts;
        if round_number <= calm_until || *vanished >= clients {
            return false;
        }
        let of_round = by_round.entry(round_number).or_default();
        let takes = *of_round < clients_of_round;
        *of_round += u32::from(takes);
        *vanished += u32::from(takes);
        takes
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // The counts are consistent after every statement, so a poisoned lock is harmless.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns how many of `clients` clients vanish: the nearest whole number, and at least one.
pub fn clients_of(share: f64, clients: u32) -> u32 {
    ((share * f64::from(clients)).round() as u32).max(1)
}

/// Watches the events of one client until it vanishes.
#[derive(Debug)]
pub struct Fate {
    vanishing: Vanishing,
    round_number: AtomicU64,
    is_gone: AtomicBool,
    gone: Notify,
}

impl Fate {
    /// Creates the fate of a client that has not started.
    pub fn new(vanishing: &Vanishing) -> Self {
        Self {
            vanishing: vanishing.clone(),
            round_number: AtomicU64::new(0),
            is_gone: AtomicBool::new(false),
            gone: Notify::new(),
        }
    }

    /// Follows the client. It may vanish while it trains, or if it masks its updates, while it uploads: then others
    /// already hold shares of the secrets behind its masks.
    pub fn record(&self, event: &ClientEvent) {
        let is_moment = match event {
            ClientEvent::Assigned { round_number, .. } => {
                self.round_number.store(*round_number, Ordering::Relaxed);
                false
            }
            ClientEvent::Training { .. } => !self.vanishing.limits.is_masked,
            ClientEvent::Uploading { .. } => self.vanishing.limits.is_masked,
            _ => false,
        };
        if is_moment
            && !self.is_gone.load(Ordering::Relaxed)
            && self.vanishing.takes_one(self.round_number.load(Ordering::Relaxed))
        {
            self.is_gone.store(true, Ordering::Relaxed);
            self.gone.notify_one();
        }
    }

    /// Waits until the client vanishes.
    pub async fn vanishes(&self) {
        self.gone.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{AssignmentId, TaskId};

    use super::*;
    use crate::report::test_report;

    fn vanishing(share: f64, is_masked: bool) -> Vanishing {
        let settings = test_report(&[]).settings;
        let settings = SettingsReport { vanish: Some(share), secure_aggregation: is_masked, ..settings };
        Vanishing::new(&settings, 30)
    }

    fn assigned(round_number: u64) -> ClientEvent {
        let (assignment_id, task_id) =
            (AssignmentId::from_random_bytes([1; 16]), TaskId::from_random_bytes([2; 16]));
        ClientEvent::Assigned { assignment_id, task_id, round_number, base_version: 0 }
    }

    fn training() -> ClientEvent {
        let assignment_id = AssignmentId::from_random_bytes([1; 16]);
        ClientEvent::Training { assignment_id, step: 1, steps_total: 45, loss: 0.5 }
    }

    fn uploading() -> ClientEvent {
        let assignment_id = AssignmentId::from_random_bytes([1; 16]);
        ClientEvent::Uploading { assignment_id, sent: 1, total: 1 }
    }

    #[test]
    fn a_share_of_each_round_vanishes_until_a_share_of_all_has() {
        // Of 20 clients, 4 vanish; of the 10 in a round, 2.
        let vanishing = vanishing(0.2, false);
        let takes = |round| (0..10).filter(|_| vanishing.takes_one(round)).count();
        assert_eq!([15, 16, 17, 18].map(takes), [0, 2, 2, 0]);
        assert_eq!(vanishing.vanished(), 4);
        assert!(!Vanishing::default().takes_one(100));
    }

    #[test]
    fn a_client_vanishes_once_when_its_moment_comes() {
        for (is_masked, moment, other) in [(false, training(), uploading()), (true, uploading(), training())]
        {
            let vanishing = vanishing(0.2, is_masked);
            let fate = Fate::new(&vanishing);
            for event in [assigned(15), moment.clone(), assigned(16), other] {
                fate.record(&event);
            }
            assert_eq!(vanishing.vanished(), 0);
            // A training reports each of its steps.
            fate.record(&moment);
            fate.record(&moment);
            assert_eq!(vanishing.vanished(), 1);
        }
    }

    #[test]
    fn at_least_one_client_vanishes() {
        assert_eq!(
            [(0.2, 20), (0.29, 100), (0.01, 20)].map(|(share, clients)| clients_of(share, clients)),
            [4, 29, 1]
        );
    }
}
