//! The lifecycle of a round.

use folkmoot_coordinator::{
    participation::StartClocks,
    round::{AbandonReason, Phase, Purpose},
    task::{StopReason, TaskState, abandoned_in_a_row},
};
use folkmoot_protocol::{AssignmentId, RoundId, TaskId};
use folkmoot_storage::{
    AssignmentRepository, AssignmentStatus, CheckInRepository, DropReason, ModelVersionRecord,
    ModelVersionRepository, ParticipationRepository, Rest, RoundCommit, RoundRecord, RoundRepository,
    Storage, StorageError, TaskRepository,
};

use super::fixture::{
    Fixture, NOW, aggregating, commit_of, committed, fresh, later, reporting, stored, update_of, version_of,
    with_phase,
};

pub(super) async fn a_task_has_one_open_round(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let task = fixture.task().await?;
    assert_eq!(storage.unfinished_round(task.id).await?, None);
    let record = fixture.open_round(task.id, 1).await?;
    assert_eq!(storage.unfinished_round(task.id).await?, Some(record.clone()));
    assert_eq!(storage.round(fixture.organisation_id, record.round.id).await?, Some(record.clone()));
    assert_eq!(storage.round(other.organisation_id, record.round.id).await?, None);
    let second = storage.open_round(&fixture.round_record(task.id, 2)).await;
    assert!(matches!(second, Err(StorageError::RevisionConflict("round"))), "{second:?}");
    let phase = Phase::Abandoned { at: NOW, reason: AbandonReason::TooFewClients };
    storage.abandon_round(&with_phase(record, phase), NOW).await?;
    let same_number = storage.open_round(&fixture.round_record(task.id, 1)).await;
    assert!(matches!(same_number, Err(StorageError::RevisionConflict("round"))), "{same_number:?}");
    fixture.open_round(task.id, 2).await?;
    for (owner, task_id) in [(&other, task.id), (&fixture, TaskId::from_random_bytes(fresh()))] {
        let refused = storage.open_round(&owner.round_record(task_id, 3)).await;
        assert!(refused.is_err(), "another organisation's task, or none, is rejected: {refused:?}");
    }
    Ok(())
}

pub(super) async fn rounds_are_listed_in_pages(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task().await?;
    let phase = Phase::Abandoned { at: NOW, reason: AbandonReason::TooFewClients };
    let mut rounds = Vec::new();
    for number in 1..=4 {
        let record = with_phase(fixture.open_round(task.id, number).await?, phase.clone());
        storage.abandon_round(&record, NOW).await?;
        rounds.insert(0, stored(record));
    }
    assert_eq!(storage.rounds(task.id, 3, None).await?, rounds[..3]);
    assert_eq!(storage.rounds(task.id, 3, Some(2)).await?, rounds[3..]);
    assert_eq!(storage.rounds(task.id, 9, Some(u64::MAX)).await?, rounds);
    assert_eq!(storage.round_counts(task.id).await?, (4, 0));
    assert_eq!(storage.round_counts(TaskId::from_random_bytes(fresh())).await?, (0, 0));
    Ok(())
}

pub(super) async fn a_round_runs_to_its_commit(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(3).await?;
    assert_eq!(storage.round(fixture.organisation_id, record.round.id).await?, Some(record.clone()));
    assert_eq!(storage.assignments(record.round.id).await?, assignments);
    let updates = [update_of(&assignments[0]), update_of(&assignments[2])];
    for update in &updates {
        storage.accept_update(update).await?;
    }
    let record = aggregating(record, 2);
    assert_eq!(storage.close_reporting(&record, Rest::Expires, later(5)).await?, updates);
    let late = storage.assignment(assignments[1].id).await?.map(|assignment| assignment.status);
    assert_eq!(late, Some(AssignmentStatus::Dropped { reason: DropReason::Expired }));
    let record = committed(stored(record), 1);
    let task_id = record.round.task_id;
    let version = ModelVersionRecord { round_id: Some(record.round.id), ..version_of(task_id, 1) };
    let completed = TaskState::Completed { reason: StopReason::Rounds };
    storage.commit_round(&commit_of(&record, &version, Some(completed))).await?;
    assert_eq!(storage.latest_model_version(task_id).await?, Some(version));
    assert_eq!(storage.unfinished_round(task_id).await?, None);
    assert_eq!(storage.round_counts(task_id).await?, (1, 1));
    assert_eq!(storage.rounds(task_id, 1, None).await?, [stored(record)]);
    let task = storage.task_of_any_organisation(task_id).await?;
    assert_eq!(task.map(|task| (task.state, task.revision)), Some((completed, 1)));
    Ok(())
}

pub(super) async fn a_round_remembers_that_it_asked(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(3).await?;
    let task_id = record.round.task_id;
    storage.accept_update(&update_of(&assignments[0])).await?;
    let asked = with_phase(record, Phase::Reporting { since: NOW, cohort: 3, asked: Some(later(2)) });
    storage.store_phase(&asked).await?;
    assert_eq!(storage.unfinished_round(task_id).await?, Some(stored(asked.clone())));
    let again = storage.store_phase(&asked).await;
    assert!(matches!(again, Err(StorageError::RevisionConflict("round"))), "{again:?}");
    storage.accept_update(&update_of(&assignments[1])).await?;
    let histories = storage.participations(task_id).await?;
    let milliseconds = |client| {
        let (_, history) = histories.iter().find(|(id, _)| *id == client).expect("it has a history");
        history.milliseconds
    };
    let learnt = [0, 1].map(|place: usize| milliseconds(assignments[place].client_id));
    assert_eq!(
        learnt,
        [Some(1000), None],
        "how long an asked training took tells nothing of the client's speed"
    );
    let closed = aggregating(stored(asked), 2);
    assert_eq!(storage.close_reporting(&closed, Rest::Expires, later(5)).await?.len(), 2);
    Ok(())
}

pub(super) async fn a_round_is_abandoned(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(2).await?;
    storage.accept_update(&update_of(&assignments[0])).await?;
    let phase = Phase::Abandoned { at: NOW, reason: AbandonReason::TooFewReports };
    let record = with_phase(record, phase);
    storage.abandon_round(&record, NOW).await?;
    assert_eq!(storage.round(fixture.organisation_id, record.round.id).await?, Some(stored(record.clone())));
    let counts = storage.report_counts(record.round.id).await?;
    assert_eq!((counts.accepted, counts.outstanding, counts.dropped), (1, 0, 1));
    assert!(storage.check_in(&fixture.check_in_of(assignments[1].client_id)).await?, "its clients are free");
    Ok(())
}

/// The number that SQL counts must equal the number that the coordinator's rule finds in the records.
pub(super) async fn rounds_abandoned_in_a_row_are_counted(storage: &Storage) -> Result<(), StorageError> {
    use AbandonReason::{CommitFailed, TaskPaused, TooFewClients, TooFewReports};
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let task = fixture.task().await?;
    assert_eq!(storage.abandoned_in_a_row(task.id, 0).await?, (0, 0));
    let abandoned = |reason| Phase::Abandoned { at: NOW, reason };
    let version = Phase::Committed { at: NOW, cohort: 2, accepted: 2, version: 1 };
    let phases = [
        (Purpose::Training, abandoned(TooFewReports)),
        (Purpose::Training, version),
        (Purpose::Training, abandoned(TooFewReports)),
        (Purpose::Evaluation, abandoned(TooFewReports)),
        (Purpose::Training, abandoned(CommitFailed)),
        (Purpose::Training, abandoned(TooFewClients)),
        (Purpose::Training, abandoned(TaskPaused)),
        (Purpose::Training, Phase::Selecting { since: NOW }),
    ];
    for (number, (purpose, phase)) in (1..).zip(phases) {
        let mut record = with_phase(fixture.round_record(task.id, number), phase);
        record.round.purpose = purpose;
        storage.open_round(&record).await?;
    }
    let elsewhere = other.task().await?;
    storage.open_round(&with_phase(other.round_record(elsewhere.id, 1), abandoned(TooFewReports))).await?;
    let rounds = storage.rounds(task.id, 100, None).await?;
    for (after, expected) in [(0, (2, 5)), (3, (1, 5)), (4, (1, 5)), (5, (0, 0)), (100, (0, 0))] {
        assert_eq!(storage.abandoned_in_a_row(task.id, after).await?, expected, "after round {after}");
        let rule = abandoned_in_a_row(rounds.iter().map(|record| &record.round), after);
        assert_eq!(rule, expected.0, "after round {after}");
    }
    assert_eq!(storage.abandoned_in_a_row(elsewhere.id, 0).await?, (1, 1));
    Ok(())
}

pub(super) async fn a_stale_revision_changes_nothing(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let (record, assignments) = fixture.reporting(1).await?;
    storage.accept_update(&update_of(&assignments[0])).await?;
    let stale = RoundRecord { revision: record.revision - 1, ..record.clone() };
    let foreign = RoundRecord { organisation_id: other.organisation_id, ..record.clone() };
    let mut missing = record.clone();
    missing.round.id = RoundId::from_random_bytes(fresh());
    for wrong in [stale, foreign, missing] {
        let version = version_of(record.round.task_id, 1);
        let abandoned = Phase::Abandoned { at: NOW, reason: AbandonReason::TooFewReports };
        let results = [
            storage.assign(&wrong, &[], &StartClocks::default()).await,
            storage.close_reporting(&aggregating(wrong.clone(), 1), Rest::Expires, NOW).await.map(|_| ()),
            storage
                .commit_round(&commit_of(&committed(wrong.clone(), 1), &version, Some(TaskState::Cancelled)))
                .await,
            storage.abandon_round(&with_phase(wrong, abandoned), NOW).await,
        ];
        for result in results {
            assert!(matches!(result, Err(StorageError::RevisionConflict("round"))), "{result:?}");
        }
    }
    assert_eq!(storage.unfinished_round(record.round.task_id).await?, Some(record.clone()));
    assert_eq!(storage.model_version(record.round.task_id, 1).await?, None);
    let not_aggregating = storage.close_reporting(&record, Rest::Expires, NOW).await;
    assert!(matches!(not_aggregating, Err(StorageError::RevisionConflict("round"))), "{not_aggregating:?}");
    Ok(())
}

pub(super) async fn a_selection_keeps_its_state_with_its_draw(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (task, other) = (fixture.task().await?.id, fixture.task().await?.id);
    let record = fixture.open_round(task, 1).await?;
    let clients = fixture.waiting_clients(2).await?;
    let assignments = fixture.assignments_of(&record, &clients);
    assert!(storage.selection_state(task).await?.is_empty());
    let next = reporting(record.clone(), 2);
    let clocks = StartClocks::default();
    storage.assign_and_keep(&next, &assignments, &clocks, Some(&[1, 0, 255])).await?;
    assert_eq!(storage.selection_state(task).await?, [1, 0, 255]);
    // A draw that is not stored keeps nothing.
    let result = storage.assign_and_keep(&next, &[], &clocks, Some(&[2])).await;
    assert!(matches!(result, Err(StorageError::RevisionConflict("round"))), "{result:?}");
    assert_eq!(storage.selection_state(task).await?, [1, 0, 255]);
    let next = stored(next);
    storage.assign_and_keep(&next, &[], &clocks, None).await?;
    assert_eq!(storage.selection_state(task).await?, [1, 0, 255]);
    storage.assign_and_keep(&stored(next), &[], &clocks, Some(&[])).await?;
    assert!(storage.selection_state(task).await?.is_empty());
    assert!(storage.selection_state(other).await?.is_empty());
    Ok(())
}

pub(super) async fn a_cohort_that_is_not_free_stores_nothing(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task().await?;
    let record = fixture.open_round(task.id, 1).await?;
    let waiting = fixture.waiting_clients(2).await?;
    let gone = fixture.waiting_clients(1).await?[0];
    assert!(storage.withdraw_check_in(gone).await?);
    let (_, busy) = fixture.reporting(1).await?;
    let pool = storage.waiting(fixture.organisation_id, &fixture.population, NOW).await?;
    for bad in [gone, busy[0].client_id, waiting[0]] {
        let assignments = fixture.assignments_of(&record, &[waiting[0], waiting[1], bad]);
        let result =
            storage.assign(&reporting(record.clone(), 3), &assignments, &StartClocks::default()).await;
        assert!(matches!(result, Err(StorageError::RevisionConflict("cohort"))), "{result:?}");
    }
    assert_eq!(storage.unfinished_round(task.id).await?, Some(record.clone()));
    assert_eq!(storage.assignments(record.round.id).await?, []);
    assert_eq!(storage.waiting(fixture.organisation_id, &fixture.population, NOW).await?, pool);
    Ok(())
}

pub(super) async fn a_count_that_is_out_of_date_does_not_close(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(2).await?;
    storage.accept_update(&update_of(&assignments[0])).await?;
    for wrong in [0, 2] {
        let result = storage.close_reporting(&aggregating(record.clone(), wrong), Rest::Expires, NOW).await;
        assert!(matches!(result, Err(StorageError::RevisionConflict("round"))), "{result:?}");
    }
    assert_eq!(storage.unfinished_round(record.round.task_id).await?, Some(record.clone()));
    assert_eq!(storage.report_counts(record.round.id).await?.outstanding, 1, "nobody expired");
    assert_eq!(storage.close_reporting(&aggregating(record, 1), Rest::Expires, NOW).await?.len(), 1);
    Ok(())
}

pub(super) async fn a_version_is_released_once(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, _) = fixture.reporting(1).await?;
    let record = aggregating(record, 0);
    storage.close_reporting(&record, Rest::Expires, NOW).await?;
    let task_id = record.round.task_id;
    let record = committed(stored(record), 0);
    let result =
        storage.commit_round(&commit_of(&record, &version_of(task_id, 0), Some(TaskState::Cancelled))).await;
    assert!(matches!(result, Err(StorageError::RevisionConflict("model version"))), "{result:?}");
    let open = storage.unfinished_round(task_id).await?;
    assert_eq!(open.map(|record| record.round.phase.name()), Some("aggregating"));
    let task = storage.task_of_any_organisation(task_id).await?;
    assert_eq!(task.map(|task| task.state), Some(TaskState::Draft));
    Ok(())
}

pub(super) async fn a_commit_that_cannot_be_whole_leaves_nothing(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(2).await?;
    let task_id = record.round.task_id;
    let record = aggregating(record, 0);
    storage.close_reporting(&record, Rest::GoesOn, NOW).await?;
    let aggregating = stored(record);
    let record = committed(aggregating.clone(), 1);
    let version = ModelVersionRecord { round_id: Some(record.round.id), ..version_of(task_id, 1) };
    let whole = commit_of(&record, &version, Some(TaskState::Cancelled));
    let unknown = [assignments[0].id, AssignmentId::from_random_bytes(fresh())];
    let same_number = fixture.round_record(task_id, 1);
    let of_nobody = fixture.round_record(TaskId::from_random_bytes(fresh()), 2);
    let stray = ModelVersionRecord { round_id: Some(of_nobody.round.id), ..version.clone() };
    for broken in [
        RoundCommit { dropped: &unknown, ..whole },
        RoundCommit { next: Some(&same_number), ..whole },
        RoundCommit { next: Some(&of_nobody), ..whole },
        RoundCommit { version: &stray, ..whole },
    ] {
        assert!(storage.commit_round(&broken).await.is_err(), "{broken:?}");
    }
    assert_eq!(storage.unfinished_rounds(task_id).await?, [aggregating]);
    assert_eq!(storage.model_version(task_id, 1).await?, None);
    assert_eq!(storage.outstanding(task_id).await?.len(), 2);
    let state = storage.task_of_any_organisation(task_id).await?.map(|task| task.state);
    assert_eq!(state, Some(TaskState::Draft));
    storage.commit_round(&whole).await?;
    assert_eq!(storage.outstanding(task_id).await?, [], "without a round that follows, they expire");
    Ok(())
}

pub(super) async fn a_task_that_was_cancelled_stays_cancelled(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, _) = fixture.reporting(1).await?;
    let record = aggregating(record, 0);
    storage.close_reporting(&record, Rest::Expires, NOW).await?;
    let task_id = record.round.task_id;
    storage.set_task_state(task_id, TaskState::Cancelled, 0).await?;
    let completed = TaskState::Completed { reason: StopReason::Rounds };
    storage
        .commit_round(&commit_of(&committed(stored(record), 1), &version_of(task_id, 1), Some(completed)))
        .await?;
    assert!(storage.model_version(task_id, 1).await?.is_some());
    let task = storage.task_of_any_organisation(task_id).await?;
    assert_eq!(task.map(|task| (task.state, task.revision)), Some((TaskState::Cancelled, 1)));
    Ok(())
}

pub(super) async fn a_large_cohort_is_stored_as_a_whole(storage: &Storage) -> Result<(), StorageError> {
    // This is more than the rows of two statements.
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(1_100).await?;
    assert_eq!(storage.assignments(record.round.id).await?, assignments);
    assert_eq!(storage.report_counts(record.round.id).await?.outstanding, 1_100);
    assert_eq!(storage.waiting(fixture.organisation_id, &fixture.population, NOW).await?, []);
    Ok(())
}
