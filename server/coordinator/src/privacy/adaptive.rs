/// Moves the clipping norm towards the quantile (Andrew et al. 2021, section 2.3, the geometric update):
/// C · e^(−rate · (b − quantile)), where b is the noised share of updates that were shorter than C.
///
/// `noised_count` is the sum over updates of (1 if it was shorter, otherwise 0) − 1/2, with its noise; `report_goal` is the
/// fixed denominator. The norm stays within 2^-20 and `norm_max`: noise must not drive it out of the grid.
pub fn next_clipping_norm(
    norm: f64,
    (quantile, rate): (f64, f64),
    noised_count: f64,
    report_goal: u64,
    norm_max: f64,
) -> f64 {
    let share = noised_count / report_goal.max(1) as f64 + 0.5;
    let norm_min = (-20f64).exp2().min(norm_max);
    (norm * libm::exp(-rate * (share - quantile))).clamp(norm_min, norm_max)
}
