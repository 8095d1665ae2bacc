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
mod tests {
    use folkmoot_coordinator::round::{Phase, Purpose, Round};
    use folkmoot_protocol::{
        AssignmentId, ClientId, ErrorCode, OrganisationId, RoundId, TaskId, Timestamp, UpdateDigest,
        messages::AbortReason,
    };

    use super::*;

    fn assignment(status: AssignmentStatus) -> AssignmentRecord {
        AssignmentRecord {
            id: AssignmentId::from_random_bytes([1; 16]),
            organisation_id: OrganisationId::from_random_bytes([2; 16]),
            task_id: TaskId::from_random_bytes([3; 16]),
            round_id: RoundId::from_random_bytes([4; 16]),
            round_number: 1,
            purpose: Purpose::Training,
            client_id: ClientId::from_random_bytes([5; 16]),
            base_version: 0,
            created_at: Timestamp(0),
            deadline: Timestamp(1),
            slices: BTreeMap::new(),
            status,
        }
    }

    fn task(claims_sampling: bool) -> TaskDescription {
        let plan = serde_json::json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 16,
        });
        let scheduling = serde_json::json!({ "kind": "synchronous", "report_goal": 8 });
        let mut description = serde_json::json!({
            "name": "digits", "population": "digits", "plan": plan, "scheduling": scheduling, "stop": { "rounds": 30 },
        });
        if claims_sampling {
            description["selection"] = serde_json::json!({ "kind": "poisson", "sampling_rate": 0.1 });
            description["privacy"] = serde_json::json!({
                "kind": "central", "epsilon": 8.0, "delta": 1e-5, "amplification": "poisson",
            });
        }
        serde_json::from_value(description).unwrap()
    }

    fn record(phase: Phase) -> RoundRecord {
        RoundRecord {
            organisation_id: OrganisationId::from_random_bytes([2; 16]),
            round: Round {
                id: RoundId::from_random_bytes([4; 16]),
                task_id: TaskId::from_random_bytes([3; 16]),
                number: 1,
                purpose: Purpose::Training,
                base_version: 0,
                phase,
            },
            updates_max: None,
            created_at: Timestamp(0),
            revision: 0,
        }
    }

    #[test]
    fn of_a_sample_nothing_is_counted() {
        let phases = [
            Phase::Reporting { since: Timestamp(0), cohort: 5, asked: Some(Timestamp(1)) },
            Phase::Aggregating { since: Timestamp(0), cohort: 5, accepted: 4 },
            Phase::Committed { at: Timestamp(0), cohort: 5, accepted: 4, version: 1 },
        ];
        for phase in phases {
            let record = record(phase);
            let told = round_view(&record, &task(false));
            let hidden = round_view(&record, &task(true));
            assert_eq!((told.cohort, hidden.cohort, hidden.accepted), (Some(5), None, None));
            assert_eq!(hidden, RoundView { cohort: None, accepted: None, ..told });
            let shown = funnel(&record, &task(true), &[assignment(AssignmentStatus::Outstanding)], None);
            let RoundFunnelView { round, cohort, accepted, outstanding, dropped, awaited: _ } = shown;
            assert_eq!((round, cohort, accepted, outstanding), (hidden, None, None, None));
            assert_eq!(dropped, []);
        }
    }

    #[test]
    fn a_funnel_counts_every_assignment_once() {
        let record = record(Phase::Reporting { since: Timestamp(0), cohort: 5, asked: None });
        let gave_up = || DropReason::Aborted { reason: AbortReason::TrainingFailed, detail: "secret".into() };
        let refused = DropReason::Refused { code: ErrorCode::UpdateValueNotFinite };
        let shown = funnel(
            &record,
            &task(false),
            &[
                assignment(AssignmentStatus::Accepted { digest: UpdateDigest::of(b""), bytes: 112 }),
                assignment(AssignmentStatus::Outstanding),
                assignment(AssignmentStatus::Dropped { reason: gave_up() }),
                assignment(AssignmentStatus::Dropped { reason: gave_up() }),
                assignment(AssignmentStatus::Dropped { reason: refused }),
            ],
            None,
        );
        assert_eq!((shown.cohort, shown.accepted, shown.outstanding), (Some(5), Some(1), Some(1)));
        let dropped = |kind: &str, reason: &str, count| DroppedView {
            kind: kind.into(),
            reason: Some(reason.into()),
            count,
        };
        let expected =
            [dropped("aborted", "training_failed", 2), dropped("refused", "update_value_not_finite", 1)];
        assert_eq!(shown.dropped, expected);
    }
}
