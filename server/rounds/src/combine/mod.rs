//! Makes the next weights of a closed round's updates: combine, finalize, tile by tile.
//!
//! Two ways lead to the mean delta. Where the factor of an update is known from the update alone, it was folded into
//! an exact sum while it arrived ([`crate::ingest::RoundSum`]). Otherwise the updates are read back from the round
//! log, the same range of every one of them at a time, with memory that depends on a tile and not on the model.

mod error;
mod making;
#[cfg(test)]
mod one_hostile;
mod private;
mod replayed;
mod rows;
mod summed;

pub use error::MakeError;
pub use making::{Made, Making};
pub use private::Private;
pub use rows::{Bases, Rows};
