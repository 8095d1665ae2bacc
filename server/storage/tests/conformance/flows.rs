//! Flow rounds, and the histories of clients.

use std::collections::BTreeMap;

use folkmoot_coordinator::{
    participation::{History, StartClocks},
    round::{AbandonReason, Phase, Purpose},
    scheduling::ReportCounts,
};
use folkmoot_protocol::{ClassMetrics, ClassReport, ClientId, Metric, MetricValues, RoundId};
use folkmoot_storage::{
    AcceptOutcome, AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus,
    CheckInRepository, DropReason, EvaluationRecord, EvaluationRepository, EvaluationSource,
    ModelVersionRecord, ModelVersionRepository, ParticipationRepository, Rest, RoundCommit, RoundRecord,
    RoundRepository, Storage, StorageError, TaskRepository,
};

use super::fixture::{
    Fixture, NOW, aggregating, commit_of, committed, fresh, later, reporting, stored, update_of, version_of,
    with_phase,
};

/// Opens a round that accepts at most two updates, with an assignment for each of three clients.
async fn collecting(fixture: &Fixture) -> Result<(RoundRecord, Vec<AssignmentRecord>), StorageError> {
    let task = fixture.task().await?;
    let record = RoundRecord { updates_max: Some(2), ..fixture.round_record(task.id, 1) };
    let record = with_phase(record, Phase::Collecting { since: NOW });
    fixture.storage.open_round(&record).await?;
    let clients = fixture.waiting_clients(3).await?;
    let assignments = fixture.assignments_of(&record, &clients);
    let clocks = StartClocks { first: 4, granted_until: [(assignments[0].client_id, 9)].into() };
    fixture.storage.assign(&record, &assignments, &clocks).await?;
    Ok((stored(record), assignments))
}

pub(super) async fn who_failed_in_a_flow_is_counted_with_its_round(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = collecting(&fixture).await?;
    let task_id = record.round.task_id;
    storage.drop_assignment(assignments[0].id, &DropReason::Expired, later(1)).await?;
    assert_eq!(storage.accept_update(&update_of(&assignments[1])).await?, AcceptOutcome::Accepted);
    let counts = storage.flow_counts(task_id, record.round.id).await?;
    assert_eq!(counts, ReportCounts { accepted: 1, outstanding: 1, dropped: 1 });
    Ok(())
}

pub async fn an_update_that_finds_the_round_full_counts_in_the_next(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = collecting(&fixture).await?;
    let task_id = record.round.task_id;
    for (assignment, expected) in
        assignments.iter().zip([AcceptOutcome::Accepted, AcceptOutcome::Accepted, AcceptOutcome::Later])
    {
        assert_eq!(storage.accept_update(&update_of(assignment)).await?, expected);
    }
    let counts = storage.flow_counts(task_id, record.round.id).await?;
    assert_eq!(counts, ReportCounts { accepted: 2, outstanding: 1, dropped: 0 });
    let closed = aggregating(record, 2);
    assert_eq!(storage.close_reporting(&closed, Rest::GoesOn, NOW).await?.len(), 2);
    let late = update_of(&assignments[2]);
    assert_eq!(storage.accept_update(&late).await?, AcceptOutcome::Later, "the round aggregates");
    let next = with_phase(fixture.round_record(task_id, 2), Phase::Collecting { since: NOW });
    let record = committed(stored(closed), 1);
    let version = ModelVersionRecord { round_id: Some(record.round.id), ..version_of(task_id, 1) };
    storage.commit_round(&RoundCommit { next: Some(&next), ..commit_of(&record, &version, None) }).await?;
    assert_eq!(storage.unfinished_rounds(task_id).await?.as_slice(), std::slice::from_ref(&next));
    assert_eq!(storage.outstanding(task_id).await?[0].assignment_id, assignments[2].id);
    let needed = storage.needed_logs().await?;
    assert!(needed.contains(&(assignments[2].round_id, assignments[2].id)), "it continues");
    assert!(!needed.contains(&(assignments[0].round_id, assignments[0].id)), "it is committed");
    assert_eq!(storage.accept_update(&late).await?, AcceptOutcome::Accepted);
    assert_eq!(storage.accepted_updates(next.round.id).await?.as_slice(), std::slice::from_ref(&late));
    assert_eq!(late.round_id, assignments[2].round_id, "its log belongs to the round of the assignment");
    Ok(())
}

pub(super) async fn a_commit_leaves_behind_whom_it_names(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = collecting(&fixture).await?;
    storage.accept_update(&update_of(&assignments[0])).await?;
    let closed = aggregating(record, 1);
    storage.close_reporting(&closed, Rest::GoesOn, NOW).await?;
    let next = with_phase(fixture.round_record(closed.round.task_id, 2), Phase::Collecting { since: NOW });
    let record = committed(stored(closed), 1);
    let version = version_of(record.round.task_id, 1);
    let dropped = [assignments[1].id, assignments[0].id];
    let commit = RoundCommit { next: Some(&next), dropped: &dropped, ..commit_of(&record, &version, None) };
    storage.commit_round(&commit).await?;
    let mut statuses = Vec::new();
    for assignment in &assignments {
        statuses.extend(storage.assignment(assignment.id).await?.map(|assignment| assignment.status));
    }
    assert!(matches!(statuses[0], AssignmentStatus::Accepted { .. }), "accepted updates stay accepted");
    assert_eq!(statuses[1], AssignmentStatus::Dropped { reason: DropReason::LeftBehind });
    assert_eq!(statuses[2], AssignmentStatus::Outstanding);
    let closed = storage.accept_update(&update_of(&assignments[1])).await?;
    assert_eq!(closed, AcceptOutcome::Closed);
    let phase = Phase::Abandoned { at: NOW, reason: AbandonReason::TaskPaused };
    storage.abandon_round(&with_phase(next, phase), NOW).await?;
    let last = storage.assignment(assignments[2].id).await?.map(|assignment| assignment.status);
    let expired = Some(AssignmentStatus::Dropped { reason: DropReason::Expired });
    assert_eq!(last, expired, "the end of the flow ends outstanding assignments of every round");
    Ok(())
}

pub(super) async fn those_in_a_flow_are_counted_by_token(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = collecting(&fixture).await?;
    let count = async || storage.flow_tokens(record.round.task_id, record.round.id).await;
    let token = Some(fixture.token_id.clone());
    assert_eq!(count().await?, [(token.clone(), 3)].into());
    storage.accept_update(&update_of(&assignments[0])).await?;
    assert_eq!(
        count().await?,
        [(token.clone(), 3)].into(),
        "an update counts in the place of its assignment"
    );
    storage.drop_assignment(assignments[1].id, &DropReason::Expired, later(1)).await?;
    assert_eq!(count().await?, [(token.clone(), 2)].into());
    let elsewhere = RoundId::from_random_bytes(fresh());
    let others = storage.flow_tokens(record.round.task_id, elsewhere).await?;
    assert_eq!(others, [(token, 1)].into(), "what counted in another round does not");
    Ok(())
}

pub(super) async fn what_clients_did_is_remembered(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = collecting(&fixture).await?;
    let task_id = record.round.task_id;
    storage.accept_update(&update_of(&assignments[0])).await?;
    let aborted = DropReason::Expired;
    storage.drop_assignment(assignments[1].id, &aborted, later(9)).await?;
    storage.drop_assignment(assignments[1].id, &aborted, later(99)).await?;
    let histories = storage.participations(task_id).await?;
    let of = |client: ClientId| -> History {
        histories.iter().find(|(id, _)| *id == client).map(|(_, history)| history.clone()).unwrap_or_default()
    };
    let [pushed, failed, started] = [0, 1, 2].map(|index: usize| of(assignments[index].client_id));
    assert_eq!((pushed.starts, pushed.clock, pushed.pushed_at), (1, 5, [None, Some(later(1))]));
    assert_eq!([pushed.granted_until, failed.granted_until], [9, 0]);
    assert_eq!((pushed.milliseconds, pushed.example_count), (Some(1000), 12));
    assert_eq!((failed.failures, failed.failed_at, failed.clock), (1, Some(later(9)), 4));
    assert_eq!(
        (started.starts, started.clock, started.failures),
        (1, 4, 0),
        "a clock begins where it is told to"
    );
    let served = storage.task_of_any_organisation(task_id).await?.map(|task| task.served);
    assert_eq!(served, Some(3));

    let client_id = assignments[0].client_id;
    assert!(storage.check_in(&fixture.check_in_of(client_id)).await?);
    let newcomer = fixture.waiting_clients(1).await?[0];
    let waiting = storage.waiting_for(fixture.organisation_id, &fixture.population, task_id, NOW).await?;
    let clocks: Vec<(ClientId, u64)> =
        waiting.iter().map(|one| (one.candidate.client_id, one.history.clock)).collect();
    let mut expected = vec![(client_id, 5), (newcomer, 0)];
    expected.sort();
    assert_eq!(clocks, expected);
    assert!(waiting.iter().all(|one| one.candidate.sdk_version == "1.2.3"));
    Ok(())
}

/// A client whose assignment ended before its deadline must not be recorded as failed.
pub(super) async fn who_had_all_the_time_has_failed(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = collecting(&fixture).await?;
    let task_id = record.round.task_id;
    let closed = aggregating(record, 0);
    storage.close_reporting(&closed, Rest::GoesOn, NOW).await?;
    let next = with_phase(fixture.round_record(task_id, 2), Phase::Collecting { since: NOW });
    let (record, version) = (committed(stored(closed), 1), version_of(task_id, 1));
    let dropped = [assignments[0].id];
    let commit = RoundCommit { next: Some(&next), dropped: &dropped, ..commit_of(&record, &version, None) };
    storage.commit_round(&commit).await?;
    let clients = fixture.waiting_clients(1).await?;
    let mut patient = fixture.assignments_of(&next, &clients);
    patient[0].deadline = later(601);
    storage.assign(&next, &patient, &StartClocks::default()).await?;
    let phase = Phase::Abandoned { at: later(600), reason: AbandonReason::TaskPaused };
    storage.abandon_round(&with_phase(stored(next), phase), later(600)).await?;
    let histories: BTreeMap<ClientId, History> = storage.participations(task_id).await?.into_iter().collect();
    let failed = |assignment: &AssignmentRecord| {
        let history = &histories[&assignment.client_id];
        (history.failures, history.failed_at)
    };
    assert_eq!(failed(&assignments[0]), (0, None), "it was left behind");
    assert_eq!(failed(&assignments[1]), (1, Some(later(600))), "its deadline has passed");
    assert_eq!(failed(&assignments[2]), (1, Some(later(600))));
    assert_eq!(failed(&patient[0]), (0, None), "it had a second left");
    assert_eq!(storage.outstanding(task_id).await?, []);
    Ok(())
}

/// The round and version of an accepted update come from the assignment, not from the update.
pub(super) async fn an_update_is_of_its_assignment(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = collecting(&fixture).await?;
    let update = update_of(&assignments[0]);
    let round_id = RoundId::from_random_bytes(fresh());
    storage.accept_update(&AcceptedUpdate { round_id, base_version: 7, ..update.clone() }).await?;
    assert_eq!(storage.accepted_updates(record.round.id).await?, [update]);
    assert_eq!(storage.accepted_updates(round_id).await?, []);
    let needed = storage.needed_logs().await?;
    assert!(needed.contains(&(record.round.id, assignments[0].id)), "it waits for its commit");
    Ok(())
}

pub(super) async fn an_evaluation_runs_beside_a_training(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (training, _) = collecting(&fixture).await?;
    let task_id = training.round.task_id;
    let mut record = fixture.round_record(task_id, 2);
    (record.round.purpose, record.round.base_version) = (Purpose::Evaluation, 0);
    storage.open_round(&record).await?;
    assert_eq!(storage.unfinished_rounds(task_id).await?, [training.clone(), record.clone()]);
    assert_eq!(storage.unfinished_round(task_id).await?, Some(training));
    let clients = fixture.waiting_clients(2).await?;
    let assignments = fixture.assignments_of(&record, &clients);
    let record = reporting(record, 2);
    storage.assign(&record, &assignments, &StartClocks::default()).await?;
    assert_eq!(storage.outstanding(task_id).await?.len(), 3, "those that evaluate do not train");
    assert_eq!(storage.accept_update(&update_of(&assignments[0])).await?, AcceptOutcome::Accepted);
    let closed = aggregating(stored(record), 1);
    assert_eq!(storage.close_reporting(&closed, Rest::Expires, NOW).await?.len(), 1);
    assert_eq!(storage.outstanding(task_id).await?.len(), 3, "those that train do not expire with it");
    let of = |slice: &str, clients: u64| EvaluationRecord {
        organisation_id: fixture.organisation_id,
        task_id,
        version: 0,
        source: EvaluationSource::Federated,
        slice: slice.into(),
        client_count: clients,
        metrics: version_of(task_id, 3).metrics,
        values: MetricValues::default(),
        classes: None,
        created_at: NOW,
    };
    let evaluations = [of("", 1), of("os=linux", 1)];
    let ended = with_phase(stored(closed), Phase::Evaluated { at: NOW, cohort: 2, accepted: 1 });
    storage.end_evaluation(&ended, &evaluations).await?;
    let central = EvaluationRecord {
        source: EvaluationSource::Central,
        values: MetricValues::new([(Metric::F1Macro, Some(0.625)), (Metric::RocAuc, Some(0.75))]),
        classes: Some(ClassReport {
            classes: vec![ClassMetrics {
                class: 0,
                label_count: 3,
                recall: Some(0.5),
                ..ClassMetrics::default()
            }],
            confusion: vec![vec![3]],
        }),
        ..of("", 0)
    };
    storage.record_evaluation(&central).await?;
    storage.record_evaluation(&EvaluationRecord { client_count: 7, ..central.clone() }).await?;
    let listed = EvaluationRecord { classes: None, ..central.clone() };
    assert_eq!(storage.evaluations(task_id).await?, [listed, evaluations[0].clone()]);
    assert_eq!(storage.evaluations_at(task_id, 0).await?, [central, evaluations[0].clone()]);
    assert_eq!(storage.evaluations_at(task_id, 1).await?, []);
    assert_eq!(storage.last_evaluated(task_id, EvaluationSource::Federated).await?, Some(0));
    assert_eq!(storage.evaluation_slices(task_id).await?, evaluations[1..]);
    let again = storage.end_evaluation(&ended, &[]).await;
    assert!(matches!(again, Err(StorageError::RevisionConflict("round"))), "{again:?}");
    Ok(())
}

pub(super) async fn a_version_can_be_released_without_a_round(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task().await?;
    let mut version = version_of(task.id, 1);
    version.making.rolled_back_to = Some(0);
    storage.release_version(fixture.organisation_id, &version).await?;
    assert_eq!(storage.latest_model_version(task.id).await?, Some(version.clone()));
    let again = storage.release_version(fixture.organisation_id, &version).await;
    assert!(matches!(again, Err(StorageError::RevisionConflict("model version"))), "{again:?}");
    assert_eq!(storage.first_round_at(task.id).await?, None);
    fixture.open_round(task.id, 1).await?;
    assert_eq!(storage.first_round_at(task.id).await?, Some(NOW));
    Ok(())
}
