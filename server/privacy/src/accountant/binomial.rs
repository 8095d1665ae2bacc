//! Tails of the binomial distribution, to a relative precision of about 1e-10.

/// The maximum number of terms of the continued fraction. It converges after about √`trials` terms.
const TERMS_MAX: u32 = 20_000;

/// Returns P[X ≥ `least`] for X ~ Binomial(`trials`, `chance`), by the incomplete beta function.
///
/// NIST Digital Library of Mathematical Functions, 8.17.5: it is I_p(k, n − k + 1).
pub(crate) fn at_least(least: u64, trials: u64, chance: f64) -> f64 {
    if least == 0 || chance >= 1.0 {
        return f64::from(u8::from(least <= trials));
    }
    if least > trials || chance <= 0.0 {
        return 0.0;
    }
    incomplete_beta(least as f64, (trials - least + 1) as f64, chance)
}

/// Returns P[X = `count`] for X ~ Binomial(`trials`, `chance`), with `chance` in (0, 1).
pub(crate) fn exactly(count: u64, trials: u64, chance: f64) -> f64 {
    let [n, k] = [trials, count].map(|value| value as f64);
    let ln_ways = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    (ln_ways + k * chance.ln() + (n - k) * (-chance).ln_1p()).exp()
}

/// Returns the regularised incomplete beta function I_x(a, b) for a, b > 0 and 0 < x < 1.
///
/// Uses the continued fraction (8.17.22) on the side of the mean where it converges fast, and I_x(a, b) = 1 −
/// I_(1−x)(b, a) on the other.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    let ln_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
    if x < (a + 1.0) / (a + b + 2.0) {
        (ln_front.exp() * beta_fraction(a, b, x) / a).min(1.0)
    } else {
        (1.0 - ln_front.exp() * beta_fraction(b, a, 1.0 - x) / b).clamp(0.0, 1.0)
    }
}

/// Evaluates the continued fraction 1/(1 + d_1/(1 + d_2/(1 + …))) by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut denominator = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut numerator = 1.0;
    let mut fraction = denominator;
    for term in 1..TERMS_MAX {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            denominator = 1.0 / away_from_zero(1.0 + coefficient * denominator);
            numerator = away_from_zero(1.0 + coefficient / numerator);
            change = denominator * numerator;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_sums_of_probabilities() {
        for (trials, chance) in [(1u64, 0.3), (20, 0.5), (57, 0.01), (400, 0.93)] {
            let mut ways = 1.0f64;
            let mut probabilities = Vec::new();
            for k in 0..=trials {
                let rest = (trials - k) as f64;
                probabilities.push(ways * f64::powf(chance, k as f64) * f64::powf(1.0 - chance, rest));
                ways *= rest / (k + 1) as f64;
            }
            for least in 0..=trials {
                let sum: f64 = probabilities[least as usize..].iter().rev().sum();
                let tail = at_least(least, trials, chance);
                assert!(
                    (tail - sum).abs() < 1e-11 * sum + 1e-14,
                    "{least} of {trials} at {chance}: {tail} {sum}"
                );
            }
            assert_eq!(at_least(trials + 1, trials, chance), 0.0);
        }
    }

    #[test]
    fn many_trials_have_the_tail_of_the_normal_distribution() {
        let tail = at_least(50_000, 100_000, 0.5);
        assert!((tail - 0.501_261_569).abs() < 1e-8, "{tail}");
        assert_eq!([at_least(3, 5, 0.0), at_least(3, 5, 1.0), at_least(0, 5, 0.0)], [0.0, 1.0, 1.0]);
    }
}
