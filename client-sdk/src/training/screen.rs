use folkmoot_protocol::{Timestamp, messages::Assignment};

use super::{WorkError, inputs::load_plan};
use crate::{
    Budget, Consent, DeviceConditions,
    storage::BlobCache,
    traffic::{Traffic, bytes_needed},
};

/// What decides whether the device takes part in an assignment whose plan has come.
pub(crate) struct Screening<'a> {
    pub blobs: &'a BlobCache,
    pub budget: &'a Budget,
    pub consent: &'a Consent,
    pub conditions: &'a DeviceConditions,
    pub traffic: &'a Traffic,
}

/// Reads a plan that was fetched and asks whether the device takes part, before anything else is fetched for it.
///
/// # Errors
/// That of a declined assignment, which sends nothing more; or a [`WorkError`] if the plan cannot be read or asks for
/// what this build cannot do, which does not depend on what the device keeps to itself.
pub(crate) fn screen(
    assignment: &Assignment,
    device: &Screening<'_>,
    now: Timestamp,
) -> Result<(), WorkError> {
    let plan = load_plan(assignment, device.blobs, now)?;
    device.budget.allows(assignment, &plan)?;
    let takes_part = device.consent.is_given(assignment, &plan, device.conditions)
        && device.traffic.allows(bytes_needed(assignment, &plan, device.blobs));
    if takes_part { Ok(()) } else { Err(WorkError::declined()) }
}
