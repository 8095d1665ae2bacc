//! Computes the next weights from a closed round's updates, tile by tile: combine, then finalize.
//!
//! There are two ways to compute the mean delta. If an update's factor depends on that update alone, the update was
//! added to an exact sum while it arrived ([`crate::ingest::RoundSum`]). Otherwise the updates are read back from the
//! round log, one range of parameters at a time for all updates. Memory then depends on the size of a tile, not on that
//! of the model.

mod error;
mod making;
mod masked;
#[cfg(test)]
mod one_hostile;
mod private;
mod replayed;
mod rows;
mod summed;

pub use error::MakeError;
pub use making::{Made, Making};
pub use masked::Masked;
pub use private::Private;
pub use rows::{Bases, Rows};
