use std::time::Duration;

use folkmoot_protocol::{AssignmentId, DeviceRule, Timestamp};

use super::{DeviceConditions, DevicePolicy, PauseReason, plan_rules::PlanRules};
use crate::day::{DayTime, tomorrow, until_tomorrow};

/// Decides whether the device may train, from the conditions, the policy, the plan's rules and the training time of the
/// day.
#[derive(Clone, Debug, Default)]
pub struct Care {
    policy: DevicePolicy,
    conditions: DeviceConditions,
    apps_reason: Option<String>,
    plan_rules: PlanRules,
    time: Option<DayTime>,
    /// The training time without charging. It is part of the total time.
    battery_time: Option<DayTime>,
    /// Set when a piece of training has used the day's time, and until the client next asks for an assignment.
    is_time_over: bool,
}

/// The bytes to store for each of the two counts of training time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct TimeToStore {
    /// The training time of the day.
    pub time: Option<Vec<u8>>,
    /// The part of the day's training time in which the device did not charge.
    pub battery_time: Option<Vec<u8>>,
}

/// Selects the counts that a piece of training is added to. The conditions at its beginning decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    is_on_battery: bool,
}

impl Care {
    /// Creates the state of a device whose conditions are unknown. `time` and `battery_time` limit the training of a day;
    /// `None` is no limit.
    pub fn new(
        policy: DevicePolicy,
        time: Option<DayTime>,
        battery_time: Option<DayTime>,
        now: Timestamp,
    ) -> Self {
        let is_time_over = time.is_some_and(|time| time.is_over(now));
        Self { policy, time, battery_time, is_time_over, ..Self::default() }
    }

    /// Sets the device's current conditions. Returns whether they have changed.
    pub fn set_conditions(&mut self, conditions: DeviceConditions) -> bool {
        std::mem::replace(&mut self.conditions, conditions) != conditions
    }

    /// Returns the conditions that were last set.
    pub fn conditions(&self) -> DeviceConditions {
        self.conditions
    }

    /// Pauses training for a reason of the app's own. `None` ends that pause.
    pub fn set_paused(&mut self, reason: Option<String>) {
        self.apps_reason = reason;
    }

    /// Applies a plan's device rules until [`Care::release`].
    pub fn keep_to(&mut self, assignment: AssignmentId, rules: &[DeviceRule]) {
        self.plan_rules = PlanRules::of(assignment, rules);
    }

    /// Ends the rules of this assignment. Returns `false` if the next assignment has already replaced them.
    pub fn release(&mut self, assignment: AssignmentId) -> bool {
        let are_ours = self.plan_rules.are_of(assignment);
        if are_ours {
            self.plan_rules = PlanRules::default();
        }
        are_ours
    }

    /// Returns the maximum duration of a pause. After a longer pause, the client gives up the assignment.
    pub fn give_up_after(&self) -> Duration {
        Duration::from_secs(self.policy.give_up_after_seconds.into())
    }

    /// Returns why the client does not train now, or `None` if it may. Reads the clock only if the time without charging
    /// is limited.
    pub fn reason_to_pause(&self, clock: impl FnOnce() -> Timestamp) -> Option<PauseReason> {
        let apps = self.apps_reason.clone().map(PauseReason::App);
        apps.or_else(|| self.policy.reason_to_pause(&self.conditions))
            .or_else(|| (!self.plan_rules.hold(&self.conditions)).then_some(PauseReason::Plan))
            .or_else(|| self.is_time_over.then_some(PauseReason::TrainingTime))
            .or_else(|| self.is_battery_time_over(clock).then_some(PauseReason::BatteryTime))
    }

    fn is_battery_time_over(&self, clock: impl FnOnce() -> Timestamp) -> bool {
        let is_charging = self.conditions.is_charging == Some(true);
        !is_charging && self.battery_time.is_some_and(|time| time.is_over(clock()))
    }

    /// Returns the time until midnight (UTC) if training without charging is limited, because a new day can then end a
    /// pause.
    pub fn until_change(&self, clock: impl FnOnce() -> Timestamp) -> Option<Duration> {
        self.battery_time.map(|_| until_tomorrow(clock()))
    }

    /// Returns the daily limits to which a piece of training counts if it begins now; `None` if there are none.
    pub fn counting(&self) -> Option<Counting> {
        let is_on_battery = self.battery_time.is_some() && self.conditions.is_charging != Some(true);
        (self.time.is_some() || is_on_battery).then_some(Counting { is_on_battery })
    }

    /// Counts a piece of training. Returns the bytes to store, and whether the reason to pause may have changed.
    pub fn count(&mut self, counting: Counting, passed: Duration, now: Timestamp) -> (TimeToStore, bool) {
        let mut to_store = TimeToStore::default();
        let mut may_have_changed = false;
        if let Some(time) = &mut self.time {
            to_store.time = time.add(passed, now);
            may_have_changed |= self.look_at_time(now);
        }
        if let Some(time) = self.battery_time.as_mut().filter(|_| counting.is_on_battery) {
            to_store.battery_time = time.add(passed, now);
            may_have_changed |= time.is_over(now);
        }
        (to_store, may_have_changed)
    }

    /// Returns the time at which to ask for an assignment again, if the day's training time is used up, and whether the
    /// reason to pause has changed. The limit is reset when a new day begins.
    pub fn spent_until(&mut self, now: Timestamp) -> (Option<Timestamp>, bool) {
        let has_changed = self.look_at_time(now);
        (self.is_time_over.then(|| tomorrow(now)), has_changed)
    }

    fn look_at_time(&mut self, now: Timestamp) -> bool {
        let is_over = self.time.is_some_and(|time| time.is_over(now));
        std::mem::replace(&mut self.is_time_over, is_over) != is_over
    }

    /// Returns the bytes to store if the counted time has changed since the last time.
    pub fn save(&mut self, now: Timestamp) -> TimeToStore {
        let save = |time: &mut Option<DayTime>| time.as_mut().and_then(|time| time.save(now));
        TimeToStore { time: save(&mut self.time), battery_time: save(&mut self.battery_time) }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::DeviceCondition;

    use super::*;
    use crate::DAY_MILLISECONDS;

    const NOW: Timestamp = Timestamp(7 * DAY_MILLISECONDS);
    const TOMORROW: Timestamp = Timestamp(8 * DAY_MILLISECONDS);

    fn charging(holds: bool) -> DeviceConditions {
        DeviceConditions { is_charging: Some(holds), ..DeviceConditions::default() }
    }

    fn reason(care: &Care, now: Timestamp) -> Option<String> {
        care.reason_to_pause(|| now).map(|reason| reason.to_string())
    }

    #[test]
    fn the_apps_own_pause_comes_first() {
        let policy = DevicePolicy { requires_charging: true, ..DevicePolicy::default() };
        let mut care = Care::new(policy, None, None, NOW);
        assert_eq!(reason(&care, NOW).as_deref(), Some("charging"));
        care.set_paused(Some("a video plays".to_owned()));
        assert_eq!(reason(&care, NOW).as_deref(), Some("a video plays"));
        care.set_paused(None);
        assert!(care.set_conditions(charging(true)) && !care.set_conditions(charging(true)));
        assert_eq!((reason(&care, NOW), care.counting()), (None, None));
    }

    #[test]
    fn rules_of_a_plan_end_with_its_assignment() {
        let [first, second] = [1, 2].map(|byte| AssignmentId::from_random_bytes([byte; 16]));
        let condition = DeviceCondition::Equals("true".into());
        let rules = [DeviceRule { attribute: "device.charging".into(), condition }];
        let mut care = Care::default();
        care.set_conditions(charging(false));
        care.keep_to(first, &rules);
        assert_eq!(reason(&care, NOW).as_deref(), Some("plan"));
        care.keep_to(second, &rules);
        assert!(!care.release(first) && reason(&care, NOW).is_some(), "they are the next assignment's");
        assert!(care.release(second) && reason(&care, NOW).is_none());
    }

    #[test]
    fn a_day_of_training_ends_and_a_new_one_begins_with_the_next_check_in() {
        let mut care = Care::new(DevicePolicy::default(), Some(DayTime::load(2, b"")), None, NOW);
        let counting = care.counting().expect("it is limited");
        let second = Duration::from_secs(1);
        assert_eq!(care.count(counting, second, NOW), (TimeToStore::default(), false));
        assert_eq!(care.spent_until(NOW), (None, false));
        let (to_store, has_changed) = care.count(counting, second, NOW);
        let stored = to_store.time.expect("the day is over");
        assert!(has_changed && to_store.battery_time.is_none());
        assert_eq!(reason(&care, NOW).as_deref(), Some("training_time"));
        assert_eq!(care.spent_until(NOW), (Some(TOMORROW), false));
        assert_eq!(reason(&care, TOMORROW).as_deref(), Some("training_time"));
        assert_eq!(care.spent_until(TOMORROW), (None, true));
        assert_eq!((reason(&care, TOMORROW), care.until_change(|| NOW)), (None, None));
        let next = Care::new(DevicePolicy::default(), Some(DayTime::load(2, &stored)), None, NOW);
        assert_eq!(reason(&next, NOW).as_deref(), Some("training_time"));
    }

    #[test]
    fn time_without_a_charger_is_counted_by_itself() {
        let mut care = Care::new(DevicePolicy::default(), None, Some(DayTime::load(1, b"")), NOW);
        care.set_conditions(charging(true));
        assert_eq!(care.counting(), None);
        care.set_conditions(DeviceConditions::default());
        let counting = care.counting().expect("nobody says that it charges");
        // The conditions at the beginning of the piece of training decide.
        care.set_conditions(charging(true));
        let (to_store, may_have_changed) = care.count(counting, Duration::from_secs(1), NOW);
        assert!(may_have_changed && to_store.battery_time.is_some() && to_store.time.is_none());
        assert_eq!(reason(&care, NOW), None);
        care.set_conditions(charging(false));
        assert_eq!(reason(&care, NOW).as_deref(), Some("battery_time"));
        assert_eq!(care.until_change(|| NOW), Some(Duration::from_millis(DAY_MILLISECONDS)));
        assert_eq!(reason(&care, TOMORROW), None);
        assert_eq!(care.save(NOW), TimeToStore::default());
    }
}
