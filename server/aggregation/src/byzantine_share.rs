//! Converts shares of a cohort into counts: hostile updates, and trimmed values.

use folkmoot_protocol::{
    Fault,
    saturating::{to_length, to_whole},
};

/// The rounding tolerance when a share becomes a count. Without it, 0.29 · 100.0 would be floored to 28.
pub(super) const ROUNDING: f64 = 1e-9;

/// Returns f = ⌊share·n⌋, but always less than half of the updates.
pub(super) fn count_of(share: f64, updates: usize) -> usize {
    let count = to_whole((share * updates as f64 + ROUNDING).floor());
    to_length(count).min(updates.saturating_sub(1) / 2)
}

/// Records a fault if the share is outside [0, 0.5). Returns whether it is inside.
pub(super) fn expect_share(field: &str, share: f64, remedy: &str, faults: &mut Vec<Fault>) -> bool {
    let is_share = (0.0..0.5).contains(&share);
    if !is_share {
        faults.push(Fault::new(field, format!("it is {share}"), remedy));
    }
    is_share
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
