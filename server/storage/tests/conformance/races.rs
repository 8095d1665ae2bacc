//! Races: several runners change the same data at the same time.

use folkmoot_coordinator::participation::StartClocks;
use folkmoot_protocol::{ClientId, UpdateDigest};
use folkmoot_storage::{
    AcceptOutcome, AcceptedUpdate, AssignmentRepository, CheckInRepository, ClientRepository, EnrolOutcome,
    LeaseRepository, ParticipationRepository, RoundRepository, Storage, StorageError, TokenAfter,
    TokenRepository,
};
use futures::future::join_all;

use super::fixture::{Fixture, NOW, fresh, fresh_name, later, reporting, update_of};

/// The number of times that each race runs, because a critical interleaving does not occur every time.
pub(super) const RUNS: usize = 8;
/// The number of concurrent runners.
pub(super) const RUNNERS: usize = 8;

/// Runs the futures on the runtime's threads, and returns their results in order.
pub(super) async fn race<T, F>(runners: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let handles: Vec<_> = runners.into_iter().map(tokio::spawn).collect();
    join_all(handles).await.into_iter().map(|result| result.expect("a runner does not panic")).collect()
}

pub(super) async fn the_last_use_of_a_token_is_spent_once(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    for _ in 0..RUNS {
        let token_id = fixture.token(Some(3), None).await?;
        let outcomes = race((0..RUNNERS).map(|_| {
            let (storage, token_id) = (storage.clone(), token_id.clone());
            async move {
                let id = ClientId::from_random_bytes(fresh());
                storage.enrol(&token_id, &fresh_name(), id, NOW).await
            }
        }))
        .await;
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
        let enrolled = outcomes.iter().filter(|outcome| matches!(outcome, EnrolOutcome::Enrolled(_))).count();
        let exhausted =
            outcomes.iter().filter(|outcome| matches!(outcome, EnrolOutcome::TokenExhausted)).count();
        assert_eq!((enrolled, exhausted), (3, RUNNERS - 3));
        assert_eq!(storage.token(&token_id).await?.map(|token| token.uses), Some(3));
    }
    Ok(())
}

pub(super) async fn one_key_enrols_once(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    for _ in 0..RUNS {
        let key = fresh_name();
        let mut runners = Vec::new();
        for _ in 0..RUNNERS {
            // Use different tokens, so that no token's lock serialises the runners.
            let (storage, key, token_id) = (storage.clone(), key.clone(), fixture.token(None, None).await?);
            runners.push(async move {
                let id = ClientId::from_random_bytes(fresh());
                storage.enrol(&token_id, &key, id, NOW).await
            });
        }
        let mut ids = Vec::new();
        let mut enrolled = 0;
        for outcome in race(runners).await {
            match outcome? {
                EnrolOutcome::Enrolled(client) => {
                    enrolled += 1;
                    ids.push(client.id);
                }
                EnrolOutcome::Known(client) => ids.push(client.id),
                outcome => panic!("{outcome:?}"),
            }
        }
        ids.dedup();
        assert_eq!((enrolled, ids.len()), (1, 1));
    }
    Ok(())
}

pub(super) async fn one_process_gets_the_lease(storage: &Storage) -> Result<(), StorageError> {
    for _ in 0..RUNS {
        let name = fresh_name();
        let won = race((0..RUNNERS).map(|holder| {
            let (storage, name) = (storage.clone(), name.clone());
            async move { storage.acquire_lease(&name, &holder.to_string(), NOW, later(9)).await }
        }))
        .await;
        let won = won.into_iter().collect::<Result<Vec<bool>, _>>()?;
        assert_eq!(won.iter().filter(|is_held| **is_held).count(), 1);
    }
    Ok(())
}

pub(super) async fn one_of_two_updates_counts(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    for _ in 0..RUNS {
        let (record, assignments) = fixture.reporting(1).await?;
        let outcomes = race((0..RUNNERS).map(|runner| {
            // The first half of the runners sends one update, the second half another.
            let digest = UpdateDigest::of(&[(runner < RUNNERS / 2).into()]);
            let update = AcceptedUpdate { digest, ..update_of(&assignments[0]) };
            let storage = storage.clone();
            async move { (digest, storage.accept_update(&update).await) }
        }))
        .await;
        let accepted = storage.accepted_updates(record.round.id).await?;
        assert_eq!(accepted.len(), 1);
        let mut counted = 0;
        for (digest, outcome) in outcomes {
            match outcome? {
                AcceptOutcome::Accepted => counted += 1,
                AcceptOutcome::AlreadyAccepted => assert_eq!(digest, accepted[0].digest),
                AcceptOutcome::Conflict => assert_ne!(digest, accepted[0].digest),
                AcceptOutcome::Closed | AcceptOutcome::Later => panic!("the round reports"),
            }
        }
        assert_eq!(counted, 1);
    }
    Ok(())
}

/// A check-in that was authenticated before a revocation must not put its client back into the pool afterwards.
pub(super) async fn a_check_in_and_a_revocation_leave_nobody_waiting(
    storage: &Storage,
) -> Result<(), StorageError> {
    for run in 0..RUNS {
        let fixture = Fixture::new(storage).await?;
        let task = fixture.task().await?;
        let (organisation, client_id) = (fixture.organisation_id, fixture.waiting_clients(1).await?[0]);
        let (token_id, check_in) = (fixture.token_id.clone(), fixture.check_in_of(client_id));
        race((0..RUNNERS).map(|runner| {
            let (storage, token_id, check_in) = (storage.clone(), token_id.clone(), check_in.clone());
            async move {
                if runner != RUNNERS / 2 {
                    return match storage.check_in(&check_in).await {
                        Err(StorageError::ClientRevoked) => Ok(()),
                        offered => offered.map(|_| ()),
                    };
                }
                match run % 2 {
                    0 => storage
                        .revoke_client(organisation, client_id, TokenAfter::Closed, NOW)
                        .await
                        .map(|_| ()),
                    _ => storage.revoke_token_and_clients(organisation, &token_id, NOW).await.map(|_| ()),
                }
            }
        }))
        .await
        .into_iter()
        .collect::<Result<(), _>>()?;
        assert_eq!(storage.waiting(organisation, &fixture.population, NOW).await?, []);
        assert_eq!(storage.waiting_for(organisation, &fixture.population, task.id, NOW).await?, []);
    }
    Ok(())
}

/// A client must not be in the pool while it has an assignment: every later cohort would include the client, and
/// storing that cohort would fail.
pub(super) async fn a_check_in_and_a_selection_leave_no_client_in_both(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    for _ in 0..RUNS {
        let task = fixture.task().await?;
        let record = fixture.open_round(task.id, 1).await?;
        let client_id = fixture.waiting_clients(1).await?[0];
        let assignments = fixture.assignments_of(&record, &[client_id]);
        let select = {
            let storage = storage.clone();
            tokio::spawn(async move {
                storage.assign(&reporting(record, 1), &assignments, &StartClocks::default()).await
            })
        };
        let check_ins = race((0..RUNNERS).map(|_| {
            let (storage, check_in) = (storage.clone(), fixture.check_in_of(client_id));
            async move { storage.check_in(&check_in).await }
        }));
        check_ins.await.into_iter().collect::<Result<Vec<bool>, _>>()?;
        select.await.expect("the selection does not panic")?;
        assert!(storage.outstanding_assignment(client_id).await?.is_some());
        assert_eq!(storage.waiting(fixture.organisation_id, &fixture.population, NOW).await?, []);
    }
    Ok(())
}
