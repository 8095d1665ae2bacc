//! Names and the beginnings of ids in paths.

use folkmoot_api::tokens::CreateTokenRequest;
use folkmoot_protocol::{ErrorCode, Role};
use folkmoot_rounds::clock::system_clock;
use folkmoot_storage::{ClientRepository, RoundRepository};

use super::{Running, description, disclosure, model, refused, start};

/// Sends a request without a body. Returns the status and the body.
async fn ask(running: &Running, method: reqwest::Method, path: &str) -> (u16, serde_json::Value) {
    let settings =
        folkmoot_client::HttpSettings { certificate_pem: Some(running.pem.clone()), ..Default::default() };
    let http = folkmoot_client::build_http(&settings).unwrap();
    let url = format!("{}/v1/admin/{path}", running.host.url());
    let key = running.host.first_api_key.as_ref().unwrap();
    let answer = http.request(method, url).bearer_auth(key).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn a_task_is_found_by_its_name_and_by_the_beginning_of_its_id() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap().model;
    let mut described = description();
    described.name = "Ziffern 100 %".parse().unwrap();
    let task = admin.create_task(described.clone(), kept, false).await.unwrap();
    let id = task.id.to_string();
    for called in ["Ziffern%20100%20%25", "ziffern%20100%20%25", &id[..4], &id[..9].to_uppercase(), &id] {
        let (status, view) = ask(&running, reqwest::Method::GET, &format!("tasks/{called}")).await;
        assert_eq!((status, view["id"].as_str()), (200, Some(id.as_str())), "{called}");
        let (status, _) = ask(&running, reqwest::Method::GET, &format!("tasks/{called}/rounds")).await;
        assert_eq!(status, 200, "{called}");
    }
    for unknown in [&id[..3], "ziffern", "%25", "%00", "_"] {
        let (status, problem) = ask(&running, reqwest::Method::GET, &format!("tasks/{unknown}")).await;
        assert_eq!((status, problem["code"].as_str()), (404, Some("task_unknown")), "{unknown}: {problem}");
    }
    // Two tasks with one name: neither is cancelled.
    let second = admin.create_task(described, kept, false).await.unwrap();
    let path = "tasks/ziffern%20100%20%25/cancel";
    let (status, problem) = ask(&running, reqwest::Method::POST, path).await;
    let detail = problem["detail"].as_str().unwrap();
    assert!(status == 404 && detail.contains(&id) && detail.contains(&second.id.to_string()), "{detail}");
    assert_eq!(admin.task(task.id).await.unwrap().state, "draft");
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn tokens_keys_and_models_have_names() {
    let running = start().await;
    let admin = running.admin();
    let named = |name: &str| CreateTokenRequest {
        name: Some(name.parse().unwrap()),
        ..CreateTokenRequest::of("digits".parse().unwrap())
    };
    let first = admin.create_token_from(&named("app/release 3")).await.unwrap().record;
    let second = admin.create_token_from(&named("b")).await.unwrap().record;
    assert_eq!((first.name.as_deref(), second.name.as_deref()), (Some("app/release 3"), Some("b")));
    admin.revoke_token("App/Release 3").await.unwrap();
    admin.revoke_token(&second.id[..6]).await.unwrap();
    assert!(admin.tokens().await.unwrap().iter().all(|token| token.revoked_at.is_some()));
    let (code, detail) = refused(admin.revoke_token("c").await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
    assert!(detail.starts_with("there is no token c; give a name"), "{detail}");

    // If two keys have the same name, the name refers to the key that is not revoked.
    let old = admin.create_api_key("dashboard", Role::Viewer).await.unwrap().record;
    admin.revoke_api_key("dashboard").await.unwrap();
    let new = admin.create_api_key("dashboard", Role::Viewer).await.unwrap().record;
    admin.revoke_api_key("dashboard").await.unwrap();
    let revoked = |id: &str, keys: &[folkmoot_api::api_keys::ApiKeyView]| {
        keys.iter().any(|key| key.id == id && key.revoked_at.is_some())
    };
    let keys = admin.api_keys().await.unwrap();
    assert!(revoked(&old.id, &keys) && revoked(&new.id, &keys), "{keys:?}");
    let own = keys.iter().find(|key| key.revoked_at.is_none()).unwrap();
    assert!(refused(admin.revoke_api_key(&own.name).await).1.contains("cannot revoke itself"));

    let kept = admin.create_model_named(model(), "digits mlp").await.unwrap();
    admin.create_model(model()).await.unwrap();
    assert_eq!(admin.models().await.unwrap()[0].name.as_deref(), Some("digits mlp"), "its name stays");
    let digest = kept.model.to_string();
    let whole = admin.model_graph(kept.model).await.unwrap();
    for called in ["Digits MLP", &digest[..8]] {
        assert_eq!(admin.model_graph(called).await.unwrap(), whole, "{called}");
    }
    admin.create_model_named(model(), "mlp").await.unwrap();
    assert!(admin.model_graph("mlp").await.is_ok(), "it is renamed");
    let (code, detail) = refused(admin.create_model_named(model(), "a\nb").await);
    assert!(code == ErrorCode::MalformedRequest && detail.contains("U+000A"), "{detail}");
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn clients_and_rounds_are_found_by_the_beginning_of_their_id() {
    let running = start().await;
    let admin = running.admin();
    let filled = disclosure::fill_one(&running).await;
    let storage = &running.host.coordinator.storage;
    let client = storage.client(filled.client).await.unwrap().unwrap();
    // The ids of this test differ in their last digits only.
    let id = client.id.to_string();
    let (code, detail) = refused(admin.client(&id[..12]).await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
    assert!(detail.starts_with("4 clients match") && detail.contains(&id), "{detail}");
    assert_eq!(refused(admin.client(&id[..3]).await).0, ErrorCode::ResourceUnknown);
    assert_eq!(admin.client(&id).await.unwrap().id, client.id);
    let other = folkmoot_protocol::ClientId::from_random_bytes([0xab; 16]);
    storage.enrol(&filled.token, "another", other, system_clock()()).await.unwrap();
    assert_eq!(admin.client("ABAB").await.unwrap().id, other);
    assert!(admin.revoke_client("abababab", true).await.unwrap().client.revoked_at.is_some());

    let statement = admin.privacy(filled.task).await.unwrap();
    assert!(statement.sentences.iter().any(|one| one.about == "Named sites"), "{statement:?}");
    let round = filled.round.to_string();
    let whole = admin.round_assignments(filled.round).await.unwrap();
    assert_eq!(admin.round_assignments(&round[..30]).await.unwrap(), whole);
    assert!(storage.round(running.host.organisation, filled.round).await.unwrap().is_some());
    assert_eq!(refused(admin.round_assignments("abcd").await).0, ErrorCode::RoundUnknown);
    running.host.stop().await.unwrap();
}
