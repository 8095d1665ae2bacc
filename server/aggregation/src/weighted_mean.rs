use super::{Combination, Measured, aggregator::Aggregator};

/// The weighted mean: Σ wᵢ·Δᵢ / Σ wᵢ (McMahan et al. 2017, algorithm 1).
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightedMean;

impl Aggregator for WeightedMean {
    fn is_streaming(&self) -> bool {
        true
    }

    fn combination(&self, weights: &[u64], attenuations: &[f64], _measured: &Measured) -> Combination {
        Combination::attenuated_mean(weights.iter().copied(), attenuations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staleness_takes_from_the_factor_and_not_from_the_divisor() {
        let combination = WeightedMean.combination(&[1, 3], &[1.0, 0.5], &Measured::None);
        assert_eq!(combination, Combination::Mean { factors: vec![1.0, 1.5], divisor: 4.0 });
    }

    #[test]
    fn updates_that_weigh_nothing_move_nothing() {
        let combination = WeightedMean.combination(&[0, 0], &[1.0, 1.0], &Measured::None);
        let mut out = [f64::NAN];
        combination.combine(0, &[&[5.0], &[7.0]], &mut out);
        assert_eq!(out, [0.0]);
    }
}
