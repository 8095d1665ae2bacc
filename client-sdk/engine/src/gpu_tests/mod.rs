//! Compares training on a GPU adapter with training on the CPU.
//!
//! Without an adapter these tests are skipped and say so; with `FOLKMOOT_GPU=required` they fail.

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

use comparing::{Tolerance, gpu, largest, numbers, on_gpu};
use folkmoot_gpu::{Gpu, Once};
