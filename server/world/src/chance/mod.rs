//! Reproducible random draws. All algorithms are in this module, so that no library update changes a run.
//!
//! A [`Stream`] is the random number generator of one purpose. It is a function of a seed and of the purpose. So a
//! client's tenth assignment draws the same numbers whether or not the ninth took place.

mod dirichlet;
mod draws;
mod gamma;
#[cfg(test)]
mod samples;
mod stream;

pub use dirichlet::dirichlet;
pub use draws::{below, shuffle, standard_normal, uniform};
pub use gamma::log_gamma_draw;
pub use stream::Stream;
