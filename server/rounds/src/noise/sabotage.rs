/// What an audit must find: a coordinator that keeps its promise only in part.
///
/// A simulation can be given one, to show that audits find it. No option, file or variable of a program leads here, so a
/// coordinator that serves clients never has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Noise of half the scale that is claimed.
    NoiseIsHalved,
    /// Updates that are longer than the clipping norm are let in.
    LongUpdatesAreLetIn,
}
