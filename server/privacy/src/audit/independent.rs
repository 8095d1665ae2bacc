use super::correlated::MU_MAX;
use super::{Question, largest_refuted};
use crate::accountant::binomial;
use crate::accountant::special::normal_above;

/// The number of parts into which the range of U, the share of guessed canaries, is divided.
const PARTS: u32 = 64;

/// The number of standard deviations of U that are covered on each side of its mean.
const REACH: f64 = 6.0;

/// Returns a lower bound on μ for canaries that are hidden independently of each other.
///
/// At best, the release shows x_i ~ N(±μ/2, 1) about canary i, with the sign of its coin, and independent over i.
/// Everything else is a function of these and of randomness (Blackwell's theorem, as in Dong, Roth and Su 2022,
/// "Gaussian differential privacy"). Given all x, the coins are still independent, and the sign of x_i matches the coin
/// with the probability 1/(1 + e^(−μ|x_i|)). So the best r guesses are the signs of the r largest |x_i|: no other
/// choice has stochastically more right guesses.
///
/// Let t be the (r + 1)-th largest |x_i| and U = P[|x| > t], which is Beta(r + 1, m − r) distributed. Given U, the r
/// guesses are independent, and each is right with the probability q(U) = P[x > t | +μ/2]/U. So P[at least v are right]
/// is at most E[P[Binomial(r, q(U)) ≥ v]]. The expectation is bounded from above: q decreases in U, so each part of U's
/// range is weighted with the q of its lower end.
pub(super) fn mu_lower(question: Question) -> f64 {
    largest_refuted(MU_MAX, |mu| probability(question, mu) <= question.miss)
}

/// Returns an upper bound on the probability of at least `question.right` right guesses.
fn probability(question: Question, mu: f64) -> f64 {
    let Question { canaries, guesses, right, .. } = question;
    let tail = |share: f64| binomial::at_least(right, guesses, chance(share, mu));
    if guesses == canaries {
        return tail(1.0);
    }
    let [above, rest] = [guesses + 1, canaries - guesses].map(|count| count as f64);
    let mean = above / (above + rest);
    let deviation = (mean * (1.0 - mean) / (above + rest + 1.0)).sqrt();
    let low = (mean - REACH * deviation).max(0.0);
    let high = (mean + REACH * deviation).min(1.0);
    let width = (high - low) / f64::from(PARTS);
    let below = |share: f64| match share {
        share if share <= 0.0 => 0.0,
        share if share >= 1.0 => 1.0,
        share => binomial::incomplete_beta(above, rest, share),
    };
    let mut total = below(low);
    let mut before = total;
    for part in 0..PARTS {
        let start = low + f64::from(part) * width;
        // The last part also covers all larger values of U.
        let end = if part + 1 == PARTS { 1.0 } else { below(start + width) };
        total += (end - before).max(0.0) * tail(start);
        before = end;
    }
    total.min(1.0)
}

/// Returns q, the probability that the sign of x is right, given that |x| is above a threshold. `share` is the
/// probability that |x| exceeds this threshold.
fn chance(share: f64, mu: f64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    let parts = |threshold: f64| [normal_above(threshold - 0.5 * mu), normal_above(threshold + 0.5 * mu)];
    let (mut low, mut high) = (0.0, 40.0 + mu);
    for _ in 0..44 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        let [right, wrong] = parts(middle);
        if right + wrong > share { low = middle } else { high = middle }
    }
    // The larger of the two thresholds gives the larger probability.
    let [right, wrong] = parts(high);
    if right > 0.0 { right / (right + wrong) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_guesses_are_right_with_the_chance_of_one_half_mu() {
        assert!((chance(1.0, 1.0) - 0.691_462_461_274_013).abs() < 1e-12);
        let few = chance(0.01, 1.0);
        // The threshold of |x| is about 2.75, so q is slightly above 1/(1 + e^−2.75).
        assert!(few > 0.93 && few < 0.96, "{few}");
        assert_eq!(chance(0.0, 1.0), 1.0);
        assert!((chance(0.3, 0.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn more_right_guesses_and_more_canaries_bound_more() {
        let bound = |canaries, guesses, right| mu_lower(Question { canaries, guesses, right, miss: 0.05 });
        assert_eq!(bound(1000, 1000, 500), 0.0);
        let bounds: Vec<f64> = (11..=20).map(|tens| bound(1000, 200, 10 * tens)).collect();
        assert!(bounds.windows(2).all(|two| two[0] <= two[1]), "{bounds:?}");
        // At μ = 1, on average 691 of 1,000 signs are right. The bound is two standard deviations lower.
        let bound = bound(1000, 1000, 691);
        assert!(bound > 0.8 && bound < 1.0, "{bound}");
    }
}
