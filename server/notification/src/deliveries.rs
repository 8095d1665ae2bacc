use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use folkmoot_protocol::Timestamp;
use futures::future::join_all;

use crate::{
    Channels, Notice,
    board::{Board, ChannelState},
};

/// The pause of a channel after its first failure. It doubles with each further one.
const PAUSE_MILLISECONDS: u64 = 10_000;
/// The longest pause of a channel.
const PAUSE_MILLISECONDS_MAX: u64 = 30 * 60 * 1000;
/// The time after the first attempt at which a notice is given up.
const GIVE_UP_MILLISECONDS: u64 = 24 * 3600 * 1000;

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every channel has the notice, or was given up.
    Settled,
    /// A channel has failed. Deliver the notice again.
    Waiting,
}

/// A notice that not every channel has taken.
#[derive(Debug)]
struct Progress {
    since: Timestamp,
    /// The indices of the channels that are done with it.
    done: BTreeSet<usize>,
    attempts: u32,
}

/// The latest failures of a channel, one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: u32,
    /// The end of the pause.
    until: Timestamp,
}

impl Failures {
    /// Returns whether the pause is over. A pause that ends impossibly late is over, too: the clock was set back.
    fn is_over(self, now: Timestamp) -> bool {
        self.until <= now || self.until.0 > now.0.saturating_add(PAUSE_MILLISECONDS_MAX)
    }

    fn add(&mut self, now: Timestamp) {
        let doubled = PAUSE_MILLISECONDS.saturating_mul(1 << self.count.min(16));
        self.until = Timestamp(now.0.saturating_add(doubled.min(PAUSE_MILLISECONDS_MAX)));
        self.count = self.count.saturating_add(1);
    }
}

/// Tries every channel of a notice until it accepts. A channel that fails pauses, and all notices wait for it. In the memory of
/// one process: after a restart, channels may get a notice again.
#[derive(Debug)]
pub struct Deliveries {
    channels: Channels,
    failures: Vec<Failures>,
    open: BTreeMap<String, Progress>,
    board: Arc<Board>,
}

impl Deliveries {
    /// Creates an empty record of deliveries.
    pub fn new(channels: Channels) -> Self {
        let board = Arc::new(Board::new(&channels));
        let failures = vec![Failures::default(); channels.all.len()];
        Self { channels, failures, open: BTreeMap::new(), board }
    }

    /// The channels.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Returns the channels and their latest deliveries, for others to read.
    pub fn board(&self) -> Arc<Board> {
        self.board.clone()
    }

    /// Returns whether an attempt to deliver the notice with this id could achieve anything now.
    pub fn is_due(&self, id: &str, now: Timestamp) -> bool {
        let progress = self.open.get(id);
        let is_open = |index: &usize| progress.is_none_or(|one| !one.done.contains(index));
        (0..self.failures.len()).filter(is_open).any(|index| self.failures[index].is_over(now))
    }

    /// Returns the number of attempts to deliver the notice with this id. Deliver those with fewer attempts first: then a
    /// notice that a channel refuses does not hold up others.
    pub fn attempts(&self, id: &str) -> u32 {
        self.open.get(id).map_or(0, |one| one.attempts)
    }

    /// Forgets the notices whose ids are not `current`: their occasion has passed.
    pub fn forget_others(&mut self, current: impl Fn(&str) -> bool) {
        self.open.retain(|id, _| current(id));
        self.publish();
    }

    /// Sends the notice to the channels that want it, have not taken it and do not pause, all at once.
    pub async fn deliver(&mut self, notice: &Notice, now: Timestamp) -> Outcome {
        let mut progress = self.open.remove(&notice.id).unwrap_or_else(|| self.first(notice, now));
        self.attempt(notice, &mut progress, now).await;
        let is_settled = progress.done.len() == self.channels.all.len();
        if !is_settled {
            self.open.insert(notice.id.clone(), progress);
        }
        self.publish();
        if is_settled { Outcome::Settled } else { Outcome::Waiting }
    }

    fn first(&self, notice: &Notice, now: Timestamp) -> Progress {
        let all = self.channels.all.iter().enumerate();
        let unwanted = all.filter(|(_, channel)| !channel.wants(notice)).map(|(index, _)| index);
        Progress { since: now, done: unwanted.collect(), attempts: 0 }
    }

    async fn attempt(&mut self, notice: &Notice, progress: &mut Progress, now: Timestamp) {
        // A repetition has the time of the first attempt.
        let notice = &Notice { at: progress.since, ..notice.clone() };
        let todo: Vec<usize> = (0..self.channels.all.len())
            .filter(|index| !progress.done.contains(index) && self.failures[*index].is_over(now))
            .collect();
        let send = async |index: usize| (index, self.channels.all[index].send(notice, now).await);
        let sent = join_all(todo.into_iter().map(send)).await;
        let is_late = now.0 >= progress.since.0.saturating_add(GIVE_UP_MILLISECONDS);
        progress.attempts = progress.attempts.saturating_add(1);
        for (index, result) in sent {
            let (channel, notice) = (&self.channels.all[index].name, &notice.id);
            match result {
                Ok(()) => {
                    self.failures[index] = Failures::default();
                    let delivered = ChannelState { delivered_at: Some(now), ..ChannelState::default() };
                    self.board.update(index, |state| *state = delivered);
                }
                Err(error) => {
                    self.failures[index].add(now);
                    self.board.update(index, |state| state.error = Some(error.to_string()));
                    if !is_late {
                        tracing::warn!(channel, notice, %error, "a notice was not delivered; it will be tried again");
                        continue;
                    }
                    tracing::error!(channel, notice, %error, "a notice was not delivered for a day, and is given up");
                }
            }
            progress.done.insert(index);
        }
    }

    /// Counts the notices that wait for each channel.
    fn publish(&self) {
        for index in 0..self.channels.all.len() {
            let waiting = self.open.values().filter(|one| !one.done.contains(&index)).count() as u64;
            self.board.update(index, |state| state.waiting = waiting);
        }
    }
}
