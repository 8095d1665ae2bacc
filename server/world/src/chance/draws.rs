use rand::Rng;

/// Draws a uniform number with 53 bits, above 0 and at most 1.
pub fn uniform(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Draws from the normal distribution with mean 0 and standard deviation 1 (Box and Muller 1958).
pub fn standard_normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * uniform(rng).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(rng)).cos()
}

/// Draws a uniform integer below `bound` without bias; returns 0 if `bound` is 0.
pub fn below(rng: &mut impl Rng, bound: usize) -> usize {
    let bound = (bound as u64).max(1);
    let accepted = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = rng.next_u64();
        if drawn < accepted {
            return (drawn % bound) as usize;
        }
    }
}

/// Shuffles in place. All orders have the same probability (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], rng: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(rng, last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Stream, samples::has_mean};

    #[test]
    fn normal_draws_have_the_moments_0_1_0_3() {
        let mut rng = Stream::new(1, &[]);
        let draws: Vec<f64> = (0..50_000).map(|_| standard_normal(&mut rng)).collect();
        for (power, moment) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
            let powers: Vec<f64> = draws.iter().map(|draw| draw.powi(power)).collect();
            assert!(has_mean(&powers, moment), "moment {power}");
        }
    }

    #[test]
    fn every_permutation_of_4_is_about_as_frequent() {
        let mut rng = Stream::new(2, &[]);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, &mut rng);
            *counts.entry(items).or_insert(0.0) += 1.0;
        }
        assert_eq!(counts.len(), 24);
        // A chi-squared variable with 23 degrees of freedom is above 66 once in 200 000 draws.
        let chi_squared: f64 = counts.values().map(|count: &f64| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_squared < 66.0, "{chi_squared}");
    }

    #[test]
    fn a_bound_of_nothing_is_no_accident() {
        let mut rng = Stream::new(4, &[]);
        assert_eq!((below(&mut rng, 0), below(&mut rng, 1)), (0, 0));
    }
}
