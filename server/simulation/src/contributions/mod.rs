//! The contributions of the clients of a round to its version: Shapley values and leave-one-out values.
//!
//! The utility of a set of clients is the metric, on the held-out examples, of the version that the coordinator would have made of
//! their updates alone. Nothing is trained again (Song, Tong and Wei 2019, "Profit allocation for federated learning": one-round
//! reconstruction, with the values of all rounds added up).

mod coalition;
mod contributing;
mod game;
mod limits;
mod reconstruction;
mod settings;
mod shapley;
mod text;
mod totals;

pub(crate) use contributing::{Contributing, RoundUpdates};
pub(crate) use reconstruction::{Measuring, Reconstruction};
pub use settings::ContributionSettings;
pub(crate) use shapley::{Method, value_round};
pub(crate) use totals::Totals;
pub use totals::{ClientContribution, Contributions};
