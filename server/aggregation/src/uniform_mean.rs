use super::{Combination, Measured, aggregator::Aggregator};

/// The mean in which every update has weight 1, regardless of its own weight.
///
/// A client gains no influence by claiming more examples.
#[derive(Clone, Copy, Debug)]
pub(super) struct UniformMean;

impl Aggregator for UniformMean {
    fn is_streaming(&self) -> bool {
        true
    }

    fn combination(&self, weights: &[u64], attenuations: &[f64], _measured: &Measured) -> Combination {
        Combination::attenuated_mean(weights.iter().map(|_| 1), attenuations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_do_not_count() {
        let combination = UniformMean.combination(&[1, 900], &[1.0, 0.5], &Measured::None);
        assert_eq!(combination, Combination::Mean { factors: vec![1.0, 0.5], divisor: 2.0 });
    }
}
