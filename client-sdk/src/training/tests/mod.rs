//! The work of an assignment, from blobs in the cache to what is sent.

mod evaluation;
mod example_privacy;
mod frozen;
mod local_trainer;
mod memory;
mod outer_products;
mod scene;
mod time_limit;
