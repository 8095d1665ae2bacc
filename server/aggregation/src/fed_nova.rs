use super::{Combination, Measured, aggregator::Aggregator};

/// FedNova: a weighted mean of updates that are divided by the clients' local work, τ_eff·Σ pᵢ·Δᵢ/‖aᵢ‖₁ with
/// τ_eff = Σ pᵢ·‖aᵢ‖₁.
///
/// Wang, Liu, Liang, Joshi and Poor 2020, "Tackling the objective inconsistency problem in heterogeneous federated
/// optimization". pᵢ is the client's share of the weights; ‖aᵢ‖₁, its [`step_norm`], measures its local work. A
/// client that makes many steps then pulls the model no further to its own data than a client that makes few.
///
/// It combines updates as the weighted mean does. The factors τ_eff / ‖aᵢ‖₁ come with the attenuations:
/// [`step_factors`].
#[derive(Clone, Copy, Debug)]
pub(super) struct FedNova;

impl Aggregator for FedNova {
    fn combination(&self, weights: &[u64], attenuations: &[f64], _measured: &Measured) -> Combination {
        Combination::attenuated_mean(weights.iter().copied(), attenuations)
    }
}

/// Returns ‖a‖₁ of a client that made `steps` local steps of SGD with `momentum`, in [0, 1): the sum over all gradients of
/// their factor in the client's update, without the learning rate. Without momentum, it is the number of steps.
///
/// Wang et al. 2020, for SGD with momentum: (τ − ρ·(1 − ρ^τ)/(1 − ρ)) / (1 − ρ). A client that reports no step counts as one with one
/// step.
pub fn step_norm(steps: u64, momentum: f64) -> f64 {
    let steps = steps.max(1) as f64;
    let rest = 1.0 - momentum;
    (steps - momentum * (1.0 - libm::pow(momentum, steps)) / rest) / rest
}

/// Returns FedNova's factor for each update, τ_eff / ‖aᵢ‖₁, from the updates' weights and step norms.
///
/// If all weights are 0, all factors are 1.
pub fn step_factors(weights: &[u64], step_norms: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().map(|weight| *weight as f64).sum();
    let work: f64 = weights.iter().zip(step_norms).map(|(weight, norm)| *weight as f64 * norm).sum();
    if sum > 0.0 {
        step_norms.iter().map(|norm| work / sum / norm).collect()
    } else {
        vec![1.0; step_norms.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_norm_is_the_sum_of_the_factors_of_all_gradients() {
        assert_eq!([0, 1, 7].map(|steps| step_norm(steps, 0.0)), [1.0, 1.0, 7.0]);
        // With v ← ρ·v + g and w ← w − r·v, the first of three gradients counts 1 + ρ + ρ² times.
        assert!((step_norm(3, 0.5) - (1.75 + 1.5 + 1.0)).abs() < 1e-15);
        for momentum in [0.1f64, 0.9, 0.99] {
            let by_hand: f64 = (1..=20).map(|k| (0..k).map(|power| momentum.powi(power)).sum::<f64>()).sum();
            assert!((step_norm(20, momentum) / by_hand - 1.0).abs() < 1e-12, "{momentum}");
        }
    }

    /// The expected numbers come from these lines, with numpy 2.4.6:
    ///
    /// ```python
    /// n, tau = np.array([10, 30, 60]), np.array([2, 5, 20])
    /// x = np.array([[0.2, -0.4], [0.5, 1.0], [-2.0, 3.0]])
    /// p = n / n.sum(); (p * tau).sum() * ((p / tau)[:, None] * x).sum(0)
    /// ```
    #[test]
    fn the_mean_is_numpys() {
        let weights = [10, 30, 60];
        let factors = step_factors(&weights, &[2.0, 5.0, 20.0]);
        let rows: [&[f32]; 3] = [&[0.2, -0.4], &[0.5, 1.0], &[-2.0, 3.0]];
        let mut out = [0.0; 2];
        FedNova.combination(&weights, &factors, &Measured::None).combine(0, &rows, &mut out);
        let expected = [-0.274, 1.781];
        assert!(out.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-6), "{out:?}");
    }

    #[test]
    fn alike_steps_leave_the_weighted_mean() {
        assert_eq!(step_factors(&[1, 3, 4], &[5.0; 3]), [1.0; 3]);
        assert_eq!(step_factors(&[0, 0], &[5.0, 2.0]), [1.0; 2]);
        assert_eq!(step_factors(&[], &[]), [0.0; 0]);
    }
}
