use std::{collections::BTreeMap, time::Duration};

use folkmoot_coordinator::round::Phase;
use folkmoot_tests::log::{Log, fields_of, phase_of};
use rand::{Rng, RngExt, seq::IndexedRandom};
use tokio::{sync::broadcast::error::RecvError, time::sleep};

use super::ledger::{Ledger, Progress};

/// A state of a round in which a kill is worth a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Clients are waited for.
    Selecting,
    /// The round reports, and at least one upload is in the middle of its bytes.
    Uploading,
    /// An update was acknowledged a moment ago.
    Acknowledged,
    /// The accepted updates are being combined.
    Aggregating,
    /// A version was released a moment ago, and the next round has no cohort yet.
    Committed,
}

impl Moment {
    pub const ALL: [Moment; 5] =
        [Moment::Selecting, Moment::Uploading, Moment::Acknowledged, Moment::Aggregating, Moment::Committed];
}

/// What a kill waits for, and how long after it strikes.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    moment: Moment,
    /// For an upload: the part of its bytes that must be on the way.
    part: f64,
    /// For an acknowledgement: which one of the round.
    count: u64,
    delay: Duration,
}

/// What the clients knew when the kill was sent.
pub struct Evidence {
    uploads_in_flight: usize,
}

impl Aim {
    /// Draws an aim at one of the states that were hit least.
    pub fn draw(hits: &BTreeMap<Moment, u32>, rng: &mut impl Rng) -> Self {
        let fewest = hits.values().min().copied().unwrap_or_default();
        let rare: Vec<Moment> =
            hits.iter().filter(|(_, count)| **count == fewest).map(|(moment, _)| *moment).collect();
        let moment = *rare.choose(rng).expect("at least one state was hit least");
        let microseconds_max = match moment {
            Moment::Selecting => 3_000,
            Moment::Uploading => 1_000,
            Moment::Acknowledged => 5_000,
            // The state is short: most kills come at once, some a little later.
            Moment::Aggregating | Moment::Committed => 500,
        };
        let delay = Duration::from_micros(rng.random_range(0..microseconds_max));
        Self { moment, part: rng.random_range(0.0..0.95), count: rng.random_range(1..=6), delay }
    }

    /// Waits for the moment.
    pub async fn wait(&self, log: &Log, ledger: &Ledger) {
        let line = log.len();
        let went_to = |phase: &'static str| move |text: &str| (phase_of(text)? == phase).then_some(());
        match self.moment {
            Moment::Selecting => log.wait_for(line, |text| fields_of(text, "round opened").map(drop)).await,
            Moment::Aggregating => log.wait_for(line, went_to("aggregating")).await,
            Moment::Committed => {
                log.wait_for(line, |text| fields_of(text, "round committed").map(drop)).await
            }
            Moment::Uploading | Moment::Acknowledged => self.wait_for_progress(ledger).await,
        }
        sleep(self.delay).await;
    }

    async fn wait_for_progress(&self, ledger: &Ledger) {
        let mut progress = ledger.listen();
        loop {
            let is_it = match progress.recv().await {
                Ok(Progress::Sent { sent, total }) => {
                    self.moment == Moment::Uploading
                        && sent < total
                        && sent as f64 >= self.part * total as f64
                }
                Ok(Progress::Acknowledged { count }) => {
                    self.moment == Moment::Acknowledged && count >= self.count
                }
                Err(RecvError::Lagged(_)) => false,
                Err(RecvError::Closed) => unreachable!("the ledger holds the sender"),
            };
            if is_it {
                return;
            }
        }
    }
}

impl Evidence {
    pub fn before_kill(ledger: &Ledger) -> Self {
        Self { uploads_in_flight: ledger.in_flight() }
    }

    /// Says which state was hit, by where the dead process's database says that the round stood.
    pub fn classify(&self, aim: &Aim, phase: Option<&Phase>) -> Option<Moment> {
        match (phase, aim.moment) {
            (Some(Phase::Aggregating { .. }), _) => Some(Moment::Aggregating),
            (Some(Phase::Reporting { .. }), Moment::Acknowledged) => Some(Moment::Acknowledged),
            (Some(Phase::Reporting { .. }), _) => (self.uploads_in_flight > 0).then_some(Moment::Uploading),
            (None | Some(Phase::Selecting { .. }), Moment::Committed) => Some(Moment::Committed),
            (Some(Phase::Selecting { .. }), _) => Some(Moment::Selecting),
            _ => None,
        }
    }
}
