//! Convolution and pooling: windows that slide over one to three dimensions.

pub(super) mod convolution;
mod geometry;
mod plane;
pub(super) mod pooling;
mod volume;

use super::{NodeLowering, Outputs};
