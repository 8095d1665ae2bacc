use folkmoot_protocol::{Timestamp, messages::Assignment};
use folkmoot_work::Consent;
use folkmoot_work::WorkError;

use super::{ExampleSource, load_plan, local_work::examples_for};
use crate::{Budget, DeviceConditions, storage::BlobCache, traffic::Traffic};

/// Decides whether the device takes part, once the assignment's plan has arrived.
pub(crate) struct Screening<'a> {
    pub blobs: &'a BlobCache,
    pub budget: &'a Budget,
    pub consent: &'a Consent,
    pub conditions: &'a DeviceConditions,
    pub traffic: &'a Traffic,
    /// `None` if the app's own loop provides its examples.
    pub examples: Option<&'a dyn ExampleSource>,
}

/// Reads a fetched plan and decides whether the device takes part, before anything else is fetched.
///
/// # Errors
/// The error of a declined assignment, which reveals no reason. Or a [`WorkError`] if the plan cannot be parsed or this
/// build cannot carry it out; that does not depend on private attributes.
pub(crate) fn screen(
    assignment: &Assignment,
    device: &Screening<'_>,
    now: Timestamp,
) -> Result<(), WorkError> {
    let plan = load_plan(assignment, device.blobs, now)?;
    device.budget.allows(assignment, &plan)?;
    let takes_part = device.consent.is_given(assignment, &plan, device.conditions)
        && device.traffic.allows(assignment, &plan, device.blobs);
    if !takes_part {
        return Err(WorkError::declined());
    }
    match device.examples {
        Some(source) => examples_for(source, &plan).map(|_| ()),
        None => Ok(()),
    }
}
