use folkmoot_privacy::accountant::{ClippingRule, share_of_unclipped};

/// Returns the clipping norm moved towards the quantile, limited to 2^-20 to `norm_max`. Noise must not drive the norm
/// off the grid.
///
/// `noised_count` is the noised sum over updates of (1 if the update was shorter than the norm, otherwise 0) −
/// 1/2. `report_goal` is the fixed denominator.
pub fn next_clipping_norm(
    norm: f64,
    (quantile, learning_rate): (f64, f64),
    noised_count: f64,
    report_goal: u64,
    norm_max: f64,
) -> f64 {
    let rule = ClippingRule { quantile, learning_rate };
    let next = rule.next(norm, share_of_unclipped(noised_count, report_goal));
    next.clamp((-20f64).exp2().min(norm_max), norm_max)
}
