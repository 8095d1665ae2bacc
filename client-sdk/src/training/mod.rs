//! Carries out an assignment, from the fetched blobs to the stored update.

mod evaluate;
mod example_source;
mod load;
mod local_trainer;
mod local_work;
mod model_store;
mod news;
mod own_loop;
mod prepare;
mod screen;
#[cfg(test)]
mod tests;
mod train;
mod work;

pub use example_source::ExampleSource;
pub(crate) use load::load_plan;
pub use local_trainer::{LocalTrainer, StopSignal, TrainerError, TrainerWork};
pub(crate) use local_work::LocalWork;
pub use model_store::{ModelStore, NewestModel};
pub(crate) use news::WorkNews;
pub(crate) use prepare::{prepare, prepare_masked};
pub(crate) use screen::{Screening, screen};
pub(crate) use work::work;
