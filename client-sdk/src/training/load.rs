//! Reads the inputs of an assignment from the cache.

use folkmoot_protocol::{
    Plan, Timestamp,
    messages::{AbortReason, Artifact, Assignment},
};
use folkmoot_training::{Inputs, parse_plan};
use folkmoot_work::{Budget, WorkError};

use crate::storage::BlobCache;

/// Reads the plan, model and weights from the cache. Checks that they match each other and do not exceed the
/// budget. Lowers the plan's limits to the budget's.
///
/// # Errors
/// [`AbortReason::Declined`] if the assignment exceeds the budget,
/// [`AbortReason::FetchFailed`] if a blob is no longer in the cache or differs from the assignment's,
/// [`AbortReason::PlanUnsupported`] if this build cannot do what the plan asks.
pub(crate) fn load_inputs(
    assignment: &Assignment,
    own: Option<&[u8]>,
    blobs: &BlobCache,
    budget: &Budget,
    now: Timestamp,
) -> Result<Inputs, WorkError> {
    let plan = load_plan(assignment, blobs, now)?;
    Inputs::of(assignment, plan, own, budget, |artifact| read(artifact, blobs, now))
}

/// Reads only the plan. The client decides from it whether it needs the model and the weights.
///
/// # Errors
/// As [`load_inputs`].
pub(crate) fn load_plan(
    assignment: &Assignment,
    blobs: &BlobCache,
    now: Timestamp,
) -> Result<Plan, WorkError> {
    parse_plan(&read(assignment.plan, blobs, now)?)
}

fn read(artifact: Artifact, blobs: &BlobCache, now: Timestamp) -> Result<Vec<u8>, WorkError> {
    let failed = |detail: String| WorkError::new(AbortReason::FetchFailed, detail);
    let bytes = blobs.read(artifact, now).map_err(|error| failed(error.to_string()))?;
    bytes.ok_or_else(|| failed(format!("blob {} is no longer in the cache", artifact.digest)))
}
