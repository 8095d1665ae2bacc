//! The token with which a client enrolled, and the effect of revoking either of the two on the other.

use folkmoot_protocol::ClientId;
use folkmoot_storage::{
    CheckInRepository, ClientRepository, EnrolOutcome, Storage, StorageError, TokenAfter, TokenRepository,
};

use super::{
    fixture::{Fixture, NOW, fresh, fresh_name, later},
    races::{RUNNERS, RUNS, race},
};

/// Enrols a new key and returns the outcome.
async fn enrol(storage: &Storage, token_id: &str, key: &str) -> Result<EnrolOutcome, StorageError> {
    storage.enrol(token_id, key, ClientId::from_random_bytes(fresh()), NOW).await
}

pub(super) async fn the_clients_of_a_token_are_listed_in_pages(
    storage: &Storage,
) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let token_id = fixture.token(None, None).await?;
    fixture.client().await?;
    let mut newest_first = Vec::new();
    for seconds in [0, 0, 1, 2, 2] {
        let id = ClientId::from_random_bytes(fresh());
        storage.enrol(&token_id, &fresh_name(), id, later(seconds)).await?;
        newest_first.push((later(seconds), id));
    }
    newest_first.sort_by(|a, b| b.cmp(a));
    let organisation = fixture.organisation_id;
    let mut listed = Vec::new();
    loop {
        let before = listed.last().copied();
        let page = storage.clients_of_token(organisation, &token_id, 2, before).await?;
        assert!(page.iter().all(|client| client.token_id.as_ref() == Some(&token_id)));
        if page.is_empty() {
            break;
        }
        listed.extend(page.into_iter().map(|client| client.id));
    }
    assert_eq!(listed, newest_first.into_iter().map(|(_, id)| id).collect::<Vec<_>>());
    assert_eq!(storage.clients_of_token(other.organisation_id, &token_id, 9, None).await?, []);
    let foreign = Some(other.client().await?);
    assert_eq!(storage.clients_of_token(organisation, &token_id, 9, foreign).await?, []);
    Ok(())
}

pub(super) async fn a_revoked_client_closes_its_token(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (organisation, neighbour) = (fixture.organisation_id, fresh_name());
    let client = fixture.client().await?;
    enrol(storage, &fixture.token_id, &neighbour).await?;
    let open = storage.revoke_client(organisation, client, TokenAfter::Open, later(1)).await?;
    assert_eq!((open.revoked_at, open.token_id.as_ref()), (Some(later(1)), Some(&fixture.token_id)));
    let again = enrol(storage, &fixture.token_id, &fresh_name()).await?;
    assert!(matches!(again, EnrolOutcome::Enrolled(_)), "the token was left open: {again:?}");

    let closing = storage.revoke_client(organisation, client, TokenAfter::Closed, later(2)).await?;
    assert_eq!(closing, open, "it stays revoked since the first time");
    storage.revoke_client(organisation, client, TokenAfter::Closed, later(3)).await?;
    let token = storage.token(&fixture.token_id).await?;
    assert_eq!(token.map(|token| (token.closed_at, token.revoked_at)), Some((Some(later(2)), None)));
    assert_eq!(enrol(storage, &fixture.token_id, &fresh_name()).await?, EnrolOutcome::TokenClosed);
    let known = enrol(storage, &fixture.token_id, &neighbour).await?;
    assert!(matches!(known, EnrolOutcome::Known(_)), "others go on: {known:?}");
    let elsewhere = fixture.token(None, None).await?;
    assert!(matches!(enrol(storage, &elsewhere, &fresh_name()).await?, EnrolOutcome::Enrolled(_)));
    Ok(())
}

pub(super) async fn a_token_is_revoked_with_its_clients(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let organisation = fixture.organisation_id;
    let clients = fixture.waiting_clients(3).await?;
    let elsewhere = fixture.token(None, None).await?;
    enrol(storage, &elsewhere, &fresh_name()).await?;
    storage.revoke_client(organisation, clients[0], TokenAfter::Open, later(1)).await?;
    let foreign = storage.revoke_token_and_clients(other.organisation_id, &fixture.token_id, NOW).await;
    assert!(matches!(foreign, Err(StorageError::NotFound("token"))), "{foreign:?}");
    assert_eq!(storage.waiting(organisation, &fixture.population, NOW).await?.len(), 2);

    let revoke = async |at| storage.revoke_token_and_clients(organisation, &fixture.token_id, at).await;
    assert_eq!((revoke(later(2)).await?, revoke(later(3)).await?), (2, 0));
    let mut revoked = Vec::new();
    for client in storage.clients_of_token(organisation, &fixture.token_id, 9, None).await? {
        revoked.push(client.revoked_at);
    }
    revoked.sort();
    assert_eq!(revoked, [Some(later(1)), Some(later(2)), Some(later(2))]);
    assert_eq!(storage.token(&fixture.token_id).await?.and_then(|token| token.revoked_at), Some(later(2)));
    assert_eq!(storage.waiting(organisation, &fixture.population, NOW).await?, []);
    assert_eq!(
        storage.client_count(organisation, &fixture.population).await?,
        1,
        "the other token's client stays"
    );
    assert_eq!(enrol(storage, &fixture.token_id, &fresh_name()).await?, EnrolOutcome::TokenInvalid);
    Ok(())
}

pub(super) async fn no_client_outlives_a_token_that_is_revoked_with_its_clients(
    storage: &Storage,
) -> Result<(), StorageError> {
    for _ in 0..RUNS {
        let fixture = Fixture::new(storage).await?;
        let (organisation, token_id) = (fixture.organisation_id, fixture.token_id.clone());
        race((0..RUNNERS).map(|runner| {
            let (storage, token_id) = (storage.clone(), token_id.clone());
            async move {
                match runner == RUNNERS / 2 {
                    true => storage.revoke_token_and_clients(organisation, &token_id, NOW).await.map(|_| ()),
                    false => enrol(&storage, &token_id, &fresh_name()).await.map(|_| ()),
                }
            }
        }))
        .await
        .into_iter()
        .collect::<Result<(), _>>()?;
        assert_eq!(storage.client_count(organisation, &fixture.population).await?, 0);
    }
    Ok(())
}
