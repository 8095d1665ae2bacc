#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod check;
mod complaint;
mod error;
pub mod explain;
mod nearest;
mod overlay;
mod placed_fault;
mod reference;
mod sample;
mod schema;
mod shape;
mod show;
mod source;
mod template;
mod toml_text;
mod variant;
mod walk;
mod walk_choice;
mod walk_table;

#[cfg(test)]
mod tests;

pub use check::{TASK_FILE_BYTES_MAX, read, read_with};
pub use error::TaskFileError;
pub use overlay::overlay;
pub use placed_fault::PlacedFault;
pub use reference::reference;
pub use schema::document;
pub use template::{EvaluationKind, TemplateChoices, kinds, template};
pub use variant::{Variant, VariantError};
