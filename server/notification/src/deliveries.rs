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

/// The pause after the first failure. It doubles with each further one.
const PAUSE_MILLISECONDS: u64 = 10_000;
/// The longest pause between two attempts.
const PAUSE_MILLISECONDS_MAX: u64 = 30 * 60 * 1000;
/// The time after the first attempt at which a notice is given up.
const GIVE_UP_MILLISECONDS: u64 = 24 * 3600 * 1000;

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every channel has the notice, or was given up.
    Settled,
    /// A channel failed. Deliver the notice again.
    Waiting,
}

/// A notice that not every channel has taken.
#[derive(Debug)]
struct Progress {
    since: Timestamp,
    /// The indices of the channels that are done with it.
    done: BTreeSet<usize>,
    failures: u32,
    next: Timestamp,
}

/// Tries every channel of a notice until it accepts. In the memory of one process: after a restart, channels may get a notice
/// again.
#[derive(Debug)]
pub struct Deliveries {
    channels: Channels,
    open: BTreeMap<String, Progress>,
    states: Vec<ChannelState>,
    board: Arc<Board>,
}

impl Deliveries {
    /// Creates an empty record of deliveries.
    pub fn new(channels: Channels) -> Self {
        let states = channels.all.iter().map(|_| ChannelState::default()).collect();
        let board = Arc::new(Board::new(&channels));
        Self { channels, open: BTreeMap::new(), states, board }
    }

    /// The channels.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Returns the channels and their latest deliveries, for others to read.
    pub fn board(&self) -> Arc<Board> {
        self.board.clone()
    }

    /// Forgets the notices with other ids than these: their occasion has passed.
    pub fn forget_others(&mut self, ids: &BTreeSet<&str>) {
        self.open.retain(|id, _| ids.contains(id.as_str()));
        self.publish();
    }

    /// Sends the notice to the channels that want it and have not taken it, all at once, unless it is too early for another
    /// attempt.
    pub async fn deliver(&mut self, notice: &Notice, now: Timestamp) -> Outcome {
        let mut progress = self.open.remove(&notice.id).unwrap_or_else(|| self.first(notice, now));
        if progress.next <= now {
            self.attempt(notice, &mut progress, now).await;
        }
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
        Progress { since: now, done: unwanted.collect(), failures: 0, next: now }
    }

    async fn attempt(&mut self, notice: &Notice, progress: &mut Progress, now: Timestamp) {
        let todo = (0..self.channels.all.len()).filter(|index| !progress.done.contains(index));
        let send = async |index: usize| (index, self.channels.all[index].send(notice, now).await);
        let sent = join_all(todo.map(send)).await;
        let is_late = now.0 >= progress.since.0.saturating_add(GIVE_UP_MILLISECONDS);
        for (index, result) in sent {
            let (channel, notice) = (&self.channels.all[index].name, &notice.id);
            let state = &mut self.states[index];
            match result {
                Ok(()) => *state = ChannelState { delivered_at: Some(now), ..ChannelState::default() },
                Err(error) => {
                    state.error = Some(error.to_string());
                    if !is_late {
                        tracing::warn!(channel, notice, %error, "a notice was not delivered; it will be tried again");
                        continue;
                    }
                    tracing::error!(channel, notice, %error, "a notice was not delivered for a day, and is given up");
                }
            }
            progress.done.insert(index);
        }
        let doubled = PAUSE_MILLISECONDS.saturating_mul(1 << progress.failures.min(16));
        progress.failures = progress.failures.saturating_add(1);
        progress.next = Timestamp(now.0.saturating_add(doubled.min(PAUSE_MILLISECONDS_MAX)));
    }

    fn publish(&mut self) {
        for (index, state) in self.states.iter_mut().enumerate() {
            state.waiting = self.open.values().filter(|one| !one.done.contains(&index)).count() as u64;
        }
        self.board.update(&self.states);
    }
}
