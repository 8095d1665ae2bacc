//! Limits on the settings of attacks.

/// The maximum number of features for the inversion by optimisation, because each of its steps computes two updates for
/// each feature.
pub const FEATURES_MAX: usize = 1_024;
/// The minimum number of examples.
pub const EXAMPLES_MIN: usize = 20;
/// The minimum number of shadow models. With fewer, an example is in hardly any of them.
pub const SHADOWS_MIN: usize = 4;
/// The maximum number of shadow models.
pub const SHADOWS_MAX: usize = 256;
/// The maximum number of victims.
pub const VICTIMS_MAX: u64 = 64;
/// The minimum number of updates from which the attack learns a property, and for which it guesses the property.
pub const UPDATES_MIN: u64 = 20;
/// The maximum number of these updates, because the attack inverts a matrix of this size.
pub const UPDATES_MAX: u64 = 2_000;
/// The maximum number of seeds of poisoning.
pub const SEEDS_MAX: u64 = 100;
/// The maximum number of steps of a search.
pub const ITERATIONS_MAX: u64 = 100_000;
/// The maximum number of starts of a search.
pub const RESTARTS_MAX: u64 = 100;
