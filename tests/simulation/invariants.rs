//! The invariants of every world. `world/check.rs` gathers the facts that they need.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_coordinator::{
    invariants::{BrokenInvariantError, check_round},
    round::{Phase, Round},
    task::TaskDescription,
};
use folkmoot_protocol::{AssignmentId, ClientId, RoundId, UpdateDigest, messages::UploadState};
use folkmoot_rounds::{drivers::DriveError, refusal::Refusal};
use folkmoot_session::{InvalidTransitionError, Session};
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRecord, AssignmentStatus, ModelVersionRecord, StorageError,
};

use crate::oracle::RememberedUpdate;

/// A violation of an invariant.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The name of the invariant.
    pub invariant: &'static str,
    /// The facts that show the violation.
    pub detail: String,
}

/// The result of checking an invariant.
pub type Holds = Result<(), Broken>;

/// The clients' records of the updates that they have sent.
pub type Memory = BTreeMap<(AssignmentId, UpdateDigest), RememberedUpdate>;

/// Creates the report of a violation.
pub fn broken(invariant: &'static str, detail: impl Into<String>) -> Broken {
    Broken { invariant, detail: detail.into() }
}

/// Reports a violation if `is_so` is false.
pub fn holds(invariant: &'static str, is_so: bool, detail: impl FnOnce() -> String) -> Holds {
    if is_so { Ok(()) } else { Err(broken(invariant, detail())) }
}

impl From<BrokenInvariantError> for Broken {
    fn from(error: BrokenInvariantError) -> Self {
        broken(error.name, error.detail)
    }
}

impl From<StorageError> for Broken {
    fn from(error: StorageError) -> Self {
        broken("the_storage_does_not_fail", error.to_string())
    }
}

/// Checks that each round is consistent, that rounds are numbered without gaps, and that at most one is open.
pub fn rounds_are_in_order(rounds: &[Round]) -> Holds {
    for round in rounds {
        check_round(round, false)?;
    }
    for pair in rounds.windows(2) {
        let is_so = pair[1].number == pair[0].number + 1;
        holds("rounds_are_in_order", is_so, || format!("round {} after {}", pair[1].number, pair[0].number))?;
    }
    let open = rounds.iter().filter(|round| !round.phase.is_final()).count();
    holds("one_round_is_open_at_most", open <= 1, || format!("{open} are open"))
}

/// Checks that a round never returns to an earlier phase, and that a final phase never changes.
pub fn a_round_only_goes_forward(before: &Phase, after: &Phase) -> Holds {
    let rank = |phase: &Phase| match phase {
        Phase::Selecting { .. } => 0,
        Phase::AdvertisingKeys { .. } => 1,
        Phase::SharingKeys { .. } => 2,
        Phase::Reporting { asked: None, .. } | Phase::Collecting { .. } => 3,
        // A round asks its clients only once.
        Phase::Reporting { asked: Some(_), .. } => 4,
        Phase::Unmasking { .. } => 5,
        Phase::Aggregating { .. } => 6,
        Phase::Committed { .. } | Phase::Evaluated { .. } | Phase::Abandoned { .. } => 7,
    };
    let same = rank(before) == rank(after);
    let aggregated_in_vain =
        matches!(before, Phase::Aggregating { .. }) && matches!(after, Phase::Abandoned { .. });
    let is_so = rank(before) <= rank(after) && (!same || before == after) && !aggregated_in_vain;
    holds("a_round_only_goes_forward", is_so, || format!("{before:?} became {after:?}"))
}

/// Checks that model versions are numbered 0, 1, 2 … without gaps, and that they agree with the committed rounds.
pub fn versions_have_no_gap(versions: &[ModelVersionRecord], rounds: &[Round]) -> Holds {
    let committed = rounds.iter().filter_map(|round| match round.phase {
        Phase::Committed { version, .. } => Some((Some(round.id), version)),
        _ => None,
    });
    let expected: Vec<_> = [(None, 0)].into_iter().chain(committed).collect();
    let found: Vec<_> = versions.iter().map(|version| (version.round_id, version.number)).collect();
    holds("versions_have_no_gap", expected == found, || format!("{found:?} instead of {expected:?}"))
}

/// Checks that the weights equal the oracle's result bit for bit.
pub fn weights_are_the_oracles(version: u64, found: &[u8], expected: &[f32]) -> Holds {
    let bytes: Vec<u8> = expected.iter().flat_map(|weight| weight.to_le_bytes()).collect();
    holds("weights_are_the_oracles", found == bytes, || {
        let weights: Vec<f32> = found
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        format!("version {version} is\n  {weights:?}\nand not\n  {expected:?}")
    })
}

/// Checks that a client has sent each accepted update, as a valid update with the same weight.
pub fn what_counts_was_sent<'a>(
    update: &AcceptedUpdate,
    memory: &'a Memory,
) -> Result<&'a RememberedUpdate, Broken> {
    let remembered = memory.get(&(update.assignment_id, update.digest));
    let remembered =
        remembered.ok_or_else(|| broken("what_counts_was_sent", format!("nobody sent {update:?}")))?;
    // The coordinator must learn neither the weight nor the metrics of a masked update.
    let (weight, example_count) = match remembered.is_masked {
        true => (1, 0),
        false => (remembered.weight, remembered.example_count),
    };
    let is_so = weight == update.weight && example_count == update.metrics.example_count;
    holds("what_counts_was_sent", remembered.is_garbage || is_so, || {
        format!("{update:?} was sent as {remembered:?}")
    })?;
    holds("garbage_is_never_accepted", !remembered.is_garbage, || format!("{update:?} counts"))?;
    Ok(remembered)
}

/// Checks that the combined updates are exactly those of the accepted assignments, and that no assignment occurs twice.
pub fn every_assignment_counts_once(updates: &[AcceptedUpdate], assignments: &[AssignmentRecord]) -> Holds {
    let counted: Vec<_> = updates.iter().map(|update| (update.assignment_id, update.digest)).collect();
    let accepted: Vec<_> = assignments.iter().filter_map(accepted_digest).collect();
    holds("every_assignment_counts_once", counted == accepted, || {
        format!("{counted:?} count, accepted {accepted:?}")
    })
}

fn accepted_digest(assignment: &AssignmentRecord) -> Option<(AssignmentId, UpdateDigest)> {
    match assignment.status {
        AssignmentStatus::Accepted { digest, .. } => Some((assignment.id, digest)),
        _ => None,
    }
}

/// Checks that an accepted or dropped assignment never changes its status.
pub fn an_end_is_an_end(before: &AssignmentStatus, after: &AssignmentRecord) -> Holds {
    let is_so = matches!(before, AssignmentStatus::Outstanding) || *before == after.status;
    holds("an_end_is_an_end", is_so, || format!("{} was {before:?} and is {:?}", after.id, after.status))
}

/// Checks that a combined update belongs to an accepted assignment and that no other round combined it.
pub fn an_update_counts_in_one_round(
    update: &AcceptedUpdate,
    status: &AssignmentStatus,
    counted: Option<RoundId>,
    round: RoundId,
) -> Holds {
    let is_accepted = *status == AssignmentStatus::Accepted { digest: update.digest, bytes: update.bytes };
    let is_so = is_accepted && counted.is_none_or(|before| before == round);
    holds("an_update_counts_in_one_round", is_so, || {
        format!("{update:?} is {status:?}, counted in {counted:?} and {round}")
    })
}

/// Checks that a commit stays within the limits of its policy: the staleness of each update, and the number of updates.
pub fn a_commit_keeps_its_bounds(
    description: &TaskDescription,
    round: &Round,
    updates: &[AcceptedUpdate],
) -> Holds {
    let policy = description.scheduling.policy();
    let (fewest, most) = policy.updates();
    let count = updates.len() as u64;
    holds("a_commit_keeps_its_bounds", (fewest..=most).contains(&count), || {
        format!("{count} updates of {fewest} to {most}")
    })?;
    for update in updates {
        let staleness = round.base_version - update.base_version;
        let is_so = policy.staleness_weight(staleness).is_some_and(|weight| weight > 0.0 && weight <= 1.0);
        holds("a_commit_keeps_its_bounds", is_so, || format!("an update is {staleness} versions old"))?;
    }
    Ok(())
}

/// Checks that no client has two outstanding assignments.
pub fn a_client_has_one_assignment(outstanding: impl Iterator<Item = ClientId>) -> Holds {
    let mut clients: BTreeSet<ClientId> = BTreeSet::new();
    for client in outstanding {
        let is_new = clients.insert(client);
        holds("a_client_has_one_assignment", is_new, || format!("{client} has two"))?;
    }
    Ok(())
}

/// Checks that a closed round has no outstanding assignment, and that a committed round had enough updates.
pub fn a_closed_round_waits_for_nobody(round: &Round, assignments: &[AssignmentRecord]) -> Holds {
    let is_closed = round.phase.is_final() || matches!(round.phase, Phase::Aggregating { .. });
    let waits = assignments.iter().any(|assignment| assignment.status == AssignmentStatus::Outstanding);
    holds("a_closed_round_waits_for_nobody", !(is_closed && waits), || format!("round {} does", round.number))
}

/// Checks that an acknowledged update is stored as accepted.
pub fn what_was_answered_is_stored(
    state: UploadState,
    status: &AssignmentStatus,
    digest: Option<UpdateDigest>,
) -> Holds {
    if state != UploadState::Accepted {
        return Ok(());
    }
    let is_so = match (status, digest) {
        (AssignmentStatus::Accepted { digest, .. }, Some(announced)) => *digest == announced,
        (AssignmentStatus::Accepted { .. }, None) => true,
        _ => false,
    };
    holds("what_was_answered_is_stored", is_so, || format!("accepted was said, {status:?} is stored"))
}

/// Checks that a session never uploads two updates with different digests for one assignment.
pub fn a_session_shows_one_digest(before: Option<UpdateDigest>, shown: UpdateDigest) -> Holds {
    let is_so = before.is_none_or(|before| before == shown);
    holds("a_session_shows_one_digest", is_so, || format!("{before:?}, then {shown}"))
}

/// Reports a session that rejected an event. A session must handle every event that can occur.
pub fn no_session_refuses(error: InvalidTransitionError) -> Broken {
    broken("no_session_refuses", error.to_string())
}

/// Checks that a session is never stuck: it either awaits a response or has an alarm within a bounded time.
pub fn a_session_waits_for_something(session: &Session, alarm: Option<u64>) -> Holds {
    let (state, alarm) = (session.state(), alarm.unwrap_or(u64::MAX));
    let is_so = match state.wake_at() {
        Some(wake_at) => alarm <= wake_at.0,
        None => state.request_id().is_some() || session.is_stopped(),
    };
    holds("a_session_waits_for_something", is_so, || format!("the alarm is {alarm}, the state {state:?}"))
}

/// Checks that a request causes an internal error only if a disk has failed.
pub fn no_request_fails_inside(refusal: &Refusal, was_a_disk: bool) -> Holds {
    let is_so = was_a_disk || refusal.code() != folkmoot_protocol::ErrorCode::Internal;
    holds("no_request_fails_inside", is_so, || refusal.to_string())
}

/// Checks that no step of a driver fails while the disks work and no other process writes.
pub fn no_step_fails(error: &DriveError, was_a_disk: bool) -> Holds {
    holds("no_step_fails", was_a_disk, || format!("{error:?}"))
}
