//! A million draws, compared with exact probabilities and moments at six standard deviations. With varying seeds, this
//! would give one false alarm in about a billion runs; the seed is fixed.

use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

use super::{DiscreteGaussian, bernoulli::*};

const DRAWS: usize = 1_000_000;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn draws(scale: u64, seed: u64) -> Vec<i64> {
    let noise = DiscreteGaussian::new(scale).unwrap();
    let mut rng = rng(seed);
    (0..DRAWS).map(|_| noise.sample(&mut rng)).collect()
}

/// e^(−x²/(2·scale²)), the unnormalised probability of x.
fn weight(x: i64, scale: u64) -> f64 {
    (-0.5 * (x as f64 / scale as f64).powi(2)).exp()
}

/// Returns the end of the tested range. Values beyond it have a probability below 1e-32.
fn reach(scale: u64) -> i64 {
    12 * scale as i64 + 2
}

/// Divides the range into cells with at least a 200th of all draws each. Returns the last value and the exact
/// probability of each cell.
fn cells(scale: u64) -> Vec<(i64, f64)> {
    let values = -reach(scale)..=reach(scale);
    let total: f64 = values.clone().map(|x| weight(x, scale)).sum();
    let mut cells = Vec::new();
    let mut filled = 0.0;
    for x in values {
        filled += weight(x, scale) / total;
        if filled >= 1.0 / 200.0 {
            cells.push((x, filled));
            filled = 0.0;
        }
    }
    let last = cells.last_mut().unwrap();
    *last = (i64::MAX, last.1 + filled);
    cells
}

/// Pearson's statistic, as the standard normal deviate of Wilson and Hilferty 1931.
fn chi_square_deviate(draws: &[i64], scale: u64) -> f64 {
    let cells = cells(scale);
    let mut counts = vec![0u64; cells.len()];
    for draw in draws {
        counts[cells.partition_point(|(last, _)| last < draw)] += 1;
    }
    let expected = |probability: f64| probability * draws.len() as f64;
    let terms = cells.iter().zip(counts);
    let statistic: f64 =
        terms.map(|((_, p), count)| (count as f64 - expected(*p)).powi(2) / expected(*p)).sum();
    let freedom = cells.len() as f64 - 1.0;
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - 1.0 + spread) / spread.sqrt()
}

/// Compares mean, variance and fourth moment with the exact ones, in units of the scale.
fn expect_moments(draws: &[i64], scale: u64) {
    let unit = scale as f64;
    let (mut total, mut moments) = (0.0, [0.0f64; 9]);
    for x in -reach(scale)..=reach(scale) {
        let weight = weight(x, scale);
        total += weight;
        moments
            .iter_mut()
            .enumerate()
            .for_each(|(power, sum)| *sum += weight * (x as f64 / unit).powi(power as i32));
    }
    let moment = |power: usize| moments[power] / total;
    for power in [1, 2, 4] {
        let found = draws.iter().map(|draw| (*draw as f64 / unit).powi(power as i32)).sum::<f64>();
        let found = found / draws.len() as f64;
        let error = ((moment(2 * power) - moment(power).powi(2)) / draws.len() as f64).sqrt();
        assert!((found - moment(power)).abs() < 6.0 * error, "scale {scale}: moment {power} is {found}");
    }
}

#[test]
fn a_million_draws_are_discrete_gaussian() {
    for (scale, seed) in [(1, 11), (2, 12), (7, 13), (1000, 14), (1 << 20, 15)] {
        let draws = draws(scale, seed);
        let deviate = chi_square_deviate(&draws, scale);
        assert!(deviate < 6.0, "scale {scale}: chi-square deviates by {deviate}");
        expect_moments(&draws, scale);
    }
}

#[test]
fn at_the_largest_scale_draws_have_its_moments() {
    // A million draws cannot be distinguished from a continuous normal distribution, whose moments are 1 and 3.
    let scale = DiscreteGaussian::SCALE_MAX;
    let draws = draws(scale, 16);
    let moment = |power| {
        draws.iter().map(|draw| (*draw as f64 / scale as f64).powi(power)).sum::<f64>() / DRAWS as f64
    };
    assert!(moment(1).abs() < 6e-3, "{}", moment(1));
    assert!((moment(2) - 1.0).abs() < 6.0 * (2e-6f64).sqrt(), "{}", moment(2));
    assert!((moment(4) - 3.0).abs() < 6.0 * (96e-6f64).sqrt(), "{}", moment(4));
    // The values are not multiples of a coarser grid: the lowest bits are evenly distributed.
    for bit in 0..8 {
        let ones = draws.iter().filter(|draw| *draw >> bit & 1 == 1).count();
        assert!(ones.abs_diff(DRAWS / 2) < 3000, "bit {bit}: {ones}");
    }
}

#[test]
fn the_test_sees_what_is_a_little_wrong() {
    let right = draws(7, 17);
    assert!(chi_square_deviate(&right, 7) < 6.0);
    let moved: Vec<i64> =
        right.iter().enumerate().map(|(index, draw)| draw + i64::from(index % 10 == 0)).collect();
    assert!(chi_square_deviate(&moved, 7) > 6.0, "every tenth draw is one more");
    let doubled: Vec<i64> =
        right.iter().enumerate().map(|(index, draw)| if index % 100 == 0 { 0 } else { *draw }).collect();
    assert!(chi_square_deviate(&doubled, 7) > 6.0, "every hundredth draw is 0");
    assert!(chi_square_deviate(&draws(1000, 18), 1010) > 6.0, "one percent of scale");
}

#[test]
fn no_draw_comes_again() {
    // 2000 draws with the largest scale are all different with a probability of 0.998.
    let noise = DiscreteGaussian::new(DiscreteGaussian::SCALE_MAX).unwrap();
    let mut rng = rng(19);
    let mut draws: Vec<i64> = (0..2000).map(|_| noise.sample(&mut rng)).collect();
    draws.sort_unstable();
    draws.dedup();
    assert_eq!(draws.len(), 2000);
}

#[test]
fn a_scale_out_of_its_range_is_refused() {
    for scale in [0, DiscreteGaussian::SCALE_MAX + 1, u64::MAX] {
        let error = DiscreteGaussian::new(scale).unwrap_err();
        assert!(error.to_string().contains("from 1 to 268435456"), "{error}");
    }
    for scale in [1, DiscreteGaussian::SCALE_MAX] {
        assert_eq!(DiscreteGaussian::new(scale).map(|noise| noise.scale()), Ok(scale));
    }
}

#[test]
fn coins_have_their_probabilities() {
    let mut rng = rng(20);
    for (numerator, denominator) in [(0u128, 5u64), (1, 3), (1, 1), (7, 2), (1 << 57, 1 << 57), (3, 1 << 40)]
    {
        let wanted = (-(numerator as f64) / denominator as f64).exp();
        let count = 200_000;
        let heads = (0..count).filter(|_| exponential_coin(numerator, denominator, &mut rng)).count();
        let error = (wanted * (1.0 - wanted) / f64::from(count)).sqrt();
        assert!(
            (heads as f64 / f64::from(count) - wanted).abs() <= 6.0 * error + 1e-9,
            "{numerator}/{denominator}: {heads}"
        );
    }
    assert!(!exponential_coin(u128::MAX, 1, &mut rng), "a huge exponent ends at once");
}

#[test]
fn integers_below_a_bound_are_uniform() {
    let mut rng = rng(21);
    // Bounds just above a half and two thirds of the range exercise the rejection.
    for bound in
        [1u64, 3, 10, (1 << 31) + 1, u64::from(u32::MAX) / 3 * 2, 1 << 57, (1 << 63) + 1, u64::MAX / 3 * 2]
    {
        let mut counts = [0u32; 3];
        for _ in 0..90_000 {
            let drawn = below(bound, &mut rng);
            assert!(drawn < bound);
            counts[(u128::from(drawn) * 3 / u128::from(bound)) as usize] += 1;
        }
        for (third, count) in counts.into_iter().enumerate() {
            let edge = |third: usize| (third as u128 * u128::from(bound)).div_ceil(3);
            let wanted = 90_000.0 * (edge(third + 1) - edge(third)) as f64 / bound as f64;
            assert!((f64::from(count) - wanted).abs() < 900.0, "{bound}: {counts:?}");
        }
    }
    assert_ne!(rng.next_u64(), rng.next_u64());
}
