#![doc = include_str!("../README.md")]
#![allow(rustdoc::bare_urls, reason = "doc comments of options are help texts for a terminal")]

mod args;
mod chance;
pub mod devices;
mod error;
mod limits;
mod page;
mod record;
mod rehearsal;
mod report;
mod run;
mod screen;
mod shared;
mod slow_body;
mod storm;
mod target;
#[cfg(test)]
mod tests;
pub mod update;
mod waiting;

pub use args::{Args, Rate, Settings};
pub use error::LoadError;
pub use record::{Kind, KindReport};
pub use report::Report;
pub use run::{OnPhase, Phase, measure, run};
pub use screen::Screen;
