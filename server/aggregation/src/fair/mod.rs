//! Rules that weight updates by the losses of their clients.

mod q_fed_avg;
mod term;

pub use q_fed_avg::QFedAvg;
pub use term::Term;
