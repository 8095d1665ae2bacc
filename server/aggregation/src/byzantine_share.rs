//! Converts shares of a cohort into counts: hostile updates, and trimmed values. Checks shares against cohorts.

use folkmoot_protocol::{
    Fault,
    saturating::{to_length, to_whole},
};

/// The rounding tolerance when a share becomes a count. Without it, 0.29 · 100.0 would be floored to 28.
const ROUNDING: f64 = 1e-9;

/// Returns f = ⌊share·n⌋, but always less than half of the updates.
pub(super) fn count_of(share: f64, updates: usize) -> usize {
    let count = to_whole((share * updates as f64 + ROUNDING).floor());
    to_length(count).min(updates.saturating_sub(1) / 2)
}

/// Records a fault if the share is outside [0, 0.5). Returns whether it is inside.
pub(super) fn expect_share(field: &str, share: f64, remedy: &str, faults: &mut Vec<Fault>) -> bool {
    expect_share_below(0.5, field, share, remedy, faults)
}

fn expect_share_below(limit: f64, field: &str, share: f64, remedy: &str, faults: &mut Vec<Fault>) -> bool {
    let is_share = (0.0..limit).contains(&share);
    if !is_share {
        faults.push(Fault::new(field, format!("it is {share}"), remedy));
    }
    is_share
}

/// The cohorts for which a rule that compares all pairs of updates is defined.
pub(super) struct Tolerance {
    /// The rule's name in messages.
    pub rule: &'static str,
    /// The factor of f in the smallest cohort: the rule needs `per_hostile`·f + 3 updates.
    pub per_hostile: u32,
    /// The largest cohort.
    pub updates_max: u64,
    /// The advice for larger cohorts.
    pub others: &'static str,
}

impl Tolerance {
    /// Records faults for a share out of range, for cohort sizes below `per_hostile`·f + 3, and for cohorts that are too
    /// large.
    ///
    /// Checks every possible cohort size, because f is rounded: for Krum, a share of 0.4 is valid for 9 updates but not for
    /// 10.
    pub fn expect_cohort(&self, share: f64, cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        let Tolerance { rule, per_hostile, updates_max, others } = *self;
        let (field, limit) = ("aggregator.byzantine_share", 1.0 / f64::from(per_hostile));
        let remedy = format!("it must be 0 or above, and below {limit}");
        if !expect_share_below(limit, field, share, &remedy, faults) {
            return;
        }
        if cohort_max > updates_max {
            let message = format!("a cohort of {cohort_max} is too large to compare all pairs of updates");
            let remedy = format!("limit the cohort to {updates_max}, or choose {others}");
            faults.push(Fault::new("scheduling.report_goal", message, remedy));
        }
        let byzantine = |size: u64| count_of(share, to_length(size)) as u64;
        let fewest = |size: u64| u64::from(per_hostile) * byzantine(size) + 3;
        let mut sizes = cohort_min..=cohort_max.min(updates_max).max(cohort_min);
        if let Some(size) = sizes.find(|size| *size < fewest(*size)) {
            let message = format!(
                "it allows {} hostile updates among {size}, but {rule} then needs at least {} updates",
                byzantine(size),
                fewest(size)
            );
            let cohort = (3.0 / (1.0 - f64::from(per_hostile) * share) - ROUNDING).ceil();
            let remedy = format!("lower byzantine_share, or require at least {cohort} updates for a commit");
            faults.push(Fault::new(field, message, remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_down() {
        assert_eq!([0.0, 0.1, 0.29, 0.299, 0.49].map(|share| count_of(share, 100)), [0, 10, 29, 29, 49]);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|updates| count_of(0.4, updates)), [0, 0, 0, 1, 1, 2]);
    }

    #[test]
    fn half_is_never_reached() {
        let just_below_half = 0.5f64.next_down();
        assert_eq!([0, 1, 2, 4, 1000].map(|updates| count_of(just_below_half, updates)), [0, 0, 0, 1, 499]);
    }
}
