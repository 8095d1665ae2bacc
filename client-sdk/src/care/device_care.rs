use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_protocol::{AssignmentId, DeviceRule, Timestamp};
use folkmoot_work::{DeviceConditions, DevicePolicy, PauseReason, PlanRules};
use tokio::sync::watch;

use super::DayTime;

/// The interval at which a paused thread checks whether it may continue.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Receives the device's conditions and lets the client train only while the policy allows it. Copies share their
/// state.
#[derive(Clone, Debug)]
pub struct DeviceCare(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    policy: DevicePolicy,
    time: Option<DayTime>,
    /// The training time without charging. It is part of the total time.
    battery_time: Option<DayTime>,
    now: watch::Sender<Now>,
}

#[derive(Clone, Debug, Default)]
struct Now {
    conditions: DeviceConditions,
    apps_reason: Option<String>,
    plan_rules: PlanRules,
    is_time_over: bool,
    /// The number of threads paused in [`DeviceCare::rest`].
    resting: u32,
}

impl DeviceCare {
    pub(crate) fn new(policy: DevicePolicy, time: Option<DayTime>, battery_time: Option<DayTime>) -> Self {
        let is_time_over = time.as_ref().is_some_and(DayTime::is_over);
        let now = watch::channel(Now { is_time_over, ..Now::default() }).0;
        Self(Arc::new(Shared { policy, time, battery_time, now }))
    }

    /// Sets the device's current conditions. Call it at any time and as often as you like. A running training pauses
    /// within 250 ms, and later continues at the same step.
    pub fn set_conditions(&self, conditions: DeviceConditions) {
        self.0.now.send_if_modified(|now| {
            let is_new = now.conditions != conditions;
            now.conditions = conditions;
            is_new
        });
    }

    /// Pauses training for a reason of the app's own. `None` ends that pause.
    pub fn set_paused(&self, reason: Option<String>) {
        self.0.now.send_modify(|now| now.apps_reason = reason);
    }

    /// Returns the conditions that were last set.
    pub fn conditions(&self) -> DeviceConditions {
        self.0.now.borrow().conditions
    }

    /// Returns the maximum duration of a pause. After a longer pause, the client gives up the assignment.
    pub(crate) fn give_up_after(&self) -> Duration {
        Duration::from_secs(self.0.policy.give_up_after_seconds.into())
    }

    /// Returns why the client does not train now, or `None` if it may.
    pub fn reason_to_pause(&self) -> Option<PauseReason> {
        self.reason(&self.0.now.borrow())
    }

    fn reason(&self, now: &Now) -> Option<PauseReason> {
        let apps = now.apps_reason.clone().map(PauseReason::App);
        apps.or_else(|| self.0.policy.reason_to_pause(&now.conditions))
            .or_else(|| (!now.plan_rules.hold(&now.conditions)).then_some(PauseReason::Plan))
            .or_else(|| now.is_time_over.then_some(PauseReason::TrainingTime))
            .or_else(|| self.is_battery_time_over(now).then_some(PauseReason::BatteryTime))
    }

    fn is_battery_time_over(&self, now: &Now) -> bool {
        now.conditions.is_charging != Some(true) && self.0.battery_time.as_ref().is_some_and(DayTime::is_over)
    }

    pub(crate) fn reasons(&self) -> PauseReasons {
        PauseReasons { care: self.clone(), changes: self.0.now.subscribe() }
    }

    /// Applies a plan's device rules until the returned guard is dropped.
    pub(crate) fn keep_to(&self, assignment: AssignmentId, rules: &[DeviceRule]) -> Kept<'_> {
        self.0.now.send_modify(|now| now.plan_rules = PlanRules::of(assignment, rules));
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
        let is_charging = self.conditions().is_charging == Some(true);
        let battery_time = self.0.battery_time.as_ref().filter(|_| !is_charging);
        if self.0.time.is_none() && battery_time.is_none() {
            return train();
        }
        let begun = stopwatch();
        let trained = train();
        let passed = stopwatch().saturating_sub(begun);
        if let Some(time) = &self.0.time {
            time.add(passed);
            self.0.now.send_if_modified(|now| {
                let was_over = std::mem::replace(&mut now.is_time_over, time.is_over());
                was_over != now.is_time_over
            });
        }
        if let Some(time) = battery_time {
            time.add(passed);
            self.0.now.send_if_modified(|_| time.is_over());
        }
        trained
    }

    /// Returns the time at which to ask for an assignment again, if the day's training time is used up.
    pub(crate) fn spent_until(&self) -> Option<Timestamp> {
        let time = self.0.time.as_ref()?;
        let is_over = time.is_over();
        // The limit is reset when a new day begins.
        self.0.now.send_if_modified(|now| std::mem::replace(&mut now.is_time_over, is_over) != is_over);
        is_over.then(|| time.day().tomorrow())
    }

    /// Stores the counted time.
    pub(crate) fn save(&self) {
        for time in self.0.time.iter().chain(&self.0.battery_time) {
            time.day().save();
        }
    }
}

/// A guard that applies a plan's rules until it is dropped.
pub(crate) struct Kept<'a> {
    care: &'a DeviceCare,
    assignment: AssignmentId,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.care.0.now.send_if_modified(|now| {
            // The next assignment may have replaced the rules before this guard was dropped.
            let are_ours = now.plan_rules.are_of(self.assignment);
            if are_ours {
                now.plan_rules = PlanRules::default();
            }
            are_ours
        });
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
        self.care.reason(&now)
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
        let day = self.care.0.battery_time.as_ref().map(|time| time.day().until_tomorrow());
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
