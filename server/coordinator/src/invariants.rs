//! Named invariants. Production checks them before it writes; the simulation checks them after every step.

use crate::{
    round::{Phase, Round},
    scheduling::ReportCounts,
};

/// A violated invariant: a bug in the coordinator, never a client's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the invariant `{name}` is broken: {detail}")]
pub struct BrokenInvariantError {
    /// The invariant's name.
    pub name: &'static str,
    /// The observed values.
    pub detail: String,
}

fn holds(
    name: &'static str,
    is_so: bool,
    detail: impl FnOnce() -> String,
) -> Result<(), BrokenInvariantError> {
    if is_so { Ok(()) } else { Err(BrokenInvariantError { name, detail: detail() }) }
}

/// Checks that a committed version directly follows its round's base version.
pub fn versions_have_no_gap(round: &Round) -> Result<(), BrokenInvariantError> {
    let Phase::Committed { version, .. } = round.phase else { return Ok(()) };
    let is_so = round.base_version.checked_add(1) == Some(version);
    holds("versions_have_no_gap", is_so, || {
        format!("version {version} was committed from base version {}", round.base_version)
    })
}

/// Checks that a round combines at least `fewest` updates, and at most as many as it has clients.
///
/// `fewest` is 1, or 0 under a policy that keeps every draw
/// ([`SchedulingPolicy::keeps_draws`](crate::scheduling::SchedulingPolicy::keeps_draws)).
pub fn a_commit_combines_its_cohort(round: &Round, fewest: u64) -> Result<(), BrokenInvariantError> {
    let (Phase::Unmasking { cohort, accepted, .. }
    | Phase::Aggregating { cohort, accepted, .. }
    | Phase::Committed { cohort, accepted, .. }
    | Phase::Evaluated { cohort, accepted, .. }) = round.phase
    else {
        return Ok(());
    };
    let is_so = (fewest..=cohort).contains(&accepted);
    holds("a_commit_combines_its_cohort", is_so, || format!("{accepted} updates from {cohort} clients"))
}

/// Checks that every assignment of a reporting round is accepted, outstanding or dropped.
pub fn every_assignment_is_counted_once(
    round: &Round,
    counts: ReportCounts,
) -> Result<(), BrokenInvariantError> {
    let (Phase::AdvertisingKeys { cohort, .. }
    | Phase::SharingKeys { cohort, .. }
    | Phase::Reporting { cohort, .. }) = round.phase
    else {
        return Ok(());
    };
    let counted = counts.accepted + counts.outstanding + counts.dropped;
    holds("every_assignment_is_counted_once", counted == cohort, || {
        format!("{counts:?} do not add up to the cohort of {cohort}")
    })
}

/// Checks that the number of combined updates equals the number of accepted updates.
pub fn the_aggregate_is_of_the_accepted(round: &Round, combined: u64) -> Result<(), BrokenInvariantError> {
    let Phase::Aggregating { accepted, .. } = round.phase else { return Ok(()) };
    holds("the_aggregate_is_of_the_accepted", combined == accepted, || {
        format!("{combined} updates were combined, but {accepted} were accepted")
    })
}

/// Checks the invariants that depend on the round alone. `keeps_draws` is the result of
/// [`SchedulingPolicy::keeps_draws`](crate::scheduling::SchedulingPolicy::keeps_draws).
pub fn check_round(round: &Round, keeps_draws: bool) -> Result<(), BrokenInvariantError> {
    versions_have_no_gap(round)?;
    a_commit_combines_its_cohort(round, u64::from(!keeps_draws))
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{RoundId, TaskId, Timestamp};

    use super::*;
    use crate::round::Purpose;

    #[test]
    fn a_broken_round_is_named() {
        let mut round = Round {
            id: RoundId::from_random_bytes([1; 16]),
            task_id: TaskId::from_random_bytes([2; 16]),
            number: 1,
            purpose: Purpose::Training,
            base_version: 4,
            phase: Phase::Committed { at: Timestamp(0), cohort: 3, accepted: 2, version: 5 },
        };
        assert_eq!(check_round(&round, false), Ok(()));
        round.phase = Phase::Committed { at: Timestamp(0), cohort: 3, accepted: 2, version: 6 };
        assert_eq!(check_round(&round, false).unwrap_err().name, "versions_have_no_gap");
        round.phase = Phase::Aggregating { since: Timestamp(0), cohort: 3, accepted: 4 };
        assert_eq!(check_round(&round, false).unwrap_err().name, "a_commit_combines_its_cohort");
        round.phase = Phase::Aggregating { since: Timestamp(0), cohort: 3, accepted: 0 };
        assert_eq!(check_round(&round, false).unwrap_err().name, "a_commit_combines_its_cohort");
        assert_eq!(check_round(&round, true), Ok(()));
    }
}
