#![doc = include_str!("../README.md")]

mod args;
mod error;
mod inputs;
pub mod inversion;
mod limits;
pub mod membership;
mod parallel;
mod picture;
pub mod poisoning;
mod progress;
pub mod property;
mod purpose;
mod report;
mod rounds;
mod run;
mod screen;
#[cfg(test)]
mod tests;

pub use args::{Args, Settings};
pub use error::CannotAttack;
pub use inputs::Inputs;
pub use picture::{Picture, PictureChoice};
pub use progress::{Progress, Silent};
pub use report::{Report, Statement};
pub use run::attack;
pub use screen::Screen;
