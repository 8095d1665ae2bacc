use super::{seeded::SeededNoise, *};

const DRAWS: usize = 1_000_000;

/// Returns the exact probabilities of the discrete Gaussian at −reach..=reach.
fn probabilities(scale: f64, reach: i64) -> Vec<f64> {
    let weights: Vec<f64> =
        (-reach..=reach).map(|x| (-((x * x) as f64) / (2.0 * scale * scale)).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// Compares draws with exact probabilities: Pearson's statistic over cells of about equal probability, as the standard
/// normal deviate of Wilson and Hilferty 1931.
fn chi_square_deviate(draws: &[i64], scale: f64) -> f64 {
    let reach = (12.0 * scale).ceil() as i64 + 2;
    let mut counts = vec![0u64; 2 * reach as usize + 1];
    draws.iter().for_each(|draw| counts[(draw + reach) as usize] += 1);
    let per_cell = (1.0f64 / 200.0).max(25.0 / draws.len() as f64);
    let mut cells = vec![(0.0, 0u64)];
    for (probability, count) in probabilities(scale, reach).iter().zip(counts) {
        let cell = cells.last_mut().unwrap();
        *cell = (cell.0 + probability, cell.1 + count);
        if cell.0 >= per_cell {
            cells.push((0.0, 0));
        }
    }
    let rest = cells.pop().unwrap();
    let last = cells.last_mut().unwrap();
    *last = (last.0 + rest.0, last.1 + rest.1);
    let expected = |probability: f64| probability * draws.len() as f64;
    let statistic: f64 =
        cells.iter().map(|(p, count)| (*count as f64 - expected(*p)).powi(2) / expected(*p)).sum();
    let spread = 2.0 / (9.0 * (cells.len() as f64 - 1.0));
    ((statistic / (cells.len() as f64 - 1.0)).cbrt() - 1.0 + spread) / spread.sqrt()
}

/// Asserts the distribution and the moments of a million draws at six standard deviations: about one false alarm in a
/// billion runs.
fn expect_discrete_gaussian(draws: &[i64], scale: f64) {
    let deviate = chi_square_deviate(draws, scale);
    assert!(deviate < 6.0, "scale {scale}: chi-square deviates by {deviate}");
    let reach = (12.0 * scale).ceil() as i64 + 2;
    let count = draws.len() as f64;
    let moment = |power: i32| {
        let probabilities = probabilities(scale, reach);
        (-reach..=reach).zip(probabilities).map(|(x, p)| (x as f64).powi(power) * p).sum::<f64>()
    };
    for power in [1, 2, 4] {
        let mean = draws.iter().map(|draw| (*draw as f64).powi(power)).sum::<f64>() / count;
        let error = ((moment(2 * power) - moment(power).powi(2)) / count).sqrt();
        assert!((mean - moment(power)).abs() < 6.0 * error, "scale {scale}: moment {power} is {mean}");
    }
}

#[test]
fn a_million_draws_of_opendp_are_discrete_gaussian() {
    for scale in [0.6, 3.25, 1000.1] {
        let scale = NoiseScale::new(scale).unwrap();
        let noise = NoiseStock::begin(DRAWS, scale, 2).take().unwrap();
        expect_discrete_gaussian(&noise.to_vec(), scale.get());
    }
}

#[test]
fn a_million_draws_of_the_second_sampler_are_discrete_gaussian() {
    for scale in [0.6, 3.25, 1000.1] {
        let scale = NoiseScale::new(scale).unwrap();
        let mut draws = vec![0; DRAWS];
        SeededNoise::new([7; 32]).fill(&mut draws, scale);
        expect_discrete_gaussian(&draws, scale.get());
    }
}

#[test]
fn the_test_sees_a_scale_that_is_one_percent_off() {
    let mut draws = vec![0; DRAWS];
    SeededNoise::new([8; 32]).fill(&mut draws, NoiseScale::new(3.25).unwrap());
    assert!(chi_square_deviate(&draws, 3.25) < 6.0);
    assert!(chi_square_deviate(&draws, 3.25 * 1.01) > 6.0);
    // At a small scale, rounded continuous noise has another distribution.
    let mut draws = vec![0; DRAWS];
    SeededNoise::new([9; 32]).fill(&mut draws, NoiseScale::new(0.6).unwrap());
    draws.iter_mut().step_by(50).for_each(|draw| *draw += 1);
    assert!(chi_square_deviate(&draws, 0.6) > 6.0);
}

#[test]
fn every_place_gets_noise_of_its_own() {
    // 5,000 draws are 12.5 million pairs, each equal with probability 3e-16: about four false alarms in a billion runs.
    let scale = NoiseScale::new(1e15).unwrap();
    for (count, threads) in [(0, 1), (1, 4), (1023, 1), (1024, 2), (1025, 2), (5000, 3), (7, 100)] {
        let mut sums = vec![5; count];
        add_noise(&mut sums, scale, threads).unwrap();
        assert!(sums.iter().all(|sum| *sum != 5), "{count} {threads}");
        let mut sorted = sums.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), count);
    }
}

#[test]
fn no_two_draws_are_equal() {
    let scale = NoiseScale::new(1e6).unwrap();
    let [first, second] = [0; 2].map(|_| NoiseStock::begin(100, scale, 2).take().unwrap().to_vec());
    assert_ne!(first, second);
    // The chunks of two threads differ, too.
    assert_ne!(first[..50], first[50..]);
}

#[test]
fn a_seed_draws_the_same_again() {
    let scale = NoiseScale::new(123.4).unwrap();
    let draw = |seed| {
        let mut draws = [0; 64];
        SeededNoise::new([seed; 32]).fill(&mut draws, scale);
        draws
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn a_sum_without_room_is_refused_and_left_alone() {
    let scale = NoiseScale::new(1e6).unwrap();
    for extreme in [i64::MAX, i64::MIN, i64::MAX - 1_000_000] {
        let mut sums = [1, extreme];
        let error = add_noise(&mut sums, scale, 1).unwrap_err();
        assert!(matches!(error, NoiseError::NoRoom { index: 1, .. }), "{error}");
        assert_eq!(sums, [1, extreme]);
    }
    let mut sums = [0, i64::MAX - 65_000_000];
    add_noise(&mut sums, scale, 1).unwrap();
}

#[test]
fn noise_for_another_model_is_refused() {
    let noise = NoiseStock::begin(3, NoiseScale::new(1.0).unwrap(), 2).take().unwrap();
    let mut sums = [9; 4];
    assert_eq!(noise.add_to(&mut sums), Err(NoiseError::Length { sums: 4, noise: 3 }));
    assert_eq!(sums, [9; 4]);
}

#[test]
fn a_stock_that_is_dropped_ends_its_threads() {
    let stock = NoiseStock::begin(20_000_000, NoiseScale::new(1e3).unwrap(), 1);
    let cancelled = stock.is_cancelled();
    drop(stock);
    // The thread holds the second reference until it has ended.
    while std::sync::Arc::strong_count(&cancelled) > 1 {
        std::thread::yield_now();
    }
}
