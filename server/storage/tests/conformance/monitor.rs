//! Statistics, which only a database provides.

use folkmoot_coordinator::{
    participation::StartClocks,
    round::{AbandonReason, Phase},
    task::TaskState,
};
use folkmoot_protocol::{Timestamp, messages::ReportRequest};
use folkmoot_storage::{
    AssignmentRepository, AssignmentStatus, ModelVersionRecord, Rest, RoundRepository, Storage, StorageError,
    TaskRepository, VersionTraffic,
};

use super::fixture::{
    Fixture, NOW, aggregating, commit_of, committed, later, reporting, stored, update_of, version_of,
    with_phase,
};

pub(super) async fn what_happened_is_counted(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let organisation = fixture.organisation_id;
    let Ok(database) = storage.database() else {
        let refused = storage.database();
        assert!(matches!(refused, Err(StorageError::NoDatabase)), "{refused:?}");
        return Ok(());
    };
    // A round with three assignments, of which two are accepted and one expires; then a round that is abandoned.
    let (record, assignments) = fixture.reporting(3).await?;
    let task_id = record.round.task_id;
    storage.set_task_state(task_id, TaskState::ACTIVE, 0).await?;
    fixture.waiting_clients(2).await?;
    let population = &fixture.population;
    assert_eq!(database.training_counts(organisation).await?.get(population), Some(&3));
    assert_eq!(database.waiting_counts(organisation, NOW).await?.get(population), Some(&2));
    assert_eq!(database.waiting_counts(organisation, later(61)).await?.get(population), None);
    assert_eq!(database.active_task_counts(organisation).await?.get(population), Some(&1));
    let mut pulses = vec![database.pulses(organisation, later(1)).await?];
    for assignment in [&assignments[0], &assignments[2]] {
        storage.accept_update(&update_of(assignment)).await?;
        let report = ReportRequest { training_milliseconds: 250, download_bytes: 7, upload_bytes: 9 };
        storage.record_report(assignment.id, &report, later(2)).await?;
        pulses.push(database.pulses(organisation, later(1)).await?);
    }
    let record = aggregating(record, 2);
    storage.close_reporting(&record, Rest::Expires, later(5)).await?;
    pulses.push(database.pulses(organisation, later(1)).await?);
    let record = committed(stored(record), 1);
    let version = ModelVersionRecord { round_id: Some(record.round.id), ..version_of(task_id, 1) };
    storage.commit_round(&commit_of(&record, &version, None)).await?;
    pulses.push(database.pulses(organisation, later(1)).await?);
    for (index, pulse) in pulses.iter().enumerate() {
        assert_eq!(pulse.len(), 1);
        assert!(!pulses[..index].contains(pulse), "change {index} is not visible: {pulses:?}");
    }
    let open = fixture.open_round(task_id, 2).await?;
    let phase = Phase::Abandoned { at: NOW, reason: AbandonReason::TooFewClients };
    storage.abandon_round(&with_phase(open, phase), NOW).await?;

    let lanes = database.lanes(record.round.id, 9).await?;
    let closed: Vec<Option<Timestamp>> = lanes.iter().map(|lane| lane.closed_at).collect();
    assert_eq!(closed, [Some(later(1)), Some(later(5)), Some(later(1))]);
    let reported: Vec<bool> = lanes.iter().map(|lane| lane.report.is_some()).collect();
    assert_eq!(reported, [true, false, true]);
    assert!(matches!(lanes[1].status, AssignmentStatus::Dropped { .. }));
    assert_eq!(database.lanes(record.round.id, 2).await?, lanes[..2]);
    let traffic = |version, round_number, updates| VersionTraffic {
        version,
        round_number,
        updates,
        upload_bytes: updates * 4_000_000,
    };
    assert_eq!(database.version_traffic(task_id).await?, [traffic(0, None, 0), traffic(1, Some(1), 2)]);
    let work = database.work(organisation, population, NOW, 9).await?;
    assert_eq!(work.len(), 2);
    assert_eq!((work[0].example_count, work[0].training_milliseconds), (12, 250));
    assert_eq!(database.work(organisation, population, later(3), 9).await?, []);

    let hours = database.hours(organisation, later(1), 24).await?;
    assert_eq!(hours.len(), 24);
    let newest = hours.last().copied().unwrap_or_default();
    let counted = (newest.committed, newest.abandoned, newest.updates, newest.upload_bytes);
    assert_eq!(counted, (1, 1, 2, 8_000_000));
    assert_eq!(newest.since.0, NOW.0 / 3_600_000 * 3_600_000);
    assert!(hours[..23].iter().all(|hour| hour.committed + hour.abandoned + hour.updates == 0));
    private_tasks_are_known(&fixture).await?;
    let tasks = database.task_counts(organisation).await?;
    assert_eq!(tasks.get("active"), Some(&1));
    assert_eq!(database.revoked_counts(organisation).await?.get(population), None);
    Ok(())
}

/// A draft promises nothing yet. After a private task has run, its population stays private, and the sizes of the
/// task's updates are not shown.
async fn private_tasks_are_known(fixture: &Fixture) -> Result<(), StorageError> {
    let (storage, organisation, population) =
        (&fixture.storage, fixture.organisation_id, &fixture.population);
    let database = storage.database()?;
    assert!(!database.has_private_tasks(organisation, population).await?, "its task has no privacy");
    let mut task = fixture.task_record();
    let privacy = r#"{"kind": "central", "epsilon": 8.0, "delta": 1e-6}"#;
    task.description.privacy = serde_json::from_str(privacy).expect("it is a promise");
    storage.create_task(&task, &version_of(task.id, 0)).await?;
    assert!(!database.has_private_tasks(organisation, population).await?, "it is a draft");
    storage.set_task_state(task.id, TaskState::ACTIVE, 0).await?;
    assert!(database.has_private_tasks(organisation, population).await?);
    storage.set_task_state(task.id, TaskState::Cancelled, 1).await?;
    assert!(database.has_private_tasks(organisation, population).await?, "it has run");
    let other = "letters".parse().expect("it is a population's name");
    assert!(!database.has_private_tasks(organisation, &other).await?);

    let before = database.hours(organisation, later(1), 1).await?;
    let record = fixture.open_round(task.id, 1).await?;
    let clients = fixture.waiting_clients(1).await?;
    let assignments = fixture.assignments_of(&record, &clients);
    storage.assign(&reporting(record, 1), &assignments, &StartClocks::default()).await?;
    storage.accept_update(&update_of(&assignments[0])).await?;
    let after = database.hours(organisation, later(1), 1).await?;
    assert_eq!(after[0].updates, before[0].updates + 1);
    assert_eq!(after[0].upload_bytes, before[0].upload_bytes);
    Ok(())
}
