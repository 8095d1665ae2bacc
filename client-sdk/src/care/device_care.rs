use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_protocol::{AssignmentId, DeviceRule, Timestamp};
use tokio::sync::watch;

use super::{DayTime, DeviceConditions, DevicePolicy, PauseReason, plan_rules::PlanRules};

/// How often a thread that rests looks whether it may go on.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Hears what holds of the device, and lets its client train only while that is as it should be. Copies are the same.
#[derive(Clone, Debug)]
pub struct DeviceCare(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    policy: DevicePolicy,
    time: Option<DayTime>,
    /// What of the time it may train without charging.
    battery_time: Option<DayTime>,
    now: watch::Sender<Now>,
}

#[derive(Clone, Debug, Default)]
struct Now {
    conditions: DeviceConditions,
    apps_reason: Option<String>,
    plan_rules: PlanRules,
    is_time_over: bool,
    /// The threads that rest in [`DeviceCare::rest`].
    resting: u32,
}

impl DeviceCare {
    pub(crate) fn new(policy: DevicePolicy, time: Option<DayTime>, battery_time: Option<DayTime>) -> Self {
        let is_time_over = time.as_ref().is_some_and(DayTime::is_over);
        let now = watch::channel(Now { is_time_over, ..Now::default() }).0;
        Self(Arc::new(Shared { policy, time, battery_time, now }))
    }

    /// Hears what holds now. It may be told at any time and as often as one likes; a training under way pauses within
    /// 250 ms, and goes on at the same step when it may.
    pub fn set_conditions(&self, conditions: DeviceConditions) {
        self.0.now.send_if_modified(|now| {
            let is_new = now.conditions != conditions;
            now.conditions = conditions;
            is_new
        });
    }

    /// Pauses for a reason of the app's own, or no longer for one.
    pub fn set_paused(&self, reason: Option<String>) {
        self.0.now.send_modify(|now| now.apps_reason = reason);
    }

    /// What holds, as it was told last.
    pub fn conditions(&self) -> DeviceConditions {
        self.0.now.borrow().conditions
    }

    /// How long an assignment outlasts a pause.
    pub(crate) fn give_up_after(&self) -> Duration {
        Duration::from_secs(self.0.policy.give_up_after_seconds.into())
    }

    /// Why the client does not train now.
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

    /// Holds to what a plan asks of the device until the returned value is dropped.
    pub(crate) fn keep_to(&self, assignment: AssignmentId, rules: &[DeviceRule]) -> Kept<'_> {
        self.0.now.send_modify(|now| now.plan_rules = PlanRules::of(assignment, rules));
        Kept { care: self, assignment }
    }

    /// Returns at once if the client may train. Otherwise says so, waits until it may, or `stop` is set, and returns how
    /// long that was by `stopwatch`.
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

    /// Whether the thread that trains has noticed a pause, and waits for its end.
    pub(crate) fn is_resting(&self) -> bool {
        self.0.now.borrow().resting > 0
    }

    /// Does a piece of training, and counts its time by `stopwatch`.
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

    /// Returns when to ask for an assignment again, if the day's time is over.
    pub(crate) fn spent_until(&self) -> Option<Timestamp> {
        let time = self.0.time.as_ref()?;
        let is_over = time.is_over();
        // A new day is a new beginning.
        self.0.now.send_if_modified(|now| std::mem::replace(&mut now.is_time_over, is_over) != is_over);
        is_over.then(|| time.day().tomorrow())
    }

    /// Stores what was counted.
    pub(crate) fn save(&self) {
        for time in self.0.time.iter().chain(&self.0.battery_time) {
            time.day().save();
        }
    }
}

/// A plan's rules, which hold as long as this lives.
pub(crate) struct Kept<'a> {
    care: &'a DeviceCare,
    assignment: AssignmentId,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.care.0.now.send_if_modified(|now| {
            // The next work may have begun before this one had noticed that it was to end.
            let are_ours = now.plan_rules.are_of(self.assignment);
            if are_ours {
                now.plan_rules = PlanRules::default();
            }
            are_ours
        });
    }
}

/// The reasons to pause, as they come and go.
#[derive(Debug)]
pub(crate) struct PauseReasons {
    care: DeviceCare,
    changes: watch::Receiver<Now>,
}

impl PauseReasons {
    /// The reason there is now.
    pub fn now(&mut self) -> Option<PauseReason> {
        let now = self.changes.borrow_and_update();
        self.care.reason(&now)
    }

    /// Whether the thread that trains has noticed a pause, and waits for its end.
    pub fn is_resting(&self) -> bool {
        self.care.is_resting()
    }

    /// Waits until the device may ask for an assignment. That the time of the day is over is another matter.
    pub async fn until_allowed(mut self) {
        while self.now().is_some_and(|reason| reason != PauseReason::TrainingTime) {
            self.changed().await;
        }
    }

    /// Waits until something has changed since it was looked at; a new day is a change where a day's time has a limit
    /// that only charging lifts.
    pub async fn changed(&mut self) {
        let day = self.care.0.battery_time.as_ref().map(|time| time.day().until_tomorrow());
        let next_day = async {
            match day {
                Some(rest) => tokio::time::sleep(rest).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // This holds the other end itself, so it does not fail.
            _ = self.changes.changed() => {}
            () = next_day => {}
        }
    }
}
