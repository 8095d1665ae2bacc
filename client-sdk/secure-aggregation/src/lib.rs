#![doc = include_str!("../README.md")]

mod client;
mod commitment;
mod committee;
mod context;
mod graph;
mod mask;
mod noise;
mod packing;
mod parameters;
mod ring;
mod roster;
mod seal;
mod secrets;
mod shamir;
mod tails;
#[cfg(test)]
mod tests;
mod transcript;

pub use client::{
    Advertising, Agreed, Draft, Journal, JournalError, Masking, Policy, Refusal, Setting, Sharing, Unsigned,
};
pub use committee::{
    CommitteeError, CommitteeMasks, CommitteeSecret, Dealing, MemberRound, agreement_text, check_agreements,
    clients_digest, mask_for_committee, seal_bytes,
};
pub use context::Context;
pub use mask::{Masks, Segment};
pub use noise::{NoiseShare, NoiseShareError, rounded_norm_bound};
pub use packing::{Unpacker, pack, packed_bytes};
pub use parameters::{Parameters, ParametersError};
pub use ring::{Ring, RingError};
pub use roster::{RosterFault, check_advertisement};
pub use secrets::Root;
pub use transcript::{MessageFault, OpenShares, RecoverError, Transcript, Unmasking};
