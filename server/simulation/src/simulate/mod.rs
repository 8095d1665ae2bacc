//! `folkmoot simulate`: the real coordinator, sessions and engine in one process, on a clock that only events move.
//!
//! What a device is like, how data is dealt and what is recorded is `folkmoot-simulation`'s; this room has the loop:
//! a queue of events, clients that are a [`folkmoot_session::Session`] each, and a coordinator that keeps all in memory.
//! Trainings are computed on all cores while virtual time goes on, and are waited for when their result is needed, so
//! the same seed gives the same bytes on one thread or on several.

mod canaries;
mod client;
mod data;
mod drive;
mod ended;
mod error;
mod events;
mod faults;
mod kept;
mod outcome;
mod perform;
mod polls;
mod pool;
mod progress;
mod recorder;
mod requests;
mod settings;
mod training;
mod world;

pub use canaries::Canaries;
pub use data::{Crowd, DataSource, SyntheticData};
pub use error::SimulateError;
pub use outcome::Outcome;
pub use progress::{Progress, Silent};
pub use settings::{Faults, WorldSettings};
pub use world::{Simulation, simulate, simulate_on};
