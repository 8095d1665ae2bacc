//! Assignments and their updates.

use folkmoot_protocol::{
    AssignmentId, ErrorCode, RoundId, UpdateDigest,
    limits::COUNT_MAX,
    messages::{AbortReason, ReportRequest},
};
use folkmoot_storage::{
    AcceptOutcome, AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus, CloseOutcome,
    DropReason, Rest, RoundRepository, Storage, StorageError, UpdateTraffic,
};

use super::fixture::{Fixture, NOW, aggregating, fresh, later, update_of};

pub(super) async fn an_update_counts_once(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(2).await?;
    let update = update_of(&assignments[0]);
    assert_eq!(storage.accept_update(&update).await?, AcceptOutcome::Accepted);
    let again = AcceptedUpdate { accepted_at: later(9), ..update.clone() };
    assert_eq!(storage.accept_update(&again).await?, AcceptOutcome::AlreadyAccepted);
    let another = AcceptedUpdate { digest: UpdateDigest::of(b"another"), ..update.clone() };
    assert_eq!(storage.accept_update(&another).await?, AcceptOutcome::Conflict);
    assert_eq!(storage.accepted_updates(record.round.id).await?, std::slice::from_ref(&update));
    let counts = storage.report_counts(record.round.id).await?;
    assert_eq!((counts.accepted, counts.outstanding, counts.dropped), (1, 1, 0));
    let dropped = storage.drop_assignment(assignments[0].id, &DropReason::Expired, NOW).await?;
    assert_eq!(dropped, CloseOutcome::Unchanged);
    let status = AssignmentStatus::Accepted { digest: update.digest, bytes: update.bytes };
    let expected = AssignmentRecord { status, ..assignments[0].clone() };
    assert_eq!(storage.assignment(assignments[0].id).await?, Some(expected));
    assert_eq!(storage.outstanding_assignment(assignments[0].client_id).await?, None);
    let missing =
        AcceptedUpdate { assignment_id: AssignmentId::from_random_bytes(fresh()), ..update.clone() };
    let refused = storage.accept_update(&missing).await;
    assert!(matches!(refused, Err(StorageError::NotFound("assignment"))), "{refused:?}");
    let of_update = UpdateTraffic {
        codec: update.codec.clone(),
        slices: assignments[0].slices.clone(),
        bytes: update.bytes,
        report: None,
    };
    assert_eq!(storage.traffic(record.round.id).await?, [of_update]);
    Ok(())
}

pub(super) async fn a_closed_round_accepts_nothing(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(2).await?;
    let [first, second] = [update_of(&assignments[0]), update_of(&assignments[1])];
    storage.accept_update(&first).await?;
    storage.close_reporting(&aggregating(record.clone(), 1), Rest::Expires, NOW).await?;
    assert_eq!(storage.accept_update(&second).await?, AcceptOutcome::Closed);
    assert_eq!(
        storage.accept_update(&first).await?,
        AcceptOutcome::AlreadyAccepted,
        "a lost answer is repeated"
    );
    assert_eq!(storage.accepted_updates(record.round.id).await?, [first]);
    Ok(())
}

pub(super) async fn a_dropped_assignment_stays_dropped(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(1).await?;
    let outstanding = storage.outstanding_assignment(assignments[0].client_id).await?;
    assert_eq!(outstanding.as_ref(), assignments.first());
    let reason = DropReason::Aborted { reason: AbortReason::Stopped, detail: "the app".into() };
    assert_eq!(storage.drop_assignment(assignments[0].id, &reason, NOW).await?, CloseOutcome::Dropped);
    let again = storage.drop_assignment(assignments[0].id, &DropReason::Expired, NOW).await?;
    assert_eq!(again, CloseOutcome::Unchanged);
    assert_eq!(storage.accept_update(&update_of(&assignments[0])).await?, AcceptOutcome::Closed);
    let expected =
        AssignmentRecord { status: AssignmentStatus::Dropped { reason }, ..assignments[0].clone() };
    assert_eq!(storage.assignments(record.round.id).await?, [expected]);
    let nobody = AssignmentId::from_random_bytes(fresh());
    let missing = storage.drop_assignment(nobody, &DropReason::Expired, NOW).await;
    assert!(matches!(missing, Err(StorageError::NotFound("assignment"))), "{missing:?}");
    Ok(())
}

pub(super) async fn every_status_comes_back_as_it_was(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let reasons = [
        DropReason::Expired,
        DropReason::Aborted {
            reason: AbortReason::StateLost, detail: "日本語 \u{1F310} 'quoted' \\".into()
        },
        DropReason::Refused { code: ErrorCode::UpdateValueNotFinite },
    ];
    let (_, assignments) = fixture.reporting(reasons.len()).await?;
    for (assignment, reason) in assignments.iter().zip(reasons) {
        storage.drop_assignment(assignment.id, &reason, NOW).await?;
        let read = storage.assignment(assignment.id).await?.map(|assignment| assignment.status);
        assert_eq!(read, Some(AssignmentStatus::Dropped { reason }));
    }
    let nothing = RoundId::from_random_bytes(fresh());
    assert_eq!(storage.assignments(nothing).await?, []);
    assert_eq!(storage.accepted_updates(nothing).await?, []);
    assert_eq!(storage.report_counts(nothing).await?.outstanding, 0);
    assert_eq!(storage.assignment(AssignmentId::from_random_bytes(fresh())).await?, None);
    Ok(())
}

pub(super) async fn the_first_report_stays(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (_, assignments) = fixture.reporting(1).await?;
    let id = assignments[0].id;
    let report = ReportRequest { training_milliseconds: 1, download_bytes: 2, upload_bytes: COUNT_MAX };
    assert_eq!(storage.report(id).await?, None);
    storage.record_report(id, &report, NOW).await?;
    storage.record_report(id, &ReportRequest { training_milliseconds: 9, ..report }, NOW).await?;
    assert_eq!(storage.report(id).await?, Some(report));
    let missing = storage.record_report(AssignmentId::from_random_bytes(fresh()), &report, NOW).await;
    assert!(matches!(missing, Err(StorageError::NotFound("assignment"))), "{missing:?}");
    Ok(())
}
