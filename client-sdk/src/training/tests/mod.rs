//! The work of an assignment, from cached blobs to the update.

mod clusters;
mod contrast;
mod drift;
mod evaluation;
mod example_privacy;
mod frozen;
mod local_trainer;
mod memory;
mod outer_products;
mod personal;
mod phases;
mod scene;
mod time_limit;
