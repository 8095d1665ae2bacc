//! Decides which tensors of a file are weights, and which readers share one.
//!
//! Exporters write constants as initializers, and merge initializers that are equal when the file is written. The file
//! alone does not say what its author wanted to train, so these modules decide by what each reader does with a tensor,
//! and report what is not obvious as a [`Remark`].

#[cfg(feature = "complete")]
mod choose;
#[cfg(feature = "complete")]
mod copied;
mod known;
mod metadata;
#[cfg(feature = "complete")]
mod normalization;
#[cfg(any(test, not(feature = "complete")))]
mod obvious;
mod positions;
mod remark;
#[cfg(feature = "complete")]
mod removed;
#[cfg(feature = "complete")]
mod rewrite;
#[cfg(feature = "complete")]
mod separate;
mod slot;
#[cfg(feature = "complete")]
mod uses;

#[cfg(feature = "complete")]
pub(super) use choose::weights;
use known::known_values;
use metadata::Metadata;
pub(crate) use metadata::entry;
#[cfg(all(test, feature = "complete"))]
pub(super) use obvious::weights as obvious_weights;
#[cfg(not(feature = "complete"))]
pub(super) use obvious::weights;
pub use remark::Remark;
#[cfg(feature = "complete")]
pub(super) use separate::separated;
use slot::Slot;
#[cfg(feature = "complete")]
use uses::Uses;
