#![doc = include_str!("../README.md")]

#[cfg(feature = "gpu")]
mod device;
mod error;
mod examples;
#[cfg(feature = "secure-aggregation")]
mod exchange;
mod model;
mod own_loop;
mod screen;
mod session;
mod signing;
mod stopwatch;
mod work;

#[cfg(feature = "gpu")]
pub use device::Device;
pub use examples::ExampleSet;
#[cfg(feature = "secure-aggregation")]
pub use exchange::Exchange;
pub use model::{TrainedModel, needs_complete_importer};
pub use screen::{check_budget, over_budget, screen};
pub use session::BrowserSession;
pub use work::{AssignedWork, Update};
