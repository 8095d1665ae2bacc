//! Tasks: their descriptions, validation and states.

mod anomaly;
mod combination;
mod compression;
mod data;
mod description;
mod downstream;
mod drift;
mod edge;
mod eligibility;
mod evaluation;
mod filter;
mod local_work;
mod pause;
mod promise;
mod protection;
mod recipes;
#[cfg(test)]
pub(crate) mod samples;
mod secure_terms;
mod state;
mod stop;
mod traffic;
mod validation;
mod warm_start;

pub use compression::{COMPRESSION_CHOICES_MAX, CompressionChoice};
pub use data::{SchemaSource, TaskData};
pub use description::TaskDescription;
pub use downstream::{Downstream, WHOLE_EVERY_MAX};
pub use eligibility::{
    ALLOWED_VALUES_MAX, AllowedValues, Eligibility, Ineligible, ParticipationLimit, VersionRange,
};
pub use evaluation::{Evaluation, FederatedEvaluation, Measured};
pub use filter::TaskFilter;
pub use folkmoot_protocol::Fault;
pub use pause::{PauseReason, abandoned_in_a_row};
pub use protection::{CommitteeProtection, Protection, SecureAggregation};
pub use state::{InvalidTaskTransitionError, TaskInput, TaskState};
pub use stop::{Plateau, Progress, StopConditions, StopReason};
pub use traffic::Traffic;
pub use warm_start::WarmStart;

pub use crate::{participation::Candidate, selection::SelectionChoice};
