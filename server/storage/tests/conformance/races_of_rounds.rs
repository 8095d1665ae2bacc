//! Races of several drivers that advance rounds while clients report.

use std::time::Duration;

use folkmoot_coordinator::participation::StartClocks;
use folkmoot_storage::{
    AcceptOutcome, AcceptedUpdate, AssignmentRepository, Rest, RoundRecord, RoundRepository, Storage,
    StorageError,
};

use super::{
    fixture::{Fixture, NOW, aggregating, reporting, update_of},
    races::{RUNNERS, RUNS, race},
};

/// Returns the number of successes and of lost races. Any other result is an error.
fn tally(results: Vec<Result<(), StorageError>>) -> Result<(usize, usize), StorageError> {
    let (mut won, mut lost) = (0, 0);
    for result in results {
        match result {
            Ok(()) => won += 1,
            Err(StorageError::RevisionConflict(_)) => lost += 1,
            Err(error) => return Err(error),
        }
    }
    Ok((won, lost))
}

pub(super) async fn one_round_is_opened(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    for _ in 0..RUNS {
        let task = fixture.task().await?;
        let results = race((0..RUNNERS).map(|runner| {
            // Some runners open a round with the same number, others one with another number.
            let (storage, record) = (storage.clone(), fixture.round_record(task.id, 1 + runner as u64 % 2));
            async move { storage.open_round(&record).await }
        }));
        assert_eq!(tally(results.await)?, (1, RUNNERS - 1));
        assert_eq!(storage.rounds(task.id, 9, None).await?.len(), 1);
    }
    Ok(())
}

pub(super) async fn a_client_is_assigned_once(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    for _ in 0..RUNS {
        let client_id = fixture.waiting_clients(1).await?[0];
        let mut runners = Vec::new();
        for _ in 0..RUNNERS {
            let task = fixture.task().await?;
            let record = fixture.open_round(task.id, 1).await?;
            let assignments = fixture.assignments_of(&record, &[client_id]);
            let storage = storage.clone();
            runners.push(async move {
                storage.assign(&reporting(record, 1), &assignments, &StartClocks::default()).await
            });
        }
        assert_eq!(tally(race(runners).await)?, (1, RUNNERS - 1));
        assert!(storage.outstanding_assignment(client_id).await?.is_some());
    }
    Ok(())
}

/// The cohorts list the same clients in different orders, so that their locks are acquired in conflicting orders.
pub(super) async fn overlapping_cohorts_are_stored_whole_or_not(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    for _ in 0..RUNS {
        let mut clients = fixture.waiting_clients(20).await?;
        let mut runners = Vec::new();
        for _ in 0..RUNNERS {
            clients.rotate_left(7);
            let task = fixture.task().await?;
            let record = fixture.open_round(task.id, 1).await?;
            let mut assignments = fixture.assignments_of(&record, &clients);
            assignments.sort_by_key(|assignment| clients.iter().position(|id| *id == assignment.client_id));
            let storage = storage.clone();
            runners.push(async move {
                storage.assign(&reporting(record, 20), &assignments, &StartClocks::default()).await
            });
        }
        assert_eq!(tally(race(runners).await)?, (1, RUNNERS - 1));
    }
    Ok(())
}

/// Clients report while a driver closes the round. Every acknowledged update must be in the aggregate.
pub(super) async fn what_is_accepted_is_what_is_closed(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    for _ in 0..RUNS {
        let (record, assignments) = fixture.reporting(2 * RUNNERS).await?;
        let closing = tokio::spawn(close(storage.clone(), record.clone()));
        let outcomes = race(assignments.iter().map(|assignment| {
            let (storage, update) = (storage.clone(), update_of(assignment));
            async move { (update.assignment_id, storage.accept_update(&update).await) }
        }))
        .await;
        let mut told = Vec::new();
        for (id, outcome) in outcomes {
            match outcome? {
                AcceptOutcome::Accepted => told.push(id),
                AcceptOutcome::Closed => {}
                outcome => panic!("{outcome:?}"),
            }
        }
        let closed = closing.await.expect("closing does not panic")?;
        let closed: Vec<_> = closed.into_iter().map(|update| update.assignment_id).collect();
        assert_eq!(closed, told);
        let counts = storage.report_counts(record.round.id).await?;
        assert_eq!((counts.accepted, counts.outstanding), (told.len() as u64, 0));
    }
    Ok(())
}

/// Closes a round as a driver does: counts the updates, closes, and counts again if another update arrived in between.
async fn close(storage: Storage, record: RoundRecord) -> Result<Vec<AcceptedUpdate>, StorageError> {
    loop {
        let counts = storage.report_counts(record.round.id).await?;
        match storage.close_reporting(&aggregating(record.clone(), counts.accepted), Rest::Expires, NOW).await
        {
            Err(StorageError::RevisionConflict(_)) => {}
            result => return result,
        }
    }
}

pub(super) async fn one_driver_closes(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    for _ in 0..RUNS {
        let (record, _) = fixture.reporting(1).await?;
        let results = race((0..RUNNERS).map(|_| {
            let (storage, record) = (storage.clone(), aggregating(record.clone(), 0));
            async move { storage.close_reporting(&record, Rest::Expires, NOW).await.map(|_| ()) }
        }));
        assert_eq!(tally(results.await)?, (1, RUNNERS - 1));
    }
    Ok(())
}

/// A client that disconnects cancels its request at any point. The transaction must be either committed or rolled back,
/// and its connection must be able to serve the next request.
pub(super) async fn a_request_that_is_given_up_leaves_nothing_half_done(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, assignments) = fixture.reporting(40).await?;
    for (index, assignment) in assignments.iter().enumerate() {
        let (storage, update) = (storage.clone(), update_of(assignment));
        let request = tokio::spawn(async move { storage.accept_update(&update).await });
        tokio::time::sleep(Duration::from_micros(100 * index as u64)).await;
        request.abort();
        // Do not wait for the cancelled requests: what remains of them must not block the next request.
    }
    // Closing the round waits for the row's lock, and so for transactions that were about to commit.
    let accepted = close(storage.clone(), record.clone()).await?.len() as u64;
    let counts = storage.report_counts(record.round.id).await?;
    assert_eq!((counts.accepted, counts.outstanding, counts.dropped), (accepted, 0, 40 - accepted));
    assert_eq!(storage.accepted_updates(record.round.id).await?.len() as u64, accepted);
    Ok(())
}
