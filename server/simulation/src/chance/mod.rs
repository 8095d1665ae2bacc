//! Random draws that never change. The algorithms are our own, so no library update changes a run.
//!
//! A [`Stream`] is the random number generator of one purpose. It is a function of a seed and of the purpose, so a
//! client's tenth assignment draws the same numbers whether or not its ninth ever happened.

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
