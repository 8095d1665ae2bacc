//! Sessions of keys and people.

use folkmoot_protocol::{OrganisationId, Role};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, PersonRecord, RenewalRecord, SessionHolder, SessionRecord,
    SessionRepository, Storage, StorageError,
};

use super::{
    access::admin_key,
    fixture::{Fixture, NOW, fresh, fresh_name, later},
};

pub(super) async fn a_session_is_stored_until_it_ends(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let key = ApiKeyRecord {
        id: fresh_name(),
        organisation_id: fixture.organisation_id,
        name: "console".into(),
        role: Role::Viewer,
        secret_hash: [1; 32],
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    let session = |ends| SessionRecord {
        id: fresh_name(),
        holder: SessionHolder::ApiKey(key.id.clone()),
        secret_hash: [2; 32],
        created_at: NOW,
        expires_at: later(ends),
        renewal: None,
        used_at: None,
    };
    let [short, long] = [session(1), session(100)];
    let without_key = storage.create_session(&short).await;
    assert!(matches!(without_key, Err(StorageError::NotFound("API key"))), "{without_key:?}");
    storage.create_api_key(&key).await?;
    storage.create_session(&short).await?;
    storage.create_session(&long).await?;
    let taken = storage.create_session(&long).await;
    assert!(matches!(taken, Err(StorageError::NameTaken("session"))), "{taken:?}");
    assert_eq!(storage.session(&short.id).await?, Some(short.clone()));
    // A later sign-in deletes expired sessions.
    let next = SessionRecord { created_at: later(2), ..session(50) };
    storage.create_session(&next).await?;
    assert_eq!(storage.session(&short.id).await?, None);
    assert_eq!(storage.session(&long.id).await?, Some(long.clone()));
    storage.delete_session(&long.id).await?;
    storage.delete_session(&long.id).await?;
    assert_eq!(storage.session(&long.id).await?, None);
    assert_eq!(storage.session(&next.id).await?, Some(next));
    Ok(())
}

pub(super) async fn a_person_has_a_session_without_a_key(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let person = |organisation_id| PersonRecord {
        organisation_id,
        provider: "example".into(),
        subject: "248289761001".into(),
        name: "Zoë".into(),
        role: Role::Operator,
    };
    let session = |organisation_id| SessionRecord {
        id: fresh_name(),
        holder: SessionHolder::Person(person(organisation_id)),
        secret_hash: [2; 32],
        created_at: NOW,
        expires_at: later(100),
        renewal: None,
        used_at: None,
    };
    let one = session(fixture.organisation_id);
    storage.create_session(&one).await?;
    assert_eq!(storage.session(&one.id).await?, Some(one.clone()));
    storage.delete_session(&one.id).await?;
    assert_eq!(storage.session(&one.id).await?, None);
    let nowhere = storage.create_session(&session(OrganisationId::from_random_bytes(fresh()))).await;
    assert!(matches!(nowhere, Err(StorageError::NotFound("organisation"))), "{nowhere:?}");
    Ok(())
}

pub(super) async fn a_session_is_renewed_once_at_a_time(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let person = PersonRecord {
        organisation_id: fixture.organisation_id,
        provider: "example".into(),
        subject: "248289761001".into(),
        name: "Zoë".into(),
        role: Role::Operator,
    };
    let renewal = RenewalRecord { at: later(10), confirmed_until: later(20), sealed_token: vec![0, 255, 1] };
    let session = SessionRecord {
        id: fresh_name(),
        holder: SessionHolder::Person(person.clone()),
        secret_hash: [2; 32],
        created_at: NOW,
        expires_at: later(100),
        renewal: Some(renewal.clone()),
        used_at: None,
    };
    storage.create_session(&session).await?;
    assert_eq!(storage.session(&session.id).await?, Some(session.clone()));
    assert!(!storage.claim_renewal(&session.id, later(9), later(11)).await?, "it is not due");
    assert!(storage.claim_renewal(&session.id, later(10), later(11)).await?);
    assert!(!storage.claim_renewal(&session.id, later(10), later(11)).await?, "another one has claimed it");
    assert!(!storage.claim_renewal(&fresh_name(), later(10), later(11)).await?);
    let claimed = RenewalRecord { at: later(11), ..renewal };
    let claimed = SessionRecord { renewal: Some(claimed), ..session.clone() };
    assert_eq!(storage.session(&session.id).await?, Some(claimed));

    let renewed = SessionRecord {
        holder: SessionHolder::Person(PersonRecord { name: "Zoe".into(), role: Role::Viewer, ..person }),
        renewal: Some(RenewalRecord { at: later(30), confirmed_until: later(40), sealed_token: Vec::new() }),
        ..session.clone()
    };
    let late = storage.renew_session(&renewed, later(12)).await;
    assert!(matches!(late, Err(StorageError::NotFound("session"))), "another claim followed: {late:?}");
    storage.renew_session(&renewed, later(11)).await?;
    assert_eq!(storage.session(&session.id).await?, Some(renewed.clone()));
    let last = SessionRecord { expires_at: later(50), renewal: None, ..renewed };
    storage.renew_session(&last, later(30)).await?;
    assert_eq!(storage.session(&session.id).await?, Some(last.clone()));
    storage.delete_session(&session.id).await?;
    let ended = storage.renew_session(&last, later(30)).await;
    assert!(matches!(ended, Err(StorageError::NotFound("session"))), "{ended:?}");
    Ok(())
}

pub(super) async fn the_open_sessions_of_an_organisation_are_listed_and_ended(
    storage: &Storage,
) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let (organisation, foreign) = (fixture.organisation_id, other.organisation_id);
    let person = |subject: &str| {
        SessionHolder::Person(PersonRecord {
            organisation_id: organisation,
            provider: "example".into(),
            subject: subject.into(),
            name: "Zoë".into(),
            role: Role::Operator,
        })
    };
    let [key, revoked] = [admin_key(storage, &fixture).await?, admin_key(storage, &fixture).await?];
    let mut sessions = Vec::new();
    let holders = [key.id.clone(), revoked.id.clone()].map(SessionHolder::ApiKey);
    for (age, holder) in (1..).zip(holders.into_iter().chain(["zoë", "zoë", "eve"].map(person))) {
        let session = SessionRecord {
            id: fresh_name(),
            holder,
            secret_hash: [2; 32],
            created_at: later(age),
            expires_at: later(if age == 4 { 20 } else { 100 }),
            renewal: None,
            used_at: None,
        };
        storage.create_session(&session).await?;
        sessions.push(session);
    }
    storage.revoke_api_key(organisation, &revoked.id, later(9)).await?;
    let [of_key, _, old, short, of_eve] = &sessions[..] else { panic!("there are five") };
    let open = async |at, limit| storage.open_sessions(organisation, later(at), limit).await;
    assert_eq!(open(10, 9).await?, [of_eve, short, old, of_key].map(Clone::clone));
    assert_eq!(open(20, 2).await?, [of_eve, old].map(Clone::clone), "one has expired");
    assert_eq!(storage.open_sessions(foreign, later(10), 9).await?, []);

    storage.record_session_uses(&[(old.id.clone(), later(7)), (fresh_name(), later(7))]).await?;
    storage.record_session_uses(&[(old.id.clone(), later(6))]).await?;
    let used = SessionRecord { used_at: Some(later(7)), ..old.clone() };
    assert_eq!(storage.session(&old.id).await?, Some(used));
    for (of, id) in [(foreign, &old.id), (organisation, &fresh_name())] {
        let refused = storage.end_session(of, id).await;
        assert!(matches!(refused, Err(StorageError::NotFound("session"))), "{refused:?}");
    }
    storage.end_session(organisation, &of_key.id).await?;
    assert_eq!(storage.end_sessions_of_person(foreign, "example", "zoë").await?, 0);
    assert_eq!(storage.end_sessions_of_person(organisation, "another", "zoë").await?, 0);
    assert_eq!(storage.end_sessions_of_person(organisation, "example", "zoë").await?, 2);
    assert_eq!(open(10, 9).await?, std::slice::from_ref(of_eve));
    Ok(())
}
