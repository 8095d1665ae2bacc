#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod agnostic;
mod error;
mod guide_error;
mod guided;
pub mod in_place;
pub mod ingest;
mod made;
mod making;
mod masked;
mod network_class;
mod next;
#[cfg(test)]
mod one_hostile;
mod own;
mod partial;
mod parts;
mod private;
pub mod refusal;
mod replayed;
mod rows;
mod summed;
mod weighed;

pub use error::MakeError;
pub use guide_error::GuideError;
pub use guided::OwnExamples;
pub use made::Made;
pub use making::Making;
pub use masked::Masked;
pub use network_class::NetworkClass;
pub use own::Own;
pub use partial::{PartialSum, PartialSumError, SumQuestion, SumSize, UpdateFactor};
pub use parts::{PartCheck, PartPlaces};
pub use private::Private;
pub use rows::{Bases, Rows};
pub use weighed::Weighed;
