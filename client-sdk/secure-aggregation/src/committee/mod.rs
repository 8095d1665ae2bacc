//! Masks that a committee removes. A client sends one message: its masked update, with the seeds of the masks encrypted for the
//! members. The members give the coordinator the sums of the masks of those clients whose updates arrived.

mod dealing;
mod error;
mod member;
mod sealing;

pub use dealing::Dealing;
pub use error::CommitteeError;
pub use member::{CommitteeSecret, MemberRound, agreement_text, check_agreements, clients_digest};
pub use sealing::{CommitteeMasks, mask_for_committee, seal_bytes};
