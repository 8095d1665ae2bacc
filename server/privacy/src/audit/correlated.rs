use super::{Question, largest_refuted};
use crate::accountant::special::{normal_above, normal_quantile};

/// The largest μ that the search tries.
pub(super) const MU_MAX: f64 = 64.0;

/// Relative slack for float64 rounding.
const SLACK: f64 = 1.0 + 1e-9;

/// Returns a lower bound on μ that holds for any mechanism, even if its noise hides several canaries jointly.
///
/// Mahloujifar, Melis and Chaudhuri 2025, "Auditing f-differential privacy in one run", with the trade-off function of
/// a Gaussian release: an event with the probability x for one value of a canary's coin has at most the probability
/// F(x) = Φ(Φ⁻¹(x) + μ) for the other value (Dong, Roth and Su 2022). The proof is given here because every reported
/// bound rests on it:
///
/// There are m canaries with fair coins, of which c are guessed. Let p_l be the probability that l guesses are right,
/// and i ≥ 1. Take a canary j and the event that j is guessed with the guess b, while at least i − 1 of the other
/// guesses are right. If j's coin is b, the guess is right, and at least i guesses are right in total. If j's coin is
/// not b, the guess is wrong, and at least i − 1 are right. Average over j, b and the other coins. Because F is
/// concave, R_i ≤ F(H_(i−1)), with R_i = Σ_(l≥i) l·p_l/m and H_i = Σ_(l≥i) (c − l)·p_l/m.
///
/// Suppose that at least v guesses are right with the probability τ. Then the sum of all p_l is at least the result of
/// [`least_total`], which starts at v and adds the smallest H_i that the inequality allows for each lower i. If the
/// result is above 1, the assumption is impossible: fewer than v guesses are right with a probability above 1 − τ.
pub(super) fn mu_lower(question: Question) -> f64 {
    largest_refuted(MU_MAX, |mu| least_total(question, mu) > SLACK)
}

/// Returns the smallest possible sum of all probabilities, if at least `question.right` guesses are right with the
/// probability `question.miss`.
///
/// R_v is smallest if the number of right guesses is exactly v with the whole probability `miss`. Moving probability
/// from v to a larger number raises every R_i by at least as much as it lowers H_i. Then H_(i−1) is the larger of H_i
/// and F⁻¹(R_i), and (c − l)·p_l/m = H_l − H_(l+1) gives R_l. The sum R_0 + H_0 is c/m times the sum of the
/// probabilities.
fn least_total(question: Question, mu: f64) -> f64 {
    let [canaries, guesses, right] =
        [question.canaries, question.guesses, question.right].map(|count| count as f64);
    let per_total = guesses / canaries;
    let (mut right_mass, mut wrong_mass) =
        (question.miss * right / canaries, question.miss * (guesses - right) / canaries);
    for below in (0..question.right).rev().map(|below| below as f64) {
        let allowed = normal_above(mu - normal_quantile(right_mass));
        let more = (allowed - wrong_mass).max(0.0);
        wrong_mass += more;
        right_mass += below / (guesses - below) * more;
        if right_mass + wrong_mass > SLACK * per_total {
            break;
        }
    }
    (right_mass + wrong_mass) / per_total
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_distribution_that_is_allowed_is_refuted(
            weights in prop::collection::vec(prop_oneof![Just(0.0), 0.0f64..1.0, -20.0f64..0.0], 2..30),
            abstained in 0u64..40,
        ) {
            // The probabilities of 0, 1, ... right guesses, some of them tiny.
            let weights: Vec<f64> = weights.iter().map(|w| if *w < 0.0 { w.exp() } else { *w }).collect();
            let total: f64 = weights.iter().sum();
            prop_assume!(total > 1e-6);
            let guesses = weights.len() as u64 - 1;
            let canaries = guesses + abstained;
            let mass = |from: usize, factor: &dyn Fn(f64) -> f64| -> f64 {
                (from..weights.len()).map(|l| factor(l as f64) * weights[l] / total / canaries as f64).sum()
            };
            let right = |from: usize| mass(from, &|l| l);
            let wrong = |from: usize| mass(from, &|l| guesses as f64 - l);
            // The smallest μ for which R_i ≤ F(H_(i−1)) for all i.
            let needed = (1..weights.len()).map(|i| normal_quantile(right(i)) - normal_quantile(wrong(i - 1)));
            let mu = needed.filter(|mu| !mu.is_nan()).fold(0.0, f64::max);
            prop_assume!(mu < 30.0);
            for least in 1..weights.len() {
                let miss = weights[least..].iter().sum::<f64>() / total;
                let question = Question { canaries, guesses, right: least as u64, miss };
                prop_assert!(least_total(question, mu) <= 1.0 + 1e-6, "{} {}", least, least_total(question, mu));
            }
        }
    }

    fn bound(canaries: u64, guesses: u64, right: u64) -> f64 {
        mu_lower(Question { canaries, guesses, right, miss: 0.05 })
    }

    #[test]
    fn one_canary_is_a_test_of_two_hypotheses() {
        // Even at μ = 0, a single guess is right with the probability 1/2, so one right guess refutes nothing.
        assert_eq!(bound(1, 1, 1), 0.0);
        let at = |mu: f64| least_total(Question { canaries: 1, guesses: 1, right: 1, miss: 0.8 }, mu);
        // P[right] = 0.8 = Φ(μ/2) at this μ, so adding the probability of a wrong guess makes the total exactly 1.
        let mu = -2.0 * normal_quantile(0.2);
        assert!((at(mu) - 1.0).abs() < 1e-9 && at(mu * 0.99) > 1.0 && at(mu * 1.01) < 1.0, "{}", at(mu));
    }

    #[test]
    fn the_bound_rises_with_right_guesses() {
        let bounds: Vec<f64> = (50..=100).map(|right| bound(1000, 100, right)).collect();
        assert_eq!((bounds[0], bound(1000, 100, 0)), (0.0, 0.0));
        assert!(bounds.windows(2).all(|two| two[0] <= two[1]) && bounds[50] > 1.0, "{bounds:?}");
    }
}
