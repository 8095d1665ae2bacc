//! Limits on a device's traffic, per day and per second.

mod day_bytes;
mod throttle;

use folkmoot_protocol::{
    Plan,
    messages::{Artifact, Assignment},
};

pub use day_bytes::DayBytes;
pub use throttle::{Throttle, Way};

/// The lowest bandwidth limit that can be set, in bytes per second. Below it, the coordinator would treat an upload as
/// stalled.
pub const BYTES_PER_SECOND_MIN: u64 = 32 * 1024;

/// Limits on a client's traffic. The bodies of requests, blobs and updates count. Headers and the connection's own
/// overhead, a few percent more, do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficLimits {
    /// The limit per day (UTC) on the sum of both directions. An assignment that would exceed it is declined, and the
    /// client asks for the next one when the new day begins.
    pub bytes_per_day: Option<u64>,
    /// The limit per second, for each direction. At least [`BYTES_PER_SECOND_MIN`].
    pub bytes_per_second: Option<u64>,
}

impl TrafficLimits {
    /// Checks the lowest bandwidth.
    ///
    /// # Errors
    /// A message for the app's developer.
    pub fn validate(&self) -> Result<(), String> {
        if self.bytes_per_second.is_some_and(|rate| rate < BYTES_PER_SECOND_MIN) {
            return Err(format!(
                "bytes_per_second is below the minimum, {BYTES_PER_SECOND_MIN}; set it higher, or leave it out"
            ));
        }
        Ok(())
    }
}

/// Returns the number of bytes that an assignment still has to transfer once its plan has arrived: the missing parts of
/// model and weights, and the update. `is_held` says whether a blob is here already.
pub fn bytes_needed(assignment: &Assignment, plan: &Plan, is_held: impl Fn(Artifact) -> bool) -> u64 {
    let fetched = assignment.weights_to_fetch().chain([assignment.model]);
    let missing = fetched.filter(|artifact| !is_held(*artifact)).map(|artifact| artifact.bytes);
    missing.fold(plan.update_bytes(assignment.recipe.as_deref()), u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::BlobDigest;

    use super::*;
    use crate::samples;

    #[test]
    fn what_is_here_already_needs_no_traffic() {
        let blob = |name: &str, bytes| Artifact { digest: BlobDigest::of(name.as_bytes()), bytes };
        let (model, weights) = (blob("model", 100), blob("weights", 20));
        let assignment = Assignment { model, weights, ..samples::assignment() };
        let plan = samples::plan();
        let update = plan.update_bytes(None);
        assert_eq!(bytes_needed(&assignment, &plan, |_| false), update + 120);
        assert_eq!(bytes_needed(&assignment, &plan, |artifact| artifact == model), update + 20);
        let endless = Assignment { model: blob("model", u64::MAX), ..assignment };
        assert_eq!(bytes_needed(&endless, &plan, |_| false), u64::MAX);
    }
}
