//! Changes to the updates before a rule combines them.

mod bucketing;
mod mixing;

pub use bucketing::Bucketing;
use folkmoot_protocol::Fault;
pub use mixing::{MIXING_UPDATES_MAX, Mixing};

use crate::AggregatorChoice;

/// The preparation of the updates before a robust rule combines them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Preparation {
    /// No preparation: the rule gets the updates as they are.
    #[default]
    None,
    /// Mixes each update with its nearest neighbours.
    Mixing(Mixing),
    /// Averages random buckets of updates.
    Bucketing(Bucketing),
}

impl Preparation {
    /// Returns the number of updates that the rule gets, out of `updates`.
    pub fn prepared(&self, updates: u64) -> u64 {
        match self {
            Preparation::Bucketing(bucketing) => bucketing.buckets_of(updates),
            Preparation::None | Preparation::Mixing(_) => updates,
        }
    }

    /// Returns the least number of updates that contribute to the result of the rule, out of `updates` or more.
    pub fn combined(&self, rule: &AggregatorChoice, updates: u64) -> u64 {
        let combined = self.rule(rule).combined(self.prepared(updates));
        match self {
            Preparation::None | Preparation::Mixing(_) => combined,
            Preparation::Bucketing(_) if !rule.selects() => updates,
            // A larger cohort may drop buckets that this one keeps, and its last bucket may have a single update.
            Preparation::Bucketing(_) => combined,
        }
    }

    /// Lists the faults of the preparation and of the rule, for cohorts of `cohort_min` to `cohort_max` updates.
    pub fn validate(
        &self,
        rule: &AggregatorChoice,
        cohort_min: u64,
        cohort_max: u64,
        faults: &mut Vec<Fault>,
    ) {
        match self {
            Preparation::None => rule.validate(cohort_min, cohort_max, faults),
            Preparation::Mixing(mixing) => {
                rule.validate(cohort_min, cohort_max, faults);
                mixing.validate(cohort_max, faults);
            }
            Preparation::Bucketing(bucketing) => bucketing.validate(rule, cohort_min, cohort_max, faults),
        }
    }

    /// Returns the number of times that the preparation reads all updates.
    pub(super) fn passes(&self) -> u32 {
        u32::from(matches!(self, Preparation::Mixing(_)))
    }

    /// Returns the rule with its settings for prepared updates.
    pub fn rule(&self, rule: &AggregatorChoice) -> AggregatorChoice {
        match self {
            Preparation::Bucketing(bucketing) => bucketing.rule(rule),
            Preparation::None | Preparation::Mixing(_) => rule.clone(),
        }
    }
}
