//! Rules that weight updates by the losses of their clients.

mod afl;
mod mixture_weights;
mod q_fed_avg;
mod term;

pub use afl::Afl;
pub use mixture_weights::MixtureWeights;
pub use q_fed_avg::QFedAvg;
pub use term::Term;
