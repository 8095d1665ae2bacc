//! The pool of waiting clients.

use folkmoot_coordinator::task::Candidate;
use folkmoot_protocol::ClientId;

use super::fixture::{Fixture, NOW, fresh, later};
use crate::{
    AssignmentRepository, CheckInRecord, CheckInRepository, ClientRepository, DropReason, SqlStorage,
    StorageError,
};

pub(super) async fn the_last_check_in_counts(storage: &SqlStorage) -> Result<(), StorageError> {
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
    assert_eq!(storage.waiting(other.organisation_id, &fixture.population, NOW).await?, []);
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

pub(super) async fn an_offer_ends(storage: &SqlStorage) -> Result<(), StorageError> {
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
    // Offers of other cases end at the same time, so the number is not known.
    assert!(storage.delete_expired_check_ins(later(11)).await? >= 1);
    assert_eq!(waiting(10).await?, [long], "deleted, not only passed over");
    Ok(())
}

pub(super) async fn a_client_with_an_assignment_does_not_wait(
    storage: &SqlStorage,
) -> Result<(), StorageError> {
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

pub(super) async fn a_revoked_client_does_not_wait(storage: &SqlStorage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let clients = fixture.waiting_clients(1).await?;
    storage.revoke_client(fixture.organisation_id, clients[0], NOW).await?;
    assert_eq!(storage.waiting(fixture.organisation_id, &fixture.population, NOW).await?, []);
    Ok(())
}
