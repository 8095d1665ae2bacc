//! A task's description as people write it: a TOML file, its schema, a template, its faults and its meaning.
//!
//! The schema is made from the types of the coordinator, and everything else from the schema: which keys there are,
//! of which type, with which default. So a new key is known here as soon as it exists.

mod check;
mod complaint;
mod error;
pub mod explain;
mod nearest;
mod reference;
mod sample;
mod schema;
mod shape;
mod show;
mod source;
mod template;
mod toml_text;
mod walk;
mod walk_choice;
mod walk_table;

#[cfg(test)]
mod tests;

pub use check::{TASK_FILE_BYTES_MAX, read, read_with};
pub use error::{PlacedFault, TaskFileError};
pub use reference::reference;
pub use schema::document;
pub use template::{EvaluationKind, TemplateChoices, kinds, template};
