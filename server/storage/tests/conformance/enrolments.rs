//! Clients and their enrolment.

use folkmoot_protocol::ClientId;
use folkmoot_storage::{
    ClientRecord, ClientRepository, EnrolOutcome, Storage, StorageError, TokenAfter, TokenRepository,
};

use super::fixture::{Fixture, NOW, fresh, fresh_name, later};

pub(super) async fn a_client_enrols_once_by_its_key(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let [id, unused] = [(); 2].map(|()| ClientId::from_random_bytes(fresh()));
    let key = fresh_name();
    let client = ClientRecord {
        id,
        organisation_id: fixture.organisation_id,
        population: fixture.population.clone(),
        public_key: key.clone(),
        token_id: Some(fixture.token_id.clone()),
        user_key: None,
        site: None,
        enrolled_at: NOW,
        revoked_at: None,
    };
    let first = storage.enrol(&fixture.token_id, &key, id, NOW).await?;
    assert_eq!(first, EnrolOutcome::Enrolled(client.clone()));
    for token_id in [&fixture.token_id, &fixture.token(None, None).await?] {
        let again = storage.enrol(token_id, &key, unused, later(1)).await?;
        assert_eq!(again, EnrolOutcome::Known(client.clone()), "it stays of the token that was first");
    }
    assert_eq!(storage.client(id).await?, Some(client));
    assert_eq!(storage.client(unused).await?, None);
    assert_eq!(storage.token(&fixture.token_id).await?.map(|token| token.uses), Some(1));
    let elsewhere = storage.enrol(&other.token_id, &key, unused, NOW).await?;
    assert!(matches!(elsewhere, EnrolOutcome::Enrolled(_)), "a key is known in its population only");
    assert_eq!(storage.client_count(fixture.organisation_id, &fixture.population).await?, 1);
    let taken = storage.enrol(&fixture.token_id, &fresh_name(), id, NOW).await;
    assert!(matches!(taken, Err(StorageError::NameTaken("client"))), "{taken:?}");
    Ok(())
}

pub(super) async fn a_token_that_is_spent_expired_or_revoked_enrols_nobody(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let token_id = fixture.token(Some(1), Some(later(10))).await?;
    let known = fresh_name();
    let enrol = async |key: &str, now| {
        let id = ClientId::from_random_bytes(fresh());
        storage.enrol(&token_id, key, id, now).await
    };
    assert!(matches!(enrol(&known, NOW).await?, EnrolOutcome::Enrolled(_)));
    assert_eq!(enrol(&fresh_name(), later(9)).await?, EnrolOutcome::TokenExhausted);
    assert_eq!(enrol(&fresh_name(), later(10)).await?, EnrolOutcome::TokenExpired);
    assert!(matches!(enrol(&known, later(99)).await?, EnrolOutcome::Known(_)), "a lost answer is repeated");
    storage.revoke_token(fixture.organisation_id, &token_id, NOW).await?;
    assert_eq!(enrol(&known, NOW).await?, EnrolOutcome::TokenInvalid);
    let id = ClientId::from_random_bytes(fresh());
    assert_eq!(storage.enrol(&fresh_name(), &known, id, NOW).await?, EnrolOutcome::TokenInvalid);
    assert_eq!(storage.client_count(fixture.organisation_id, &fixture.population).await?, 1);
    Ok(())
}

pub(super) async fn a_client_is_revoked_by_its_organisation_only(
    storage: &Storage,
) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let client_id = fixture.client().await?;
    fixture.client().await?;
    let foreign = storage.revoke_client(other.organisation_id, client_id, TokenAfter::Closed, later(1)).await;
    assert!(matches!(foreign, Err(StorageError::NotFound("client"))), "{foreign:?}");
    assert_eq!(storage.token(&fixture.token_id).await?.and_then(|token| token.closed_at), None);
    storage.revoke_client(fixture.organisation_id, client_id, TokenAfter::Open, later(2)).await?;
    storage.revoke_client(fixture.organisation_id, client_id, TokenAfter::Open, later(3)).await?;
    let revoked_at = storage.client(client_id).await?.and_then(|client| client.revoked_at);
    assert_eq!(revoked_at, Some(later(2)));
    assert_eq!(storage.client_count(fixture.organisation_id, &fixture.population).await?, 1);
    assert_eq!(storage.client_count(other.organisation_id, &fixture.population).await?, 0);
    for (count, expected) in [(0, true), (1, true), (2, false)] {
        let found = storage.has_clients(fixture.organisation_id, &fixture.population, count).await?;
        assert_eq!(found, expected, "{count}");
    }
    Ok(())
}
