//! The rules of the privacy ledger: the contents of its entries, their hash chain, and the total of their charges.
//!
//! A population has one ledger for all its tasks, because they all spend the privacy of the same clients. Entries are
//! only ever appended. Each entry contains the digest of the one before, so anyone can detect that a row was changed,
//! removed or inserted. The ledger also records the limits on spending: the settings of the population and the terms of
//! its tasks.

mod chain;
mod entry;
mod totals;

pub use crate::charge::{Charge, Participation};
pub use chain::{Chain, ChainError, Head};
pub use entry::{
    Collection, Entry, EntryDigest, Event, ParseDigestError, Promise, Release, Settings, TaskTerms,
};
pub use totals::{CalibrateError, RelationError, Spent, Totals, multiplier_for};
