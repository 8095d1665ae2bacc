//! `folkmoot demo`: a coordinator and its clients on this machine, over real HTTPS, from the first enrolment to a
//! trained model.
//!
//! `run` is the story; `control` is the operator, `clients` are the devices, `follow` watches, `screen` shows.
//! Nothing here takes a short cut past the wire: what works here works between machines.

mod args;
mod chart;
mod clients;
mod control;
mod curve;
mod data;
mod error;
mod evaluate;
mod follow;
mod gamma;
mod output;
mod partition;
mod plan;
mod report;
mod run;
mod screen;
mod traffic;

pub use args::Args;
pub use error::DemoError;
pub use run::run;
