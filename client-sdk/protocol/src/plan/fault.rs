//! Invalid numbers in a plan.

use crate::{
    NamePattern,
    limits::{FROZEN_PATTERNS_MAX, TENSOR_NAME_BYTES_MAX},
};

/// An invalid number in a plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field} is {value}; it must be {allowed}")]
pub struct PlanError {
    /// The plan's field, as a path.
    pub field: &'static str,
    /// The value.
    pub value: f64,
    /// The allowed values.
    pub allowed: &'static str,
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(super) struct Faults(pub Vec<PlanError>);

impl Faults {
    pub(super) fn add(&mut self, field: &'static str, value: f64, allowed: &'static str) {
        self.0.push(PlanError { field, value, allowed });
    }

    /// Adds a fault for each contradiction in the plan. A pair is a possible contradiction: true if the plan has it,
    /// and a text about the allowed values.
    pub(super) fn add_contradictions(
        &mut self,
        field: &'static str,
        value: f64,
        contradictions: impl IntoIterator<Item = (bool, &'static str)>,
    ) {
        for (_, allowed) in contradictions.into_iter().filter(|(contradicts, _)| *contradicts) {
            self.add(field, value, allowed);
        }
    }

    pub(super) fn expect_at_least_one(&mut self, field: &'static str, value: u64) {
        if value == 0 {
            self.add(field, 0.0, "1 or more");
        }
    }

    pub(super) fn expect_positive(&mut self, field: &'static str, value: f32) {
        if !(value.is_finite() && value > 0.0) {
            self.add(field, value.into(), "above 0");
        }
    }

    pub(super) fn expect_not_negative(&mut self, field: &'static str, value: f32) {
        if !(value.is_finite() && value >= 0.0) {
            self.add(field, value.into(), "0 or more");
        }
    }

    /// Checks a list of patterns of tensor names.
    pub(super) fn expect_patterns(&mut self, field: &'static str, patterns: &[NamePattern]) {
        if patterns.len() > FROZEN_PATTERNS_MAX {
            self.add(field, patterns.len() as f64, "a list of at most 64 patterns");
        }
        let lengths = patterns.iter().map(|pattern| pattern.as_str().len());
        for bytes in lengths.filter(|bytes| !(1..=TENSOR_NAME_BYTES_MAX).contains(bytes)) {
            self.add(field, bytes as f64, "patterns of 1 to 256 bytes each");
        }
    }

    /// Checks a fraction.
    pub(super) fn expect_share(&mut self, field: &'static str, value: f32) {
        if !(0.0..1.0).contains(&value) {
            self.add(field, value.into(), "0 or more and below 1");
        }
    }
}
