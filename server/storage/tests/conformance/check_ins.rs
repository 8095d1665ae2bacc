//! The pool of waiting clients.

use std::collections::BTreeMap;

use folkmoot_coordinator::task::Candidate;
use folkmoot_protocol::{ClientId, PopulationName};
use folkmoot_storage::{
    AssignmentRepository, CheckInRecord, CheckInRepository, ClientRepository, DropReason,
    ParticipationRepository, Storage, StorageError, TokenAfter,
};

use super::fixture::{Fixture, NOW, fresh, fresh_name, later};

pub(super) async fn the_last_check_in_counts(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let mut clients = fixture.waiting_clients(3).await?;
    clients.sort();
    let mut again = fixture.check_in_of(clients[1]);
    again.candidate.example_count = 99;
    again.candidate.attributes = [("tongue".into(), "日本語 'quoted'".into())].into();
    assert!(storage.check_in(&again).await?);
    let waiting = storage.waiting(fixture.organisation_id, &fixture.population, NOW).await?;
    assert_eq!(waiting.iter().map(|candidate| candidate.client_id).collect::<Vec<_>>(), clients);
    assert_eq!(waiting[0], fixture.check_in_of(clients[0]).candidate);
    assert_eq!(waiting[1], again.candidate);
    let stranger = ClientId::from_random_bytes(fresh());
    let named = storage.candidates(&[clients[2], stranger, clients[1]]).await?;
    assert_eq!(named, waiting[1..]);
    assert_eq!(storage.candidates(&[]).await?, []);
    assert_eq!(storage.waiting(other.organisation_id, &fixture.population, NOW).await?, []);
    let earlier = folkmoot_protocol::Timestamp(again.expires_at.0 - 1);
    assert!(!storage.withdraw_offer(clients[1], earlier).await?, "it came back since");
    assert!(storage.withdraw_offer(clients[1], again.expires_at).await?);
    assert!(!storage.withdraw_offer(clients[1], again.expires_at).await?, "it is gone already");
    assert!(storage.check_in(&again).await?);
    assert!(storage.withdraw_check_in(clients[1]).await?);
    assert!(!storage.withdraw_check_in(clients[1]).await?, "it is gone already");
    assert_eq!(storage.waiting(fixture.organisation_id, &fixture.population, NOW).await?.len(), 2);
    let stranger = fixture.check_in_of(ClientId::from_random_bytes(fresh()));
    let refused = storage.check_in(&stranger).await;
    assert!(matches!(refused, Err(StorageError::NotFound("client"))), "{refused:?}");
    let foreign = CheckInRecord { organisation_id: other.organisation_id, ..fixture.check_in_of(clients[1]) };
    let refused = storage.check_in(&foreign).await;
    assert!(matches!(refused, Err(StorageError::NotFound("client"))), "{refused:?}");
    Ok(())
}

pub(super) async fn an_offer_ends(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let [short, long] = [fixture.client().await?, fixture.client().await?];
    for (client_id, seconds) in [(short, 10), (long, 20)] {
        let check_in = CheckInRecord { expires_at: later(seconds), ..fixture.check_in_of(client_id) };
        storage.check_in(&check_in).await?;
    }
    let waiting = async |seconds| -> Result<Vec<ClientId>, StorageError> {
        let waiting = storage.waiting(fixture.organisation_id, &fixture.population, later(seconds)).await?;
        Ok(waiting.into_iter().map(|Candidate { client_id, .. }| client_id).collect())
    };
    assert_eq!(waiting(10).await?.len(), 2);
    assert_eq!(waiting(11).await?, [long]);
    // Check-ins of other cases also expire, so the exact number is unknown.
    assert!(storage.delete_expired_check_ins(later(11)).await? >= 1);
    assert_eq!(waiting(10).await?, [long], "deleted, not only passed over");
    Ok(())
}

/// A client that checks in again in time must stay in the pool, and a rejected check-in must not replace its last one.
pub(super) async fn a_later_offer_takes_the_place_of_an_earlier_one(
    storage: &Storage,
) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let client_id = fixture.client().await?;
    for seconds in [10, 30, 20] {
        let check_in = CheckInRecord { expires_at: later(seconds), ..fixture.check_in_of(client_id) };
        assert!(storage.check_in(&check_in).await?);
    }
    storage.delete_expired_check_ins(later(11)).await?;
    let foreign = CheckInRecord { organisation_id: other.organisation_id, ..fixture.check_in_of(client_id) };
    assert!(storage.check_in(&foreign).await.is_err());
    let waiting = async |population: &PopulationName, seconds| -> Result<usize, StorageError> {
        Ok(storage.waiting(fixture.organisation_id, population, later(seconds)).await?.len())
    };
    assert_eq!(waiting(&fixture.population, 20).await?, 1, "its last offer holds");
    assert_eq!(waiting(&fixture.population, 21).await?, 0, "and no earlier one");
    let elsewhere: PopulationName = "elsewhere".parse().expect("it is a population's name");
    let moved = CheckInRecord { population: elsewhere.clone(), ..fixture.check_in_of(client_id) };
    assert!(storage.check_in(&moved).await?);
    assert_eq!((waiting(&elsewhere, 0).await?, waiting(&fixture.population, 0).await?), (1, 0));
    Ok(())
}

pub(super) async fn a_client_with_an_assignment_does_not_wait(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (_, assignments) = fixture.reporting(1).await?;
    let client_id = assignments[0].client_id;
    let waiting = async || storage.waiting(fixture.organisation_id, &fixture.population, NOW).await;
    assert_eq!(waiting().await?, [], "selection takes the client out of the pool");
    assert!(!storage.check_in(&fixture.check_in_of(client_id)).await?);
    assert_eq!(waiting().await?, []);
    storage.drop_assignment(assignments[0].id, &DropReason::Expired, NOW).await?;
    assert!(storage.check_in(&fixture.check_in_of(client_id)).await?);
    assert_eq!(waiting().await?.len(), 1);
    Ok(())
}

pub(super) async fn a_revoked_client_does_not_wait(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let clients = fixture.waiting_clients(1).await?;
    storage.revoke_client(fixture.organisation_id, clients[0], TokenAfter::Open, NOW).await?;
    assert_eq!(storage.waiting(fixture.organisation_id, &fixture.population, NOW).await?, []);
    // This request was authenticated before the revocation.
    let late = storage.check_in(&fixture.check_in_of(clients[0])).await;
    assert!(matches!(late, Err(StorageError::ClientRevoked)), "{late:?}");
    assert_eq!(storage.waiting(fixture.organisation_id, &fixture.population, NOW).await?, []);
    Ok(())
}

pub(super) async fn who_waits_comes_with_its_token(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (task, first) = (fixture.task().await?, fixture.waiting_clients(1).await?[0]);
    let other_token = fixture.token(None, None).await?;
    let id = ClientId::from_random_bytes(fresh());
    storage.enrol(&other_token, &fresh_name(), id, NOW).await?;
    storage.check_in(&fixture.check_in_of(id)).await?;
    let waiting = storage.waiting_for(fixture.organisation_id, &fixture.population, task.id, NOW).await?;
    let tokens: BTreeMap<ClientId, Option<String>> =
        waiting.into_iter().map(|client| (client.candidate.client_id, client.token)).collect();
    let expected = [(first, Some(fixture.token_id.clone())), (id, Some(other_token))];
    assert_eq!(tokens, expected.into());
    Ok(())
}
