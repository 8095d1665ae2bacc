//! Tests of the private parts of `src/http/admin/rounds/view.rs`.

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
