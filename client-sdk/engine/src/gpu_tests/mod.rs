//! Trainings on a graphics adapter against those on the processor.
//!
//! Where there is no adapter the tests are left out, and say so; `FOLKMOOT_GPU=required` makes that a failure.

#[path = "../../../gpu/src/tests/adapter.rs"]
mod adapter;
#[path = "../../../gpu/src/tests/comparing.rs"]
mod comparing;
mod models;
#[path = "../../../gpu/src/tests/optimizers.rs"]
mod optimizers;
mod pieces;
mod training;
mod updates;

use comparing::{Tolerance, gpu, numbers, on_gpu};
use folkmoot_gpu::{Gpu, Once};
