//! Organisations, populations, API keys and tokens.

use folkmoot_protocol::{OrganisationId, Role, Timestamp, UserKey};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, PopulationRepository, SessionHolder, SessionRecord, SessionRepository,
    Storage, StorageError, TokenRecord, TokenRepository,
};

use super::{
    fixture::{Fixture, NOW, fresh, fresh_name, later},
    races::{RUNS, race},
};

pub(super) async fn an_organisation_is_made_once(storage: &Storage) -> Result<(), StorageError> {
    let name = fresh_name();
    let [first, second] = [(); 2].map(|()| OrganisationId::from_random_bytes(fresh()));
    assert_eq!(storage.ensure_organisation(&name, first, NOW).await?, first);
    assert_eq!(storage.ensure_organisation(&name, second, later(1)).await?, first);
    Ok(())
}

pub(super) async fn a_population_is_made_once(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let first = storage.ensure_population(fixture.organisation_id, &fixture.population, later(9)).await?;
    assert_eq!(first.created_at, NOW);
    for name in ["a1", "a-1"] {
        let name = name.parse().expect("it is a population's name");
        storage.ensure_population(fixture.organisation_id, &name, NOW).await?;
    }
    let populations = storage.populations(fixture.organisation_id).await?;
    let names: Vec<&str> = populations.iter().map(|population| population.name.as_str()).collect();
    assert_eq!(names, ["a-1", "a1", "digits"], "in the order of the bytes");
    assert_eq!(populations[2], first);
    let other = Fixture::new(storage).await?;
    assert_eq!(storage.populations(other.organisation_id).await?.len(), 1);
    let nobody = OrganisationId::from_random_bytes(fresh());
    let refused = storage.ensure_population(nobody, &fixture.population, NOW).await;
    assert!(matches!(refused, Err(StorageError::NotFound("organisation"))), "{refused:?}");
    Ok(())
}

pub(super) async fn an_api_key_is_stored_and_revoked(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let key = |role, created_at| ApiKeyRecord {
        id: fresh_name(),
        organisation_id: fixture.organisation_id,
        name: "for Zoë's \"CI\"".into(),
        role,
        secret_hash: std::array::from_fn(|index| u8::try_from(index).expect("a hash has 32 bytes")),
        created_at,
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    let [old, new] = [key(Role::Viewer, NOW), key(Role::Admin, later(1))];
    storage.create_api_key(&new).await?;
    storage.create_api_key(&old).await?;
    let taken = storage.create_api_key(&old).await;
    assert!(matches!(taken, Err(StorageError::NameTaken("API key"))), "{taken:?}");
    assert_eq!(storage.api_key(&old.id).await?, Some(old.clone()));
    assert_eq!(storage.api_key(&fresh_name()).await?, None);
    assert_eq!(storage.api_keys(fixture.organisation_id).await?, [old.clone(), new]);
    assert_eq!(storage.api_keys(other.organisation_id).await?, []);
    let foreign = storage.revoke_api_key(other.organisation_id, &old.id, later(2)).await;
    assert!(matches!(foreign, Err(StorageError::NotFound("API key"))), "{foreign:?}");
    storage.revoke_api_key(fixture.organisation_id, &old.id, later(3)).await?;
    storage.revoke_api_key(fixture.organisation_id, &old.id, later(4)).await?;
    let revoked = storage.api_key(&old.id).await?;
    assert_eq!(revoked, Some(ApiKeyRecord { revoked_at: Some(later(3)), ..old }));
    Ok(())
}

/// Creates an admin key in the fixture's organisation.
pub(super) async fn admin_key(storage: &Storage, fixture: &Fixture) -> Result<ApiKeyRecord, StorageError> {
    let key = ApiKeyRecord {
        id: fresh_name(),
        organisation_id: fixture.organisation_id,
        name: "admin".into(),
        role: Role::Admin,
        secret_hash: [2; 32],
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    storage.create_api_key(&key).await?;
    Ok(key)
}

pub(super) async fn the_last_key_of_an_admin_stays(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let organisation = fixture.organisation_id;
    let [first, last] = [admin_key(storage, &fixture).await?, admin_key(storage, &fixture).await?];
    admin_key(storage, &other).await?;
    let operator = ApiKeyRecord { id: fresh_name(), role: Role::Operator, ..first.clone() };
    storage.create_api_key(&operator).await?;
    // An admin whose key expires does not count: some day nobody would be left.
    let expiring = ApiKeyRecord { id: fresh_name(), expires_at: Some(later(9)), ..first.clone() };
    storage.create_api_key(&expiring).await?;
    assert_eq!(storage.api_key(&expiring.id).await?, Some(expiring.clone()));
    storage.revoke_api_key(organisation, &first.id, later(1)).await?;
    let refused = storage.revoke_api_key(organisation, &last.id, later(2)).await;
    assert!(matches!(refused, Err(StorageError::LastAdminKey)), "{refused:?}");
    assert_eq!(storage.api_key(&last.id).await?, Some(last));
    // Keys that are already revoked, and keys of other roles, can still be revoked.
    storage.revoke_api_key(organisation, &first.id, later(3)).await?;
    storage.revoke_api_key(organisation, &expiring.id, later(3)).await?;
    storage.revoke_api_key(organisation, &operator.id, later(3)).await
}

pub(super) async fn of_admins_that_revoke_each_other_one_stays(
    storage: &Storage,
) -> Result<(), StorageError> {
    for _ in 0..RUNS {
        let fixture = Fixture::new(storage).await?;
        let organisation = fixture.organisation_id;
        let admins = [admin_key(storage, &fixture).await?, admin_key(storage, &fixture).await?];
        let outcomes = race(admins.map(|key| {
            let storage = storage.clone();
            async move { storage.revoke_api_key(organisation, &key.id, later(1)).await }
        }))
        .await;
        let refused =
            |outcome: &&Result<(), StorageError>| matches!(outcome, Err(StorageError::LastAdminKey));
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
        assert_eq!(outcomes.iter().filter(refused).count(), 1, "{outcomes:?}");
        let keys = storage.api_keys(organisation).await?;
        assert_eq!(keys.iter().filter(|key| key.revoked_at.is_none()).count(), 1);
    }
    Ok(())
}

pub(super) async fn a_rotated_key_has_two_secrets_for_a_while(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let organisation = fixture.organisation_id;
    let first = admin_key(storage, &fixture).await?;
    let session = |ends| SessionRecord {
        id: fresh_name(),
        holder: SessionHolder::ApiKey(first.id.clone()),
        secret_hash: [2; 32],
        created_at: NOW,
        expires_at: later(ends),
        renewal: None,
        used_at: None,
    };
    let [short, long] = [session(3), session(100)];
    storage.create_session(&short).await?;
    storage.create_session(&long).await?;
    let foreign = storage.rotate_api_key(other.organisation_id, &first.id, [3; 32], later(9), later(1)).await;
    assert!(matches!(foreign, Err(StorageError::NotFound("API key"))), "{foreign:?}");

    let rotated = storage.rotate_api_key(organisation, &first.id, [3; 32], later(9), later(1)).await?;
    assert_eq!(storage.api_key(&first.id).await?, Some(rotated.clone()));
    let accepted =
        |key: &ApiKeyRecord, at| [[2; 32], [3; 32], [4; 32]].map(|hash| key.accepts(hash, later(at)));
    assert_eq!(accepted(&rotated, 8), [true, true, false]);
    assert_eq!(accepted(&rotated, 9), [false, true, false]);
    assert_eq!(storage.session(&short.id).await?, Some(short), "it ends before the old secret");
    assert_eq!(storage.session(&long.id).await?, Some(SessionRecord { expires_at: later(9), ..long }));

    // Another rotation within the overlap forgets the oldest secret.
    let again = storage.rotate_api_key(organisation, &first.id, [4; 32], later(10), later(5)).await?;
    assert_eq!(accepted(&again, 6), [false, true, true]);
    assert_eq!(again, ApiKeyRecord { secret_hash: [4; 32], rotation: again.rotation.clone(), ..first });
    admin_key(storage, &fixture).await?;
    storage.revoke_api_key(organisation, &again.id, later(6)).await?;
    let revoked = storage.rotate_api_key(organisation, &again.id, [5; 32], later(9), later(7)).await;
    assert!(matches!(revoked, Err(StorageError::NotFound("API key"))), "{revoked:?}");
    Ok(())
}

pub(super) async fn the_last_use_of_a_key_is_recorded(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let key = admin_key(storage, &fixture).await?;
    let uses = |at| [(fresh_name(), later(at)), (key.id.clone(), later(at))];
    for (at, recorded) in [(5, 5), (3, 5), (6, 6)] {
        storage.record_key_uses(&uses(at)).await?;
        let used_at = storage.api_key(&key.id).await?.and_then(|key| key.used_at);
        assert_eq!(used_at, Some(later(recorded)), "a use at {at}");
    }
    Ok(())
}

pub(super) async fn a_token_is_stored_and_revoked(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let token = TokenRecord {
        name: Some("Klinik Süd".into()),
        user_key: Some(UserKey::of(fixture.organisation_id, &fixture.population, "user 7")),
        uses_max: Some(3),
        uses: 1,
        expires_at: Some(later(9)),
        created_at: later(1),
        ..fixture.token_record()
    };
    storage.create_token(&token).await?;
    let taken = storage.create_token(&token).await;
    assert!(matches!(taken, Err(StorageError::NameTaken("token"))), "{taken:?}");
    assert_eq!(storage.token(&token.id).await?, Some(token.clone()));
    assert_eq!(storage.token(&fresh_name()).await?, None);
    let ids: Vec<String> =
        storage.tokens(fixture.organisation_id).await?.into_iter().map(|token| token.id).collect();
    assert_eq!(ids, [fixture.token_id.clone(), token.id.clone()]);
    let foreign = storage.revoke_token(other.organisation_id, &token.id, later(2)).await;
    assert!(matches!(foreign, Err(StorageError::NotFound("token"))), "{foreign:?}");
    storage.revoke_token(fixture.organisation_id, &token.id, later(3)).await?;
    storage.revoke_token(fixture.organisation_id, &token.id, later(4)).await?;
    let revoked = storage.token(&token.id).await?;
    assert_eq!(revoked, Some(TokenRecord { revoked_at: Some(later(3)), ..token.clone() }));
    let stray = TokenRecord { population: "nobody".parse().expect("a name"), id: fresh_name(), ..token };
    let refused = storage.create_token(&stray).await;
    assert!(matches!(refused, Err(StorageError::NotFound("population"))), "{refused:?}");
    Ok(())
}

pub(super) async fn a_number_that_sql_cannot_hold_is_refused(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let largest = TokenRecord {
        uses_max: Some(i64::MAX as u64),
        expires_at: Some(Timestamp(i64::MAX as u64)),
        ..fixture.token_record()
    };
    storage.create_token(&largest).await?;
    assert_eq!(storage.token(&largest.id).await?, Some(largest));
    let too_large = TokenRecord { uses_max: Some(i64::MAX as u64 + 1), ..fixture.token_record() };
    let refused = storage.create_token(&too_large).await;
    assert!(matches!(refused, Err(StorageError::OutOfRange(number)) if number == 1 << 63), "{refused:?}");
    assert_eq!(storage.token(&too_large.id).await?, None);
    Ok(())
}
