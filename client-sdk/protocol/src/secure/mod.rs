//! Secure aggregation on the wire: the terms in a plan, the messages of its steps, and the messages of a committee.
//!
//! `folkmoot-secure-aggregation` produces and checks these messages.

mod committee;
mod masked_update;
mod message;
mod roster;

pub use crate::keys::{CommitteeKey, SealedShares, ShareCommitment, SharedSecret, StepKey};
pub use crate::plan::{
    COHORT_MAX, COMMITTEE_MAX, CommitteeFault, CommitteeTerms, DistributedNoise, SecureTerms,
    SecureTermsFault, Threat,
};
pub use committee::{
    CommitteeAgreed, CommitteeChecked, CommitteeQuestion, CommitteeRefusal, CommitteeRound, CommitteeSeal,
    SealedClient,
};
pub use masked_update::{
    EXTRAS, MASKED_HEADER_BYTES, MASKED_MAGIC, MaskedExtras, MaskedHeader, MaskedHeaderError,
};
pub use message::{
    IncomingShare, Opening, OutgoingShare, SecureAnswered, SecureMessage, SecureProgress, Survivors,
};
pub use roster::{Advertisement, Identity, Member, Roster};
