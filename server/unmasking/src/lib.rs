#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod blame;
mod committee;
mod committee_rounds;
mod error;
mod exchange;
mod sum;
#[cfg(test)]
mod tests;
mod transcripts;

pub use blame::blame_for_seals;
pub use committee::{
    AskError, Committee, CommitteeSum, CommitteeSumError, NoCommittee, committee_faults, committee_round,
};
pub use committee_rounds::{CommitteeRounds, Progress};
pub use error::UnmaskError;
pub use exchange::Exchange;
pub use sum::{MaskedSum, Removal, RingSums, masked_bytes, masked_sum};
pub use transcripts::Transcripts;
