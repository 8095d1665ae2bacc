use super::{Question, largest_refuted};
use crate::accountant::binomial;
use crate::budget::{Delta, Epsilon};

/// The largest epsilon that the search tries.
const EPSILON_MAX: f64 = 32.0;

/// Returns a lower bound on epsilon for any mechanism.
///
/// Steinke, Nasr and Jagielski 2023, theorem 5.2: if the run is (ε, δ)-private for the coin of each of m canaries, then
/// among r guesses at least v are right with a probability of at most f(v) + 2mδ·max over i in 1..v of (f(v − i) −
/// f(v))/i, where f(v) = P[Binomial(r, e^ε/(1 + e^ε)) ≥ v]. An ε is refuted if that is at most `miss`. Since an (ε,
/// δ)-private run is also (ε', δ)-private for every ε' above ε, every smaller ε is then refuted, too.
pub(super) fn epsilon_lower(question: Question, delta: Delta) -> Epsilon {
    let bound =
        largest_refuted(EPSILON_MAX, |epsilon| probability(question, epsilon, delta.get()) <= question.miss);
    Epsilon::new(bound).expect("between 0 and the largest that is looked for")
}

/// Returns an upper bound on the probability of at least `question.right` right guesses.
fn probability(question: Question, epsilon: f64, delta: f64) -> f64 {
    let Question { canaries, guesses, right, .. } = question;
    let chance = 1.0 / (1.0 + (-epsilon).exp());
    let tail = binomial::at_least(right, guesses, chance);
    if tail >= 1.0 || right == 0 {
        return 1.0;
    }
    // P[X = right − 1], P[X = right − 2], ... are computed from the ratios of neighbours. `largest_mean` is the largest
    // mean of the first i of them.
    let mut below = binomial::exactly(right - 1, guesses, chance);
    let (mut sum, mut largest_mean) = (0.0, 0.0f64);
    for steps in 1..=right {
        sum += below;
        let mean = sum / steps as f64;
        if mean < largest_mean {
            // The probabilities fall from here on, and so do their means.
            break;
        }
        largest_mean = mean;
        let at = right - steps;
        below *= at as f64 / (guesses - at + 1) as f64 * (1.0 - chance) / chance;
    }
    (tail + 2.0 * canaries as f64 * delta * largest_mean).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(canaries: u64, guesses: u64, right: u64, delta: f64) -> f64 {
        let question = Question { canaries, guesses, right, miss: 0.05 };
        epsilon_lower(question, Delta::new(delta).unwrap()).get()
    }

    #[test]
    fn all_guesses_right_bound_epsilon_by_the_root_of_the_confidence() {
        // P[Binomial(r, q) ≥ r] = q^r = 0.05.
        let chance = 0.05f64.powf(0.01);
        assert!((bound(100, 100, 100, 1e-300) - (chance / (1.0 - chance)).ln()).abs() < 1e-4);
    }

    #[test]
    fn the_bound_rises_with_right_guesses_and_falls_with_delta() {
        assert_eq!(bound(1000, 100, 50, 1e-6), 0.0);
        assert_eq!(bound(1000, 100, 0, 1e-6), 0.0);
        let bounds: Vec<f64> = (60..=100).map(|right| bound(1000, 100, right, 1e-6)).collect();
        assert!(bounds.windows(2).all(|two| two[0] < two[1]), "{bounds:?}");
        assert!(bound(1000, 100, 95, 1e-4) < bound(1000, 100, 95, 1e-6));
        assert_eq!(bound(1000, 100, 95, 0.01), 0.0);
    }

    #[test]
    fn the_probability_is_the_theorems_term_by_term() {
        for (guesses, right, epsilon) in [(50u64, 40u64, 0.7), (50, 20, 0.7), (30, 30, 2.0), (100, 3, 0.0)] {
            let question = Question { canaries: 500, guesses, right, miss: 0.05 };
            let chance = 1.0 / (1.0 + f64::exp(-epsilon));
            let tail = |least: u64| binomial::at_least(least, guesses, chance);
            let means = (1..=right).map(|i| (tail(right - i) - tail(right)) / i as f64);
            let largest = means.fold(0.0, f64::max);
            let expected = (tail(right) + 2.0 * 500.0 * 1e-5 * largest).min(1.0);
            let got = probability(question, epsilon, 1e-5);
            assert!((got - expected).abs() < 1e-10, "{guesses} {right}: {got} {expected}");
        }
    }
}
