//! Rules that use examples which the coordinator itself has. This module has the settings and formulas of these rules;
//! `folkmoot-combine` trains and reads the updates.

mod fed_df;
mod fed_law;
mod fl_trust;
mod own_examples;

pub use fed_df::FedDf;
pub use fed_law::{FedLaw, Mixture};
pub use fl_trust::FlTrust;
use own_examples::validate_examples;
