//! Pauses the training thread while the device must not train.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_protocol::{AssignmentId, DeviceRule, Timestamp};
use folkmoot_work::{Care, DeviceConditions, PauseReason, TimeToStore};
use tokio::sync::watch;

use crate::{Host, storage::DayFile};

/// The interval at which a paused thread checks whether it may continue.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Receives the device's conditions and lets the client train only while the policy allows it. Copies share their
/// state.
#[derive(Clone, Debug)]
pub struct DeviceCare(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    now: watch::Sender<Now>,
    /// Locked while a count changes and is stored, so that an older count never replaces a newer one.
    files: Mutex<TimeFiles>,
    host: Host,
}

#[derive(Clone, Debug)]
struct Now {
    care: Care,
    /// The number of threads paused in [`DeviceCare::rest`].
    resting: u32,
}

/// The files of the day's training time.
#[derive(Debug)]
pub(crate) struct TimeFiles {
    /// The training time of the day.
    pub time: DayFile,
    /// The part of the training time without charging.
    pub battery_time: DayFile,
}

impl TimeFiles {
    #[cfg(test)]
    pub fn nowhere() -> Self {
        Self { time: DayFile::nowhere(), battery_time: DayFile::nowhere() }
    }

    fn write(&self, to_store: TimeToStore) {
        self.time.write(to_store.time);
        self.battery_time.write(to_store.battery_time);
    }
}

impl DeviceCare {
    pub(crate) fn new(care: Care, files: TimeFiles, host: Host) -> Self {
        let now = watch::channel(Now { care, resting: 0 }).0;
        Self(Arc::new(Shared { now, files: Mutex::new(files), host }))
    }

    /// Sets the device's current conditions. Call it at any time and as often as you like. A running training pauses
    /// within 250 ms, and later continues at the same step.
    pub fn set_conditions(&self, conditions: DeviceConditions) {
        self.0.now.send_if_modified(|now| now.care.set_conditions(conditions));
    }

    /// Pauses training for a reason of the app's own. `None` ends that pause.
    pub fn set_paused(&self, reason: Option<String>) {
        self.0.now.send_modify(|now| now.care.set_paused(reason));
    }

    /// Returns the conditions that were last set.
    pub fn conditions(&self) -> DeviceConditions {
        self.0.now.borrow().care.conditions()
    }

    /// Returns the maximum duration of a pause. After a longer pause, the client gives up the assignment.
    pub(crate) fn give_up_after(&self) -> Duration {
        self.0.now.borrow().care.give_up_after()
    }

    /// Returns why the client does not train now, or `None` if it may.
    pub fn reason_to_pause(&self) -> Option<PauseReason> {
        self.0.now.borrow().care.reason_to_pause(|| self.0.host.now())
    }

    pub(crate) fn reasons(&self) -> PauseReasons {
        PauseReasons { care: self.clone(), changes: self.0.now.subscribe() }
    }

    /// Applies a plan's device rules until the returned guard is dropped.
    pub(crate) fn keep_to(&self, assignment: AssignmentId, rules: &[DeviceRule]) -> Kept<'_> {
        self.0.now.send_modify(|now| now.care.keep_to(assignment, rules));
        Kept { care: self, assignment }
    }

    /// Returns at once if the client may train. Otherwise calls `on_rest`, waits until it may train or `stop` is set,
    /// and returns the time waited, measured by `stopwatch`.
    pub(crate) fn rest(
        &self,
        stop: &AtomicBool,
        stopwatch: impl Fn() -> Duration,
        on_rest: impl FnOnce(),
    ) -> Duration {
        if self.reason_to_pause().is_none() {
            return Duration::ZERO;
        }
        let begun = stopwatch();
        on_rest();
        self.0.now.send_modify(|now| now.resting += 1);
        while !stop.load(Ordering::Relaxed) && self.reason_to_pause().is_some() {
            std::thread::sleep(LOOK_EVERY);
        }
        self.0.now.send_modify(|now| now.resting -= 1);
        stopwatch().saturating_sub(begun)
    }

    /// Returns whether the training thread has noticed a pause and is waiting.
    pub(crate) fn is_resting(&self) -> bool {
        self.0.now.borrow().resting > 0
    }

    /// Runs a piece of training and counts its time by `stopwatch`.
    pub(crate) fn counted<T>(&self, stopwatch: impl Fn() -> Duration, train: impl FnOnce() -> T) -> T {
        let counting = self.0.now.borrow().care.counting();
        let Some(counting) = counting else { return train() };
        let begun = stopwatch();
        let trained = train();
        let passed = stopwatch().saturating_sub(begun);
        let (files, at) = (self.0.files.lock().unwrap_or_else(PoisonError::into_inner), self.0.host.now());
        let mut to_store = TimeToStore::default();
        self.0.now.send_if_modified(|now| {
            let (counted, may_have_changed) = now.care.count(counting, passed, at);
            to_store = counted;
            may_have_changed
        });
        files.write(to_store);
        trained
    }

    /// Returns the time at which to ask for an assignment again, if the day's training time is used up.
    pub(crate) fn spent_until(&self) -> Option<Timestamp> {
        let at = self.0.host.now();
        let mut until = None;
        self.0.now.send_if_modified(|now| {
            let (spent_until, has_changed) = now.care.spent_until(at);
            until = spent_until;
            has_changed
        });
        until
    }

    /// Stores the counted time.
    pub(crate) fn save(&self) {
        let (files, at) = (self.0.files.lock().unwrap_or_else(PoisonError::into_inner), self.0.host.now());
        let mut to_store = TimeToStore::default();
        self.0.now.send_if_modified(|now| {
            to_store = now.care.save(at);
            false
        });
        files.write(to_store);
    }
}

/// A guard that applies a plan's rules until it is dropped.
pub(crate) struct Kept<'a> {
    care: &'a DeviceCare,
    assignment: AssignmentId,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.care.0.now.send_if_modified(|now| now.care.release(self.assignment));
    }
}

/// A stream of changing reasons to pause.
#[derive(Debug)]
pub(crate) struct PauseReasons {
    care: DeviceCare,
    changes: watch::Receiver<Now>,
}

impl PauseReasons {
    /// Returns the current reason.
    pub fn now(&mut self) -> Option<PauseReason> {
        let now = self.changes.borrow_and_update();
        now.care.reason_to_pause(|| self.care.0.host.now())
    }

    /// Returns whether the training thread has noticed a pause and is waiting.
    pub fn is_resting(&self) -> bool {
        self.care.is_resting()
    }

    /// Waits until the device may ask for an assignment. Ignores the limit on the day's training time.
    pub async fn until_allowed(mut self) {
        while self.now().is_some_and(|reason| reason != PauseReason::TrainingTime) {
            self.changed().await;
        }
    }

    /// Waits for the next change. If there is a limit on training without charging, the start of a new day is a change
    /// too.
    pub async fn changed(&mut self) {
        let day = self.care.0.now.borrow().care.until_change(|| self.care.0.host.now());
        let next_day = async {
            match day {
                Some(rest) => tokio::time::sleep(rest).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // `self` holds the sender, so `changed` cannot fail.
            _ = self.changes.changed() => {}
            () = next_day => {}
        }
    }
}
