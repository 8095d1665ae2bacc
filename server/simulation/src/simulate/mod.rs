//! `folkmoot simulate`: the real coordinator, sessions and engine in one process, on a clock that only events advance.
//!
//! The other modules of this package define the devices, the data and the records. This module has the loop: a queue of
//! events, a [`folkmoot_session::Session`] for each client, and a coordinator that keeps everything in memory.
//! Trainings are computed on all cores while virtual time advances. The loop waits for a result only when it needs the
//! result. So the same seed gives the same bytes on any number of threads.

mod bench;
mod canaries;
mod client;
mod collusion;
mod contributions;
mod data;
mod drive;
mod ended;
mod error;
mod events;
mod faults;
mod kept;
mod measure;
mod outcome;
mod perform;
mod polls;
mod pool;
mod progress;
mod recorder;
mod replaced;
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
pub use world::{Simulation, held_out_metric, simulate, simulate_on};
