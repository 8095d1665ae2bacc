use folkmoot_protocol::{Timestamp, messages::Assignment};

use super::{WorkError, inputs::load_plan};
use crate::{
    Consent, DeviceConditions,
    storage::BlobCache,
    traffic::{Traffic, bytes_needed},
};

/// Reads a plan that was fetched and asks whether the device takes part, before anything else is fetched for it.
///
/// # Errors
/// That of a declined assignment, which says nothing more; or a [`WorkError`] if the plan cannot be read or asks for
/// what this build cannot do, which does not depend on what the device keeps to itself.
pub(crate) fn screen(
    assignment: &Assignment,
    blobs: &BlobCache,
    consent: &Consent,
    conditions: &DeviceConditions,
    traffic: &Traffic,
    now: Timestamp,
) -> Result<(), WorkError> {
    let plan = load_plan(assignment, blobs, now)?;
    let takes_part = consent.is_given(assignment, &plan, conditions)
        && traffic.allows(bytes_needed(assignment, &plan, blobs));
    if takes_part { Ok(()) } else { Err(WorkError::declined()) }
}
