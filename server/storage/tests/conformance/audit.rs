//! The audit log.

use folkmoot_coordinator::{
    audit_log::{Chain, Head, Record},
    privacy::PopulationPrivacy,
    task::TaskState,
};
use folkmoot_privacy::Unit;
use folkmoot_protocol::{BlobDigest, OrganisationId, Role};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, AuditRepository, ClientRepository, EndorsementRecord,
    EndorsementRepository, ModelRecord, ModelRepository, ModelVersionRepository, SessionHolder,
    SessionRecord, SessionRepository, Storage, StorageError, TaskRecord, TaskRepository, TokenAfter,
    TokenRepository,
    audit::{Actor, on_behalf_of},
};

use super::{
    fixture::{Fixture, NOW, fresh_name, later, version_of},
    races::{RUNNERS, race},
};

fn somebody() -> Actor {
    Actor { by: "key 0123456789abcdef".into(), from: Some("192.0.2.1".into()), at: later(7) }
}

/// Reads a log in pages, verifies its chain, and returns its records.
async fn log(storage: &Storage, organisation_id: OrganisationId) -> Result<Vec<Record>, StorageError> {
    let (mut chain, mut records) = (Chain::default(), Vec::new());
    loop {
        let page = storage.audit_entries(organisation_id, records.len() as u64, 3).await?;
        if page.is_empty() {
            break;
        }
        for entry in page {
            let record: Record = serde_json::from_str(&entry.record).expect("it is a record");
            chain.follow(&entry, &record).expect("the chain is whole");
            records.push(record);
        }
    }
    assert_eq!(storage.audit_head(organisation_id).await?, chain.head());
    Ok(records)
}

fn key_of(organisation_id: OrganisationId, role: Role) -> ApiKeyRecord {
    ApiKeyRecord {
        id: fresh_name(),
        organisation_id,
        name: "a key".into(),
        role,
        secret_hash: [9; 32],
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    }
}

fn endorsement_of(task: &TaskRecord) -> EndorsementRecord {
    EndorsementRecord {
        organisation_id: task.organisation_id,
        task_id: task.id,
        sequence: 1,
        signed: "statement".into(),
        public_key: "key".into(),
        published_at: NOW,
    }
}

async fn act_on_keys(
    storage: &Storage,
    first: &ApiKeyRecord,
    second: &ApiKeyRecord,
) -> Result<(), StorageError> {
    storage.create_api_key(first).await?;
    storage.create_api_key(second).await?;
    storage.rotate_api_key(second.organisation_id, &second.id, [7; 32], later(1), NOW).await?;
    storage.record_key_uses(&[(first.id.clone(), NOW)]).await?;
    storage.revoke_api_key(second.organisation_id, &second.id, NOW).await
}

async fn act_on_sessions(
    storage: &Storage,
    id: OrganisationId,
    session: &SessionRecord,
) -> Result<(), StorageError> {
    storage.create_session(session).await?;
    storage.delete_session(&session.id).await?;
    storage.create_session(session).await?;
    storage.end_session(id, &session.id).await?;
    storage.end_sessions_of_person(id, "example", "eve").await?;
    storage.record_refused_person(id, "oidc:example:eve (Eve)").await
}

pub(super) async fn each_act_is_recorded_with_its_author(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let id = fixture.organisation_id;
    let key = |role| key_of(id, role);
    let (first, second) = (key(Role::Admin), key(Role::Viewer));
    let session = SessionRecord {
        id: fresh_name(),
        holder: SessionHolder::ApiKey(first.id.clone()),
        secret_hash: [8; 32],
        created_at: NOW,
        expires_at: later(60),
        renewal: None,
        used_at: None,
    };
    let model = ModelRecord {
        name: None,
        organisation_id: id,
        model: BlobDigest::of(fresh_name().as_bytes()),
        model_bytes: 5,
        weights: BlobDigest::of(b"weights"),
        schema: fixture.task_record().schema,
        created_at: NOW,
    };
    let (token, task) = (fixture.token_record(), fixture.task_record());
    let endorsement = endorsement_of(&task);
    on_behalf_of(somebody(), async {
        act_on_keys(storage, &first, &second).await?;
        act_on_sessions(storage, id, &session).await?;
        fixture.set_privacy(PopulationPrivacy { unit: Unit::User, budget: None }, None).await?;
        fixture.set_privacy(PopulationPrivacy::default(), None).await?;
        storage.create_token(&token).await?;
        storage.revoke_token(id, &token.id, NOW).await?;
        let client = fixture.client().await?;
        storage.revoke_client(id, client, TokenAfter::Closed, NOW).await?;
        storage.revoke_token_and_clients(id, &fixture.token_id, NOW).await?;
        storage.create_model(&model).await?;
        storage.create_model(&model).await?;
        storage.create_task(&task, &version_of(task.id, 0)).await?;
        storage.publish_endorsement(&endorsement).await?;
        storage.set_task_state(task.id, TaskState::PAUSED, 0).await?;
        storage.release_version(id, &version_of(task.id, 1)).await
    })
    .await?;
    let records = log(storage, id).await?;
    let actions: Vec<&str> = records.iter().map(|record| record.action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "api_key.create",
            "api_key.create",
            "api_key.rotate",
            "api_key.revoke",
            "session.create",
            "session.delete",
            "session.create",
            "session.end",
            "session.end_all",
            "session.refuse",
            "population.set_privacy",
            "population.set_privacy",
            "token.create",
            "token.revoke",
            "client.revoke",
            "token.revoke_clients",
            "model.create",
            "task.create",
            "task.endorse",
            "task.set_state",
            "task.roll_back",
        ],
        "a key's use, a client's enrolment and a model that is there already are no acts"
    );
    let authors = records.iter().map(|record| (record.by.clone(), record.from.clone(), record.at));
    let Actor { by, from, at } = somebody();
    assert!(authors.into_iter().all(|author| author == (by.clone(), from.clone(), at)));
    let paused = &records[19];
    let [before, after] = [&paused.changes[0].before, &paused.changes[0].after].map(|value| value.as_deref());
    assert_eq!((paused.subject.clone(), before, after), (task.id.to_string(), Some("draft"), Some("paused")));
    Ok(())
}

pub(super) async fn what_fails_or_has_no_author_is_not_recorded(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let task = fixture.task().await?;
    storage.set_task_state(task.id, TaskState::ACTIVE, 0).await?;
    let refused = on_behalf_of(somebody(), async {
        let stale = storage.set_task_state(task.id, TaskState::PAUSED, 0).await;
        let unknown = storage.revoke_token(fixture.organisation_id, &fresh_name(), NOW).await;
        let taken = storage.create_token(&fixture.token_record()).await.and(Ok(()));
        (stale.is_err(), unknown.is_err(), taken.is_ok())
    });
    assert_eq!(refused.await, (true, true, true));
    let records = log(storage, fixture.organisation_id).await?;
    assert_eq!(records.len(), 1, "only the token that was created");
    Ok(())
}

pub(super) async fn retention_removes_the_oldest_entries(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let id = fixture.organisation_id;
    assert_eq!(storage.prune_audit(id, later(99)).await?, 0, "there is no log");
    for at in [1, 2, 9, 3] {
        let actor = Actor { at: later(at), ..somebody() };
        on_behalf_of(actor, storage.create_token(&fixture.token_record())).await?;
    }
    let whole = storage.audit_entries(id, 0, 9).await?;
    let prune = async |at| on_behalf_of(somebody(), storage.prune_audit(id, later(at))).await;
    assert_eq!((prune(1).await?, storage.audit_entries(id, 0, 9).await?), (0, whole.clone()));

    // The last entry is old, too, but an entry before it is not.
    assert_eq!(prune(5).await?, 2);
    let rest = storage.audit_entries(id, 0, 9).await?;
    assert_eq!((rest.len(), &rest[..2]), (3, &whole[2..]));
    let record: Record = serde_json::from_str(&rest[2].record).expect("it is a record");
    let removed = Head { entries: 2, digest: Some(whole[1].digest) };
    assert_eq!((record.number, record.removed()), (5, Some(removed)));
    let head = storage.audit_head(id).await?;
    assert_eq!(head, Head { entries: 5, digest: Some(rest[2].digest) });
    assert_eq!(storage.audit_entries(id, 3, 1).await?, rest[1..2]);
    assert_eq!(prune(5).await?, 0, "nothing is recorded again");
    assert_eq!(storage.audit_head(id).await?, head);
    assert_eq!(prune(99).await?, 3, "the rest follows the last removed entry");
    let last = storage.audit_entries(id, 0, 9).await?;
    let record: Record = serde_json::from_str(&last[0].record).expect("it is a record");
    assert_eq!((last.len(), record.number, record.removed()), (1, 6, Some(head)));
    Ok(())
}

pub(super) async fn acts_at_the_same_time_form_one_chain(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let stored = race((0..RUNNERS).map(|_| {
        let (storage, token) = (storage.clone(), fixture.token_record());
        async move { on_behalf_of(somebody(), storage.create_token(&token)).await }
    }))
    .await;
    stored.into_iter().collect::<Result<Vec<()>, _>>()?;
    assert_eq!(log(storage, fixture.organisation_id).await?.len(), RUNNERS);
    Ok(())
}
