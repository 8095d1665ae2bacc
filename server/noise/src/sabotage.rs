/// A deliberate fault that an audit must detect: with it, the coordinator breaks a part of its privacy promise.
///
/// Only a simulation can set a sabotage, in order to test audits. It cannot be set by an option, a file or an
/// environment variable, so no coordinator that serves clients has such a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The noise has half of the claimed scale.
    NoiseIsHalved,
    /// Updates longer than the clipping norm are accepted instead of refused.
    LongUpdatesAreLetIn,
}
