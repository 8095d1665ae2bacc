//! Loops that advance tasks and rounds. Each step reads facts, passes them to the pure code, and writes the decision in
//! one transaction. Steps can be repeated, and a crash between two steps loses nothing.

mod advance;
mod attenuations;
mod awaited;
mod committee;
mod error;
mod evaluate;
mod evaluation_sum;
mod facts;
mod open;
mod partial_sums;
mod pause;
mod perform;
mod prefer;
mod release;
mod rules;
mod run;
mod secure;
mod summed;
mod supervise;
mod versions;

pub use advance::drive_task;
pub use awaited::{Awaits, awaited};
pub use error::DriveError;
pub(crate) use evaluate::measured;
pub use open::release_again;
pub use release::forget_last_noise;
pub use run::{DriverConfig, run};
pub use supervise::{DriverHealth, supervise};
