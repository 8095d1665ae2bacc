//! Organisations on one coordinator see nothing of each other.

use std::collections::BTreeMap;

use folkmoot_api::{AdminClient, TaskVerb};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_coordinator::{audit_log::Record, round::Phase};
use folkmoot_protocol::{ClientId, ErrorCode, OrganisationId, Problem, Role};
use folkmoot_rounds::{clock::system_clock, credential::Credential};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, AuditRepository, ClientRepository, PopulationRepository,
    SYSTEM_ORGANISATION, StorageError, TaskRepository, TokenRecord, TokenRepository,
};
use reqwest::Method;
use serde_json::json;

use super::{Running, description, model, privacy::open, refused, start};
use folkmoot_service::http::endpoints;

/// A client with a key that `folkmoot key recover --role system` would create.
pub(super) async fn system_administrator(running: &Running) -> AdminClient {
    let storage = &running.host.coordinator.storage;
    let now = system_clock()();
    let id = OrganisationId::from_random_bytes([3; 16]);
    let organisation_id = storage.ensure_organisation(SYSTEM_ORGANISATION, id, now).await.unwrap();
    let key = Credential::from_random_bytes([4; 8], [5; 32]);
    let record = ApiKeyRecord {
        id: key.id.clone(),
        organisation_id,
        name: "system".into(),
        role: Role::System,
        secret_hash: key.secret_hash(),
        created_at: now,
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    storage.create_api_key(&record).await.unwrap();
    running.client(&key.to_string())
}

#[tokio::test]
async fn an_organisation_is_created_and_closed_with_everything_in_it() {
    let running = start().await;
    let system = system_administrator(&running).await;
    let created = system.create_organisation("Clinic Zoë".parse().unwrap()).await.unwrap();
    assert_eq!(created.organisation.closed_at, None);
    for taken in ["Clinic Zoë", "default", "system"] {
        let (code, detail) = refused(system.create_organisation(taken.parse().unwrap()).await);
        assert!(code == ErrorCode::NameTaken && detail.contains("is taken"), "{detail}");
    }
    let names: Vec<_> =
        system.organisations().await.unwrap().into_iter().map(|organisation| organisation.name).collect();
    assert_eq!(names, ["default", "Clinic Zoë"]);

    let admin = running.client(&created.first_key.api_key);
    let brought = admin.create_model(model()).await.unwrap().model;
    let active = admin.create_task(description(), brought, true).await.unwrap().id;
    let ended = admin.create_task(description(), brought, false).await.unwrap().id;
    admin.change_task(ended, TaskVerb::Cancel).await.unwrap();
    let token = admin.create_token("digits".parse().unwrap(), None, None).await.unwrap();
    admin.create_api_key("a reader", Role::Viewer).await.unwrap();

    let id = created.organisation.id;
    let closed = system.close_organisation(id).await.unwrap();
    assert_eq!((closed.api_keys_revoked, closed.tokens_revoked, closed.tasks_cancelled), (2, 1, 1));
    let again = system.close_organisation(id).await.unwrap();
    assert_eq!((again.api_keys_revoked, again.tokens_revoked, again.tasks_cancelled), (0, 0, 0));
    assert!(system.organisations().await.unwrap()[1].closed_at.is_some());
    assert_eq!(refused(admin.tasks(super::tasks::newest()).await).0, ErrorCode::ApiKeyInvalid);

    let storage = &running.host.coordinator.storage;
    let task = storage.task(id, active).await.unwrap().unwrap();
    assert_eq!(task.state.name(), "cancelled");
    assert!(storage.token(&token.record.id).await.unwrap().unwrap().revoked_at.is_some());
    let entries = storage.audit_entries(id, 0, 100).await.unwrap();
    let records: Vec<Record> =
        entries.iter().map(|entry| serde_json::from_str(&entry.record).unwrap()).collect();
    let by_system = |record: &&Record| record.by == format!("key {}", "04".repeat(8));
    let acts: Vec<&str> = records.iter().filter(by_system).map(|record| record.action.as_str()).collect();
    let closing = ["organisation.close", "task.set_state", "organisation.close"];
    assert_eq!(acts, [&["organisation.create", "api_key.create"][..], &closing].concat());

    // A request that began before gets no key and no token.
    let key = storage.api_keys(id).await.unwrap().remove(0);
    let key = ApiKeyRecord { id: "06".repeat(8), revoked_at: None, ..key };
    let late = storage.create_api_key(&key).await;
    assert!(matches!(late, Err(StorageError::OrganisationClosed)), "{late:?}");
    let token = storage.tokens(id).await.unwrap().remove(0);
    let token = TokenRecord { id: "06".repeat(8), revoked_at: None, ..token };
    let late = storage.create_token(&token).await;
    assert!(matches!(late, Err(StorageError::OrganisationClosed)), "{late:?}");
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn system_administrators_see_no_organisations_data_and_nobody_makes_more_of_them() {
    let running = start().await;
    let system = system_administrator(&running).await;
    assert_eq!(refused(system.tasks(super::tasks::newest()).await).0, ErrorCode::RoleInsufficient);
    let admin = running.admin();
    assert_eq!(refused(admin.organisations().await).0, ErrorCode::RoleInsufficient);
    let (code, detail) = refused(admin.create_api_key("more", Role::System).await);
    assert_eq!(code, ErrorCode::MalformedRequest);
    assert!(detail.contains("folkmoot key recover --role system"), "{detail}");
    let unknown = OrganisationId::from_random_bytes([9; 16]);
    assert_eq!(refused(system.close_organisation(unknown).await).0, ErrorCode::ResourceUnknown);
    let id =
        running.host.coordinator.storage.ensure_organisation(SYSTEM_ORGANISATION, unknown, system_clock()());
    let (code, detail) = refused(system.close_organisation(id.await.unwrap()).await);
    assert!(code == ErrorCode::MalformedRequest && detail.contains("cannot be closed"), "{detail}");
    running.host.stop().await.unwrap();
}

/// Calls every endpoint with the keys of another organisation and the ids of this one.
#[tokio::test]
async fn another_organisations_keys_open_nothing() {
    let running = start().await;
    let system = system_administrator(&running).await;
    let ours = running.admin();
    let theirs = running
        .client(&system.create_organisation("other".parse().unwrap()).await.unwrap().first_key.api_key);
    let mut keys = BTreeMap::new();
    for role in [Role::Viewer, Role::Operator, Role::Admin] {
        keys.insert(role, theirs.create_api_key("test", role).await.unwrap().api_key);
    }
    let brought = ours.create_model(model()).await.unwrap().model;
    let task = ours.create_task(description(), brought, true).await.unwrap().id;
    let token = ours.create_token("digits".parse().unwrap(), None, None).await.unwrap().record.id;
    let key = ours.create_api_key("our reader", Role::Viewer).await.unwrap().record.id;
    let digest = brought.to_string();
    let draft = ours.create_task(description(), brought, false).await.unwrap().id;
    let since = system_clock()();
    let round = open(&running, draft, 1, Phase::Selecting { since }).await.round.id.to_string();
    let client = ClientId::from_random_bytes([8; 16]);
    let storage = &running.host.coordinator.storage;
    storage.enrol(&token, "a key", client, since).await.unwrap();
    let client = client.to_string();
    let secrets = [&task.to_string(), &token, &key, &digest, &round, &client].map(String::clone);
    let before = async || {
        // Drivers change the rest of a task.
        let state = ours.task(task).await.unwrap().state;
        (state, ours.tokens().await.unwrap(), ours.api_keys().await.unwrap(), ours.models().await.unwrap())
    };
    let unchanged = before().await;

    let http =
        build_http(&HttpSettings { certificate_pem: Some(running.pem.clone()), ..HttpSettings::default() })
            .unwrap();
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.path != "/events") {
        let id = match endpoint.path.split('/').nth(1) {
            Some("tokens") => &token,
            Some("api-keys") => &key,
            Some("rounds") => &round,
            Some("clients") => &client,
            _ => &secrets[0],
        };
        let path = endpoint.path.replace("{id}", id).replace("{number}", "0").replace("{digest}", &digest);
        let path = path.replace("{population}", "digits");
        for (role, key) in &keys {
            let url = format!("{}/v1/admin{path}", running.host.url());
            let mut request = http.request(endpoint.method.clone(), url).bearer_auth(key);
            if endpoint.method == Method::POST {
                request = request.json(&json!({ "model": digest, "description": super::described() }));
            }
            let response = request.send().await.unwrap();
            let (status, text) = (response.status(), response.text().await.unwrap());
            let what = format!("{} {path} as {}: {status} {text}", endpoint.method, role.name());
            assert!(!status.is_server_error(), "{what}");
            if endpoint.path.contains("{id}") || endpoint.path.contains("{digest}") {
                let code = serde_json::from_str::<Problem>(&text).unwrap().code.known().unwrap();
                let refusals = [
                    ErrorCode::TaskUnknown,
                    ErrorCode::RoundUnknown,
                    ErrorCode::ResourceUnknown,
                    ErrorCode::RoleInsufficient,
                ];
                let is_body = code == ErrorCode::MalformedRequest && endpoint.method == Method::POST;
                assert!(refusals.contains(&code) || is_body, "{what}");
                continue;
            }
            // An answer may repeat the digest that the request has.
            let is_told = |secret: &&String| text.contains(*secret) && **secret != digest;
            assert_eq!(secrets.iter().find(is_told), None, "{what}");
            assert!(endpoint.method == Method::POST || !text.contains(&digest), "{what}");
        }
    }
    assert_eq!(before().await, unchanged);
    // The process's log has lines of all organisations.
    let shown = theirs.system().await.unwrap();
    assert!(shown.log.is_empty() && shown.leases.is_empty() && shown.withheld.is_some(), "{shown:?}");
    running.host.stop().await.unwrap();
}
