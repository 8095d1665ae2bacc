use std::collections::BTreeMap;

use folkmoot_client::{HttpSettings, build_http};
use folkmoot_protocol::{ErrorCode, Problem, Role, Timestamp, headers};
use folkmoot_rounds::credential::Credential;
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository};
use reqwest::Method;

use super::start;
use folkmoot_service::http::endpoints;

/// The endpoints of edge aggregators.
const AT_THE_EDGE: [&str; 7] = [
    "GET /aggregator/assignments/{id}",
    "GET /aggregator/tasks/{id}",
    "POST /aggregator/admissions",
    "POST /aggregator/updates",
    "POST /aggregator/refusals",
    "POST /aggregator/rounds",
    "POST /aggregator/rounds/{id}/sum",
];

/// The table of roles, repeated by hand: changing a role must be deliberate.
#[test]
fn every_endpoint_has_the_role_that_is_wanted() {
    let served: BTreeMap<String, &str> = endpoints()
        .into_iter()
        .map(|endpoint| (format!("{} {}", endpoint.method, endpoint.path), endpoint.role.name()))
        .collect();
    let wanted = BTreeMap::from(
        [
            ("GET /overview", "viewer"),
            ("GET /events", "viewer"),
            ("GET /system", "operator"),
            ("POST /demo", "admin"),
            ("POST /models", "operator"),
            ("POST /models/parts", "operator"),
            ("GET /models", "viewer"),
            ("GET /models/{digest}/graph", "viewer"),
            ("POST /evaluation-data", "operator"),
            ("POST /components", "operator"),
            ("POST /tasks", "operator"),
            ("POST /tasks/check", "operator"),
            ("GET /tasks", "viewer"),
            ("GET /tasks/{id}", "viewer"),
            ("POST /tasks/{id}/activate", "operator"),
            ("POST /tasks/{id}/pause", "operator"),
            ("POST /tasks/{id}/resume", "operator"),
            ("POST /tasks/{id}/cancel", "operator"),
            ("POST /tasks/{id}/roll-back", "operator"),
            ("GET /tasks/{id}/endorsement", "viewer"),
            ("POST /tasks/{id}/endorsement", "operator"),
            ("GET /tasks/{id}/series", "viewer"),
            ("GET /tasks/{id}/rounds", "viewer"),
            ("GET /tasks/{id}/evaluations", "viewer"),
            ("GET /tasks/{id}/evaluations/{number}", "viewer"),
            ("GET /tasks/{id}/stats", "viewer"),
            ("GET /rounds/{id}", "viewer"),
            ("GET /rounds/{id}/assignments", "viewer"),
            ("GET /tasks/{id}/versions", "viewer"),
            ("GET /tasks/{id}/versions/{number}/model", "viewer"),
            ("GET /populations", "viewer"),
            ("GET /populations/{population}/clients", "viewer"),
            ("POST /privacy/plan", "viewer"),
            ("GET /tasks/{id}/privacy", "viewer"),
            ("GET /populations/{population}/ledger", "viewer"),
            ("POST /populations/{population}/clients", "admin"),
            ("POST /populations/{population}/downloads", "admin"),
            ("GET /populations/{population}/sites", "operator"),
            ("GET /populations/{population}/rollouts", "viewer"),
            ("POST /populations/{population}/rollouts", "operator"),
            ("POST /populations/{population}/rollouts/{number}", "operator"),
            ("POST /populations/{population}/privacy", "privacy_officer"),
            ("POST /tokens", "operator"),
            ("GET /tokens", "viewer"),
            ("DELETE /tokens/{id}", "operator"),
            ("GET /tokens/{id}/clients", "admin"),
            ("POST /tokens/{id}/revoke-clients", "admin"),
            ("GET /audit", "privacy_officer"),
            ("POST /api-keys", "privacy_officer"),
            ("GET /api-keys", "privacy_officer"),
            ("DELETE /api-keys/{id}", "privacy_officer"),
            ("POST /api-keys/{id}/rotate", "privacy_officer"),
            ("GET /sessions", "admin"),
            ("DELETE /sessions/{id}", "admin"),
            ("POST /sessions/end", "admin"),
            ("GET /clients/{id}", "admin"),
            ("POST /clients/{id}/revoke", "admin"),
            ("GET /usage", "viewer"),
            ("GET /organisations/usage", "system"),
            ("POST /organisations/{id}/quotas", "system"),
            ("GET /organisations", "system"),
            ("POST /organisations", "system"),
            ("POST /organisations/{id}/close", "system"),
        ]
        .map(|(endpoint, role)| (endpoint.to_owned(), role)),
    );
    let at_the_edge = AT_THE_EDGE.map(|endpoint| (endpoint.to_owned(), "aggregator"));
    assert_eq!(served, wanted.into_iter().chain(at_the_edge).collect());
}

#[tokio::test]
async fn a_population_keeps_its_models_from_those_who_only_read() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(super::model()).await.unwrap();
    let task = admin.create_task(super::description(), kept.model, false).await.unwrap();
    let mut clients = Vec::new();
    for role in [Role::Viewer, Role::PrivacyOfficer, Role::Operator] {
        clients.push(running.client(&admin.create_api_key("reader", role).await.unwrap().api_key));
    }
    let may = async || {
        let mut may = Vec::new();
        for client in &clients {
            may.push(match client.download_model(task.id, None, None).await {
                Ok(_) => true,
                Err(error) => {
                    assert_eq!(error.code(), Some(ErrorCode::RoleInsufficient), "{error}");
                    false
                }
            });
        }
        may
    };
    assert_eq!(may().await, [true, true, true], "as before this setting");
    let population = task.description.population.clone();
    assert!(!admin.set_viewers_download(&population, false).await.unwrap().viewers_download);
    assert!(!admin.populations().await.unwrap()[0].viewers_download);
    assert_eq!(may().await, [false, false, true]);
    admin.set_viewers_download(&population, true).await.unwrap();
    assert_eq!(may().await, [true, true, true]);
    running.host.stop().await.unwrap();
}

/// Tries every endpoint with every role, without a key, with a device's signature, and with unknown, revoked and expired
/// keys. Access is refused before anything else is checked.
#[tokio::test]
async fn the_gate_stands_before_every_endpoint() {
    let running = start().await;
    let admin = running.admin();
    let mut keys = BTreeMap::from([("unknown", format!("{}.{}", "0".repeat(16), "0".repeat(64)))]);
    for role in [Role::Viewer, Role::Operator, Role::PrivacyOfficer, Role::Admin] {
        keys.insert(role.name(), admin.create_api_key("test", role).await.unwrap().api_key);
    }
    let revoked = admin.create_api_key("revoked", Role::Admin).await.unwrap();
    admin.revoke_api_key(&revoked.record.id).await.unwrap();
    let expired = Credential::from_random_bytes([6; 8], [7; 32]);
    let record = ApiKeyRecord {
        id: expired.id.clone(),
        organisation_id: running.host.organisation,
        name: "expired".into(),
        role: Role::Admin,
        secret_hash: expired.secret_hash(),
        created_at: Timestamp(1),
        expires_at: Some(Timestamp(2)),
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    running.host.coordinator.storage.create_api_key(&record).await.unwrap();
    let invalid = [keys["unknown"].clone(), revoked.api_key, expired.to_string()];
    let http =
        build_http(&HttpSettings { certificate_pem: Some(running.pem.clone()), ..HttpSettings::default() })
            .unwrap();
    let code_of = async |method: &Method, path: &str, key: Option<&String>| {
        let path = path.replace("{id}", "6f2c5a1e-8a3b-4c1d-9e0f-2b7d6a5c4e3f").replace("{number}", "latest");
        let mut request = http.request(method.clone(), format!("{}/v1/admin{path}", running.host.url()));
        request = match key {
            Some(key) => request.bearer_auth(key),
            None => request.header(headers::CLIENT, "a device").header(headers::SIGNATURE, "a signature"),
        };
        let response = request.send().await.unwrap();
        let is_refused = !response.status().is_success();
        if !is_refused {
            // Some responses never end.
            return None;
        }
        let bytes = response.bytes().await.unwrap();
        serde_json::from_slice::<Problem>(&bytes).unwrap().code.known()
    };
    for endpoint in endpoints() {
        let (method, path) = (&endpoint.method, endpoint.path);
        assert_eq!(code_of(method, path, None).await, Some(ErrorCode::ApiKeyMissing), "{method} {path}");
        for key in &invalid {
            assert_eq!(
                code_of(method, path, Some(key)).await,
                Some(ErrorCode::ApiKeyInvalid),
                "{method} {path}"
            );
        }
        for role in [Role::Viewer, Role::Operator, Role::PrivacyOfficer, Role::Admin] {
            let code = code_of(method, path, Some(&keys[role.name()])).await;
            let is_insufficient = code == Some(ErrorCode::RoleInsufficient);
            let may = match role {
                Role::PrivacyOfficer => [Role::Viewer, Role::PrivacyOfficer].contains(&endpoint.role),
                role => role >= endpoint.role,
            };
            assert_eq!(is_insufficient, !may, "{method} {path} as {}: {code:?}", role.name());
            assert!(
                !matches!(code, Some(ErrorCode::ApiKeyInvalid | ErrorCode::Internal)),
                "{method} {path}: {code:?}"
            );
        }
    }
    running.host.stop().await.unwrap();
}
