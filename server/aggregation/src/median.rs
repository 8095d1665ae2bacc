use super::{Combination, CoordinateRule, Measured, aggregator::Aggregator};

/// The coordinate-wise median (Yin et al. 2018, algorithm 1, option I).
///
/// A minority of the updates cannot move a coordinate out of the range of the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Median;

impl Aggregator for Median {
    fn combination(&self, _weights: &[u64], _attenuations: &[f64], _measured: &Measured) -> Combination {
        Combination::PerCoordinate(CoordinateRule::Median)
    }
}
