//! Checks the ranges of the policies' settings.

use folkmoot_protocol::Fault;

use super::COHORT_MAX;

const DEADLINE_SECONDS_MAX: u64 = 30 * 24 * 3600;

/// Collects the faults of the fields of `scheduling`.
pub(super) struct Check<'a>(pub &'a mut Vec<Fault>);

impl Check<'_> {
    pub fn that(&mut self, is_right: bool, field: &str, message: impl Into<String>, remedy: &str) {
        if !is_right {
            self.0.push(Fault::new(&format!("scheduling.{field}"), message, remedy));
        }
    }

    pub fn seconds(&mut self, field: &str, seconds: u64) {
        let is_right = (1..=DEADLINE_SECONDS_MAX).contains(&seconds);
        self.that(is_right, field, format!("it is {seconds}"), "it must be 1 second to 30 days");
    }

    pub fn clients(&mut self, field: &str, count: u64) {
        let is_right = (1..=COHORT_MAX).contains(&count);
        self.that(is_right, field, format!("it is {count}"), "it must be 1 to 100000");
    }

    pub fn not_negative(&mut self, field: &str, value: f64) {
        self.that(value.is_finite() && value >= 0.0, field, format!("it is {value}"), "it must be 0 or more");
    }

    pub fn positive(&mut self, field: &str, value: f64) {
        self.that(value.is_finite() && value > 0.0, field, format!("it is {value}"), "it must be above 0");
    }
}
