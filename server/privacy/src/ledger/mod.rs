//! The rules of the ledger: what an entry says, how entries hang together, and what they add up to.
//!
//! A population has one ledger, over all of its tasks: a client's data is spent by every one of them. Entries are only
//! ever appended, each with the digest of the one before, so that a row that was changed, removed or put in is found. What
//! bounds the spending is written down, too: settings of the population, and the terms of its tasks.

mod chain;
mod entry;
mod totals;

pub use crate::charge::{Charge, Participation};
pub use chain::{Chain, ChainError, Head};
pub use entry::{
    Collection, Entry, EntryDigest, Event, ParseDigestError, Promise, Release, Settings, TaskTerms,
};
pub use totals::{CalibrateError, RelationError, Spent, Totals, multiplier_for};
