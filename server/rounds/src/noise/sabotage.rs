/// A deliberate fault that an audit must detect: the coordinator keeps its privacy promise only in part.
///
/// Only simulations can set one, to test audits. No option, file or environment variable sets one, so a coordinator
/// that serves clients never has a fault of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The noise has half of the claimed scale.
    NoiseIsHalved,
    /// Updates longer than the clipping norm are accepted.
    LongUpdatesAreLetIn,
}
