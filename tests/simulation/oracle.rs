//! Computes the next weights directly from the definition, independently of the coordinator: with exact 128-bit
//! integers, one update after the other, on one thread, without a log.

use folkmoot_coordinator::scheduling::Correction;
use folkmoot_protocol::ValueGrid;

/// A client's record of an update that it has sent.
#[derive(Clone, Debug)]
pub struct RememberedUpdate {
    /// The update's weight.
    pub weight: u64,
    /// The update's values.
    pub values: Vec<f32>,
    /// The number of examples that the update claims.
    pub example_count: u64,
    /// True if the coordinator must never accept the update.
    pub is_garbage: bool,
    /// True if the coordinator must not see the update's values, weight and metrics.
    pub is_masked: bool,
}

/// Computes Σ wᵢ·Δᵢ / Σ wᵢ. Every wᵢ·Δᵢ is first rounded to the grid.
pub fn exact_means(updates: &[&RememberedUpdate], grid: &ValueGrid, parameters: usize) -> Vec<f64> {
    let weights: u64 = updates.iter().map(|update| update.weight).sum();
    // Both factors and their product are exact: the weight has fewer than 53 bits, and the other factor is a power of
    // 2.
    let divisor = weights as f64 * 2f64.powi(grid.fraction_bits as i32);
    let mean = |index: usize| {
        let on_grid =
            |update: &&RememberedUpdate| on_grid(update.values[index], update.weight, grid.fraction_bits);
        let sum: i128 = updates.iter().map(on_grid).sum();
        sum as f64 / divisor
    };
    (0..parameters).map(mean).collect()
}

/// Computes the bounded mean Σ wᵢ·sᵢ·Δᵢ / Σ wᵢ, in which no update has much more influence than the others. The weights
/// wᵢ are capped at √influence times their lower median. The factor sᵢ scales an update down so that its L2 norm and
/// its largest element are capped in the same way.
pub fn bounded_means(
    updates: &[&RememberedUpdate],
    influence: f64,
    grid: &ValueGrid,
    parameters: usize,
) -> Vec<f64> {
    let unit = 2f64.powi(grid.fraction_bits as i32);
    let norm = |update: &&RememberedUpdate| {
        let steps = update.values.iter().map(|value| on_grid(*value, 1, grid.fraction_bits));
        (steps.map(|steps| steps * steps).sum::<i128>() as f64).sqrt() / unit
    };
    let peak = |update: &&RememberedUpdate| {
        update.values.iter().fold(0.0f64, |peak, value| peak.max(f64::from(value.abs())))
    };
    let weights = cut(updates.iter().map(|update| update.weight as f64).collect(), influence);
    let norms: Vec<f64> = updates.iter().map(norm).collect();
    let peaks: Vec<f64> = updates.iter().map(peak).collect();
    let kept = |sizes: &[f64]| {
        let share = |(size, kept): (&f64, f64)| if *size <= kept { 1.0 } else { kept / size };
        sizes.iter().zip(cut(sizes.to_vec(), influence)).map(share).collect::<Vec<f64>>()
    };
    let (by_norm, by_peak) = (kept(&norms), kept(&peaks));
    let factors: Vec<f64> =
        weights.iter().zip(by_norm.iter().zip(&by_peak)).map(|(weight, (a, b))| weight * a.min(*b)).collect();
    let divisor = weights.iter().sum::<f64>() * unit;
    let mean = |index: usize| {
        let on_grid = |(update, factor): (&&RememberedUpdate, &f64)| {
            (f64::from(update.values[index]) * (factor * unit)).round_ties_even() as i128
        };
        updates.iter().zip(&factors).map(on_grid).sum::<i128>() as f64 / divisor
    };
    (0..parameters).map(mean).collect()
}

/// Caps each of `sizes` at √influence times their lower median.
fn cut(sizes: Vec<f64>, influence: f64) -> Vec<f64> {
    let mut sorted = sizes.clone();
    sorted.sort_by(f64::total_cmp);
    let most = influence.sqrt() * sorted[(sorted.len() - 1) / 2];
    sizes.into_iter().map(|size| size.min(most)).collect()
}

/// An accepted update of a flow, with the data for its staleness correction.
pub struct StaleUpdate {
    /// The weights from which the update's training started.
    pub base: Vec<f32>,
    /// True if `base` is not the newest version.
    pub is_stale: bool,
    /// The factor by which the update is multiplied because of its staleness.
    pub attenuation: f64,
    /// The update as the client sent it.
    pub sent: RememberedUpdate,
}

/// Computes Σ aᵢ·wᵢ·Δ'ᵢ / Σ wᵢ for each parameter, in the order of the updates. aᵢ is the attenuation, and Δ'ᵢ is Δᵢ
/// after the correction for staleness.
pub fn stale_means(updates: &[StaleUpdate], newest: &[f32], correction: Correction) -> Vec<f64> {
    let divisor: f64 = updates.iter().map(|update| update.sent.weight as f64).sum();
    let mean = |(index, newest): (usize, &f32)| {
        let term = |update: &StaleUpdate| {
            let (delta, start) = (update.sent.values[index], f64::from(update.base[index]));
            let moved = f64::from(*newest) - start;
            let corrected = match correction {
                Correction::ModelMixing if update.is_stale => {
                    (f64::from(delta) + (start - f64::from(*newest))) as f32
                }
                Correction::DelayCompensation { lambda } if update.is_stale => {
                    (f64::from(delta) - lambda * f64::from(delta) * f64::from(delta) * moved) as f32
                }
                _ => delta,
            };
            (update.sent.weight as f64 * update.attenuation) * f64::from(corrected)
        };
        updates.iter().map(term).fold(0.0, |sum, term| sum + term) / divisor
    };
    newest.iter().enumerate().map(mean).collect()
}

/// Computes w + η·m, with the weights w, the means m and the rate η.
pub fn averaged(weights: &[f32], means: &[f64], rate: f64) -> Vec<f32> {
    weights.iter().zip(means).map(|(weight, mean)| (f64::from(*weight) + rate * mean) as f32).collect()
}

/// Computes v ← β·v + m and w ← w + η·v. Returns the weights w and the velocities v.
pub fn with_momentum(
    weights: &[f32],
    means: &[f64],
    velocities: &[f32],
    rate: f64,
    momentum: f64,
) -> (Vec<f32>, Vec<f32>) {
    let velocities: Vec<f64> =
        velocities.iter().zip(means).map(|(velocity, mean)| momentum * f64::from(*velocity) + mean).collect();
    (averaged(weights, &velocities, rate), velocities.into_iter().map(|velocity| velocity as f32).collect())
}

/// Returns the integer nearest to `value · weight · 2^fraction_bits`. Ties are rounded to even.
fn on_grid(value: f32, weight: u64, fraction_bits: u32) -> i128 {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32;
    let fraction = i128::from(bits & 0x007f_ffff);
    // The absolute value of `value` is significand · 2^power.
    let (significand, power) =
        if exponent == 0 { (fraction, -149) } else { (fraction | 1 << 23, exponent - 150) };
    let product = significand * i128::from(weight);
    let shift = power + fraction_bits as i32;
    let magnitude = if shift >= 0 { product << shift } else { divided_by_power(product, (-shift) as u32) };
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// Divides by 2^power and rounds to the nearest integer. Ties are rounded to even.
fn divided_by_power(product: i128, power: u32) -> i128 {
    if power > 100 {
        return 0;
    }
    let (whole, rest, half) = (product >> power, product & ((1 << power) - 1), 1i128 << (power - 1));
    match rest.cmp(&half) {
        std::cmp::Ordering::Less => whole,
        std::cmp::Ordering::Equal => whole + (whole & 1),
        std::cmp::Ordering::Greater => whole + 1,
    }
}

#[test]
fn the_grid_rounds_to_the_nearest_and_ties_to_even() {
    for (value, expected) in
        [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (0.75, 1), (3.0, 3), (-0.0, 0)]
    {
        assert_eq!(on_grid(value, 1, 0), expected, "{value}");
        assert_eq!(on_grid(value / 16.0, 2, 3), expected, "{value}");
    }
    assert_eq!(on_grid(f32::from_bits(1), 10_000, 28), 0);
}

#[test]
fn two_updates_have_their_weighted_mean() {
    let update = |weight, value| RememberedUpdate {
        weight,
        values: vec![value],
        example_count: 1,
        is_garbage: false,
        is_masked: false,
    };
    let (one, other) = (update(1, 1.0), update(3, -1.0));
    let grid = ValueGrid::default();
    assert_eq!(averaged(&[2.0], &exact_means(&[&one, &other], &grid, 1), 1.0), [1.5]);
    assert_eq!(averaged(&[2.0], &exact_means(&[&one, &other], &grid, 1), 0.5), [1.75]);
}
