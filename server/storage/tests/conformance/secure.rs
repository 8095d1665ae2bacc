//! Messages of secure aggregation.

use folkmoot_coordinator::{
    participation::Guilty,
    round::{AbandonReason, Phase, SecureStep},
    scheduling::ReportCounts,
};
use folkmoot_protocol::AssignmentId;
use folkmoot_storage::{
    AssignmentRecord, AssignmentRepository, AssignmentStatus, DropReason, ParticipationRepository,
    RecordOutcome, Rest, RoundRecord, RoundRepository, SecureRepository, Storage, StorageError,
};

use super::fixture::{Fixture, NOW, later, stored, update_of, with_phase};

/// Opens a round whose clients advertise keys.
async fn advertising(
    fixture: &Fixture,
    storage: &Storage,
    count: usize,
) -> Result<(RoundRecord, Vec<AssignmentRecord>), StorageError> {
    let (record, assignments) = fixture.reporting(count).await?;
    let record = with_phase(record, Phase::AdvertisingKeys { since: NOW, cohort: count as u64 });
    storage.store_phase(&record).await?;
    Ok((stored(record), assignments))
}

fn sharing(record: RoundRecord) -> RoundRecord {
    with_phase(record, Phase::SharingKeys { since: NOW, cohort: 4 })
}

pub(super) async fn a_message_is_recorded_once_while_its_step_is_open(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = advertising(&fixture, storage, 4).await?;
    let id = assignments[0].id;
    let record_keys = |message: &'static str| storage.record_secure(id, SecureStep::Keys, message, NOW);
    assert_eq!(record_keys("a").await?, RecordOutcome::Recorded);
    assert_eq!(record_keys("a").await?, RecordOutcome::Repeated);
    assert_eq!(record_keys("b").await?, RecordOutcome::Conflict);
    let early = storage.record_secure(id, SecureStep::Shares, "a", NOW).await?;
    assert_eq!(early, RecordOutcome::Closed);
    storage.drop_assignment(assignments[1].id, &DropReason::Expired, NOW).await?;
    let dropped = storage.record_secure(assignments[1].id, SecureStep::Keys, "a", NOW).await?;
    assert_eq!(dropped, RecordOutcome::Closed);
    let unknown = AssignmentId::from_random_bytes([0; 16]);
    let unknown = storage.record_secure(unknown, SecureStep::Keys, "a", NOW).await;
    assert!(matches!(unknown, Err(StorageError::NotFound("assignment"))), "{unknown:?}");
    storage.close_step(&sharing(record), SecureStep::Keys, NOW).await?;
    assert_eq!(record_keys("a").await?, RecordOutcome::Repeated, "a client may repeat its request later");
    let late = storage.record_secure(assignments[2].id, SecureStep::Keys, "a", NOW).await?;
    assert_eq!(late, RecordOutcome::Closed);
    Ok(())
}

pub(super) async fn the_end_of_a_step_fixes_its_messages(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = advertising(&fixture, storage, 4).await?;
    let round = record.round.id;
    for (assignment, message) in assignments[..3].iter().zip(["a", "b", "c"]) {
        storage.record_secure(assignment.id, SecureStep::Keys, message, NOW).await?;
    }
    storage.drop_assignment(assignments[1].id, &DropReason::Expired, NOW).await?;
    let counts = storage.step_counts(round, SecureStep::Keys).await?;
    assert_eq!(counts, ReportCounts { accepted: 2, outstanding: 1, dropped: 1 });
    let other = RoundRecord { revision: record.revision + 1, ..record.clone() };
    let conflict = storage.close_step(&sharing(other), SecureStep::Keys, NOW).await;
    assert!(matches!(conflict, Err(StorageError::RevisionConflict("round"))), "{conflict:?}");
    let record = sharing(record);
    storage.close_step(&record, SecureStep::Keys, NOW).await?;
    let kept = [(assignments[0].id, "a".to_owned()), (assignments[2].id, "c".to_owned())];
    assert_eq!(storage.secure_messages(round, SecureStep::Keys).await?, kept);
    let senders = storage.secure_senders(round, SecureStep::Keys).await?;
    assert_eq!(senders, [assignments[0].id, assignments[2].id]);
    let all: Vec<AssignmentId> = assignments.iter().rev().map(|one| one.id).collect();
    assert_eq!(storage.secure_messages_of(&all, SecureStep::Keys).await?, kept);
    assert_eq!(storage.secure_messages_of(&all[..2], SecureStep::Keys).await?, kept[1..]);
    assert_eq!(storage.secure_messages_of(&all, SecureStep::Shares).await?, []);
    assert_eq!(storage.secure_messages_of(&[], SecureStep::Keys).await?, []);
    let missing = storage.assignment(assignments[3].id).await?.map(|one| one.status);
    assert_eq!(missing, Some(AssignmentStatus::Dropped { reason: DropReason::Expired }));
    storage.drop_assignment(assignments[0].id, &DropReason::Expired, NOW).await?;
    assert_eq!(
        storage.secure_messages(round, SecureStep::Keys).await?,
        kept,
        "a later drop-out stays listed"
    );
    assert_eq!(storage.secure_messages(round, SecureStep::Shares).await?, []);
    Ok(())
}

pub(super) async fn messages_go_with_their_round(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = advertising(&fixture, storage, 2).await?;
    let round = record.round.id;
    storage.record_secure(assignments[0].id, SecureStep::Keys, "a", NOW).await?;
    let record = with_phase(record, Phase::Reporting { since: NOW, cohort: 2, asked: None });
    storage.store_phase(&record).await?;
    storage.accept_update(&update_of(&assignments[0])).await?;
    let unmasking = Phase::Unmasking { since: NOW, cohort: 2, accepted: 1 };
    let record = with_phase(stored(record), unmasking);
    assert_eq!(storage.close_reporting(&record, Rest::Expires, later(1)).await?.len(), 1);
    let opened = storage.record_secure(assignments[0].id, SecureStep::Opening, "b", NOW).await?;
    assert_eq!(opened, RecordOutcome::Recorded, "its update was accepted");
    for at in [later(1), later(2)] {
        assert_eq!(storage.blame(assignments[0].id, at).await?, assignments[0].client_id);
    }
    let guilty: Vec<_> = storage.participations(record.round.task_id).await?;
    let guilty = guilty.into_iter().filter_map(|(client, history)| Some((client, history.guilty?)));
    let expected = Guilty { round_number: 1, at: later(1) };
    assert_eq!(guilty.collect::<Vec<_>>(), [(assignments[0].client_id, expected)]);
    let phase = Phase::Abandoned { at: NOW, reason: AbandonReason::TooFewReports };
    storage.abandon_round(&with_phase(stored(record), phase), NOW).await?;
    for step in SecureStep::ALL {
        assert_eq!(storage.secure_messages(round, step).await?, []);
    }
    Ok(())
}
