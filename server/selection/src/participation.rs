//! A client's history in a task. Selection, participation limits and clocks depend on it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use folkmoot_protocol::{ClientId, Timestamp, UserKey};
use serde::{Deserialize, Serialize};

/// The number of starts that a history keeps. Participation limits cannot look further back.
pub const RECENT_STARTS_MAX: usize = 64;

/// The milliseconds for which a task does not select a client that was proved to have broken the protocol: one day.
pub const SUSPENSION_MILLISECONDS: u64 = 24 * 60 * 60 * 1000;

/// A client's history in one task. It changes only in the transaction that records the corresponding fact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// The number of assignments that the client was given.
    pub starts: u64,
    /// The client's clock: the clock at which it joined, plus the number of its updates that were accepted since then.
    pub clock: u64,
    /// The client's accepted updates. Unlike `clock`, it never jumps; differential privacy charges it.
    pub accepted: u64,
    /// The version from which the last accepted update started.
    pub accepted_from: Option<u64>,
    /// The clock up to which a dynamic bound lets the client start ahead of the others.
    pub granted_until: u64,
    /// The last starts, oldest first, at most [`RECENT_STARTS_MAX`].
    pub recent: VecDeque<Start>,
    /// The number of consecutive assignments without an update.
    pub failures: u32,
    /// When the newest of these consecutive assignments failed.
    pub failed_at: Option<Timestamp>,
    /// When the last two updates were accepted, the older one first.
    pub pushed_at: [Option<Timestamp>; 2],
    /// Milliseconds from the last accepted assignment to its update. Updates that were sent early on request do
    /// not change it.
    pub milliseconds: Option<u64>,
    /// The mean loss over the examples of the last accepted update, if finite.
    pub mean_loss: Option<f64>,
    /// The number of examples in the last accepted update.
    pub example_count: u64,
    /// The last round in which the client was proved to have broken the protocol of secure aggregation.
    pub guilty: Option<Guilty>,
}

/// A round in which a client was proved to have broken the protocol of secure aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guilty {
    /// The number of the round.
    pub round_number: u64,
    /// When the step began in which it was proved.
    pub at: Timestamp,
}

/// One assignment given to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The number of the assignment's round.
    pub round_number: u64,
    /// When the assignment was given.
    pub at: Timestamp,
}

/// The changes that an assignment makes to the clocks of its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartClocks {
    /// The clock at which a new or returning client starts.
    pub first: u64,
    /// The clock up to which each client may start, for clients that a dynamic bound lets run ahead.
    pub granted_until: BTreeMap<ClientId, u64>,
}

/// The facts of an accepted update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Push {
    /// When the assignment was given.
    pub started_at: Timestamp,
    /// True if the client was asked to send early. Its duration then says nothing about its speed.
    pub was_asked: bool,
    /// When the update was accepted.
    pub at: Timestamp,
    /// The version from which training started.
    pub base_version: u64,
    /// The sum of the losses over the examples.
    pub loss_sum: f64,
    /// The number of examples that were used. An example that is used in two epochs is counted twice.
    pub example_count: u64,
}

/// A client that waits for an assignment, with the number of examples and the attributes that it reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The client's id.
    pub client_id: ClientId,
    /// The number of examples that the client holds.
    pub example_count: u64,
    /// The attributes that the client reported.
    pub attributes: BTreeMap<String, String>,
    /// The version of the client's SDK, as reported.
    pub sdk_version: String,
}

/// An eligible client that waits, with its history in the task.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The client and its reported attributes. They are shared, because each turn of a driver lists all waiting clients.
    pub candidate: Arc<Candidate>,
    /// The client's history in the task.
    pub history: History,
    /// The owner of the device, if the population's unit of privacy is the user.
    pub user: Option<User>,
    /// The id of the enrolment token with which the client first enrolled, if known.
    pub token: Option<String>,
}

/// The user who owns a waiting client's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's key.
    pub key: UserKey,
    /// The participation of all the user's devices in the task.
    pub participated: Participated,
    /// True if one of the user's devices currently takes part in the task.
    pub is_busy: bool,
}

/// The participation of a client or user in a task. Differential privacy charges these counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Participated {
    /// The number of assignments that were given.
    pub starts: u64,
    /// The number of updates that were accepted.
    pub accepted: u64,
    /// The newest version from which an accepted update started.
    pub accepted_from: Option<u64>,
}

impl Participated {
    /// Adds the history of one device.
    pub fn add(&mut self, history: &History) {
        self.starts = self.starts.saturating_add(history.starts);
        self.accepted = self.accepted.saturating_add(history.accepted);
        self.accepted_from = self.accepted_from.max(history.accepted_from);
    }
}

impl Waiting {
    /// Returns the participation of the protected unit: the client, or the user with all devices.
    pub fn participated(&self) -> Participated {
        match self.user {
            Some(user) => user.participated,
            None => {
                let mut participated = Participated::default();
                participated.add(&self.history);
                participated
            }
        }
    }
}

/// Keeps one device per user: the one with the fewest assignments.
pub fn leave_one_device_per_user(waiting: &mut Vec<Waiting>) {
    let rank = |client: &Waiting| (client.history.starts, client.candidate.client_id);
    let mut firsts = BTreeMap::new();
    for client in waiting.iter() {
        let Some(user) = client.user else { continue };
        let first = firsts.entry(user.key).or_insert_with(|| rank(client));
        *first = (*first).min(rank(client));
    }
    waiting.retain(|client| client.user.is_none_or(|user| firsts.get(&user.key) == Some(&rank(client))));
}

impl History {
    /// Applies an assignment's clocks. The client's clocks never go back.
    pub fn set_clocks(&mut self, client: ClientId, clocks: &StartClocks) {
        self.clock = self.clock.max(clocks.first);
        let granted_until = clocks.granted_until.get(&client).copied().unwrap_or(0);
        self.granted_until = self.granted_until.max(granted_until);
    }

    /// Records that the client was given an assignment.
    pub fn start(&mut self, round_number: u64, at: Timestamp) {
        self.starts = self.starts.saturating_add(1);
        self.recent.push_back(Start { round_number, at });
        while self.recent.len() > RECENT_STARTS_MAX {
            self.recent.pop_front();
        }
    }

    /// Records that an update of the client was accepted.
    pub fn push(&mut self, push: Push) {
        self.clock = self.clock.saturating_add(1);
        self.accepted = self.accepted.saturating_add(1);
        self.accepted_from = Some(push.base_version);
        self.failures = 0;
        self.failed_at = None;
        self.pushed_at = [self.pushed_at[1], Some(push.at)];
        if !push.was_asked {
            self.milliseconds = Some(push.at.milliseconds_since(push.started_at));
        }
        self.example_count = push.example_count;
        let mean = push.loss_sum / push.example_count as f64;
        self.mean_loss = mean.is_finite().then_some(mean);
    }

    /// Records that an assignment of the client brought no update.
    pub fn fail(&mut self, at: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        self.failed_at = Some(at);
    }

    /// Records that the client was proved to have broken the protocol in a round. Repeating it, or a late proof of an
    /// earlier round, changes nothing.
    pub fn blame(&mut self, round_number: u64, at: Timestamp) {
        if self.guilty.is_none_or(|before| before.round_number < round_number) {
            self.guilty = Some(Guilty { round_number, at });
        }
    }

    /// Returns whether the client broke the protocol so recently that the task does not select it.
    pub fn is_suspended(&self, now: Timestamp) -> bool {
        self.guilty.is_some_and(|guilty| now.milliseconds_since(guilty.at) < SUSPENSION_MILLISECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guilty_client_is_suspended_for_a_day() {
        let mut history = History::default();
        assert!(!history.is_suspended(Timestamp(0)));
        history.blame(3, Timestamp(1000));
        history.blame(3, Timestamp(5000));
        let end = 1000 + SUSPENSION_MILLISECONDS;
        assert!(history.is_suspended(Timestamp(end - 1)) && !history.is_suspended(Timestamp(end)));
        history.blame(4, Timestamp(end));
        history.blame(3, Timestamp(1));
        assert!(history.is_suspended(Timestamp(end)));
    }

    #[test]
    fn a_history_remembers_the_last_facts() {
        let mut history = History::default();
        for round in 1..=100 {
            history.start(round, Timestamp(round * 10));
        }
        assert_eq!((history.starts, history.recent.len(), history.recent[0].round_number), (100, 64, 37));
        history.fail(Timestamp(5));
        history.fail(Timestamp(6));
        assert_eq!((history.failures, history.failed_at), (2, Some(Timestamp(6))));
        for at in [20, 50, 90] {
            let push = Push {
                started_at: Timestamp(at - 15),
                was_asked: false,
                at: Timestamp(at),
                base_version: at,
                loss_sum: 3.0,
                example_count: 2,
            };
            history.push(push);
        }
        assert_eq!((history.clock, history.accepted, history.accepted_from), (3, 3, Some(90)));
        assert_eq!(history.pushed_at, [Some(Timestamp(50)), Some(Timestamp(90))]);
        assert_eq!((history.milliseconds, history.mean_loss, history.failures), (Some(15), Some(1.5), 0));
        let empty = Push {
            started_at: Timestamp(0),
            was_asked: true,
            at: Timestamp(1),
            base_version: 0,
            loss_sum: 0.0,
            example_count: 0,
        };
        history.push(empty);
        assert_eq!(
            (history.mean_loss, history.milliseconds),
            (None, Some(15)),
            "an early update gives no speed"
        );
    }
}
