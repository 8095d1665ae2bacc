//! The purposes of random streams. Each attack draws from streams of its own, so that none changes another.

/// The victims of the inversion, and the clients beside them in a sum.
pub const VICTIMS: u64 = 41;
/// The examples with which the attacker probes the model.
pub const PROBES: u64 = 42;
/// The starts of a search.
pub const STARTS: u64 = 43;
/// The noise on an update.
pub const NOISE: u64 = 44;
/// The random examples with which a reconstruction is compared.
pub const GUESSES: u64 = 45;
/// The halves of the data of the attack on a property.
pub const SIDES: u64 = 47;
/// The examples of each of its clients.
pub const HOLDINGS: u64 = 48;
/// The places and signs of its sketch.
pub const SKETCH: u64 = 49;
/// The examples of each model of the membership attack.
pub const HALVES: u64 = 46;
