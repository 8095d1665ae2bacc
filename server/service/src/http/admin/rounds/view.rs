//! The API's representation of a round: counts only, never one client's update.

use std::collections::BTreeMap;

use folkmoot_api::rounds::{AwaitedView, DroppedView, RoundFunnelView, RoundView};
use folkmoot_coordinator::{
    round::{Awaited, Outcome},
    task::TaskDescription,
};
use folkmoot_rounds::drivers::Awaits;
use folkmoot_storage::{AssignmentRecord, AssignmentStatus, DropReason, RoundRecord};
use serde::Serialize;

/// Converts a round's record. Counts are omitted if the task hides them.
pub fn round_view(record: &RoundRecord, task: &TaskDescription) -> RoundView {
    let phase_since = record.round.phase.since();
    let Outcome { cohort, accepted, version, reason } = record.round.phase.outcome();
    let tells_counts = !task.hides_counts();
    RoundView {
        id: record.round.id,
        task_id: record.round.task_id,
        number: record.round.number,
        purpose: record.round.purpose.name().into(),
        base_version: record.round.base_version,
        phase: record.round.phase.name().into(),
        phase_since,
        asked_at: record.round.phase.asked(),
        cohort: cohort.filter(|_| tells_counts),
        accepted: accepted.filter(|_| tells_counts),
        version,
        reason,
        created_at: record.created_at,
    }
}

/// Converts the event that a round waits for.
pub fn awaited_view(awaits: Awaits) -> AwaitedView {
    let Awaits { event: Awaited { needed, until, needed_then }, sums_of } = awaits;
    AwaitedView { needed, until, needed_then, sums_of }
}

/// Counts a round's assignments by outcome. All counts are omitted if the task hides them.
pub fn funnel(
    record: &RoundRecord,
    task: &TaskDescription,
    assignments: &[AssignmentRecord],
    awaited: Option<Awaits>,
) -> RoundFunnelView {
    let round = round_view(record, task);
    if task.hides_counts() {
        return RoundFunnelView {
            round,
            cohort: None,
            accepted: None,
            outstanding: None,
            dropped: Vec::new(),
            awaited: awaited.map(awaited_view),
        };
    }
    let (mut accepted, mut outstanding) = (0, 0);
    let mut dropped: BTreeMap<(&str, Option<String>), u64> = BTreeMap::new();
    for assignment in assignments {
        match &assignment.status {
            AssignmentStatus::Accepted { .. } => accepted += 1,
            AssignmentStatus::Outstanding => outstanding += 1,
            AssignmentStatus::Dropped { reason } => *dropped.entry(kind_of(reason)).or_default() += 1,
        }
    }
    let dropped = dropped.into_iter();
    RoundFunnelView {
        round,
        cohort: Some(assignments.len() as u64),
        accepted: Some(accepted),
        outstanding: Some(outstanding),
        dropped: dropped
            .map(|((kind, reason), count)| DroppedView { kind: kind.into(), reason, count })
            .collect(),
        awaited: awaited.map(awaited_view),
    }
}

/// Returns the kind of a drop reason and its code, without any text that the client wrote.
pub fn kind_of(reason: &DropReason) -> (&'static str, Option<String>) {
    match reason {
        DropReason::Expired => ("expired", None),
        DropReason::LeftBehind => ("left_behind", None),
        DropReason::Aborted { reason, .. } => ("aborted", word(reason)),
        DropReason::Refused { code } => ("refused", Some(code.to_string())),
    }
}

/// Returns the string that represents a value in JSON.
fn word(value: &impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned))
}

#[cfg(test)]
#[path = "../../../../tests/unit/rounds_view.rs"]
mod tests;
