//! A counter that is reset every day.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Host,
    storage::{read_if_present, write_private},
};

pub(crate) const DAY_MILLISECONDS: u64 = 24 * 60 * 60 * 1000;

/// An amount used on the current day (UTC). With a file, the count survives a restart.
#[derive(Debug)]
pub(crate) struct DayCount {
    host: Host,
    path: Option<PathBuf>,
    /// The amount after which the count is stored. A killed process loses at most this much.
    saved_every: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: Used,
    unsaved: u64,
}

/// The stored form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Used {
    /// The number of days since 1970-01-01 (UTC).
    day: u64,
    amount: u64,
    /// True if the day is treated as used up before its limit is reached, because an assignment needed more than was
    /// left.
    #[serde(default)]
    is_spent: bool,
}

impl DayCount {
    /// Creates a counter that is kept in memory only.
    pub fn in_memory(host: Host) -> Self {
        Self { host, path: None, saved_every: u64::MAX, state: Mutex::default() }
    }

    /// Creates a counter that continues from the amount stored in a file. An unreadable file is treated as empty.
    pub fn open(host: Host, path: PathBuf, saved_every: u64) -> Self {
        let bytes = read_if_present(&path).ok().flatten().unwrap_or_default();
        let used = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { host, path: Some(path), saved_every, state: Mutex::new(State { used, unsaved: 0 }) }
    }

    /// Adds to the day's amount.
    pub fn add(&self, amount: u64) {
        let mut state = self.today();
        state.used.amount = state.used.amount.saturating_add(amount);
        state.unsaved = state.unsaved.saturating_add(amount);
        if state.unsaved >= self.saved_every {
            self.save_now(&mut state);
        }
    }

    /// Returns the day's amount.
    pub fn amount(&self) -> u64 {
        self.today().used.amount
    }

    /// Returns whether the day was marked as used up.
    pub fn is_spent(&self) -> bool {
        self.today().used.is_spent
    }

    /// Marks the day as used up, even if the limit is not reached.
    pub fn spend(&self) {
        let mut state = self.today();
        state.used.is_spent = true;
        self.save_now(&mut state);
    }

    /// Returns the time at which the next day begins.
    pub fn tomorrow(&self) -> Timestamp {
        Timestamp((self.today().used.day + 1).saturating_mul(DAY_MILLISECONDS))
    }

    /// Returns the time left in this day, at least 1 ms.
    pub fn until_tomorrow(&self) -> Duration {
        Duration::from_millis(self.tomorrow().0.saturating_sub(self.host.now().0).max(1))
    }

    /// Stores the amount if it has changed since it was last stored.
    pub fn save(&self) {
        let mut state = self.today();
        if state.unsaved > 0 {
            self.save_now(&mut state);
        }
    }

    fn today(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let day = self.host.now().0 / DAY_MILLISECONDS;
        if state.used.day != day {
            state.used = Used { day, ..Used::default() };
        }
        state
    }

    fn save_now(&self, state: &mut State) {
        state.unsaved = 0;
        let Some(path) = &self.path else { return };
        let json = serde_json::to_vec(&state.used).expect("numbers are JSON");
        if let Err(error) = write_private(path, &json) {
            tracing::warn!(%error, "could not store the day's usage; it is counted from zero after a restart");
        }
    }
}
