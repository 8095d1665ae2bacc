//! Sign-in of the command line: a person enters a code at the identity provider.

use std::sync::atomic::Ordering;

use folkmoot_api::session::{CreateSessionRequest, DeviceSignInState};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_protocol::{ErrorCode, OrganisationId, Problem, Role, Timestamp};
use folkmoot_storage::PopulationRepository;
use serde_json::{Value, json};

use super::world::{code, newest, refused, world_of};

#[tokio::test]
async fn a_person_signs_in_with_a_code_acts_by_name_and_signs_out() {
    let world = world_of("default").await;
    let nobody = world.client("");
    let begun = nobody.begin_device_sign_in("example").await.unwrap();
    assert_eq!((begun.user_code.as_str(), begun.interval_seconds), ("WDJB-MJHT", 5));
    world.issuer.refuse_tokens("authorization_pending");
    assert!(matches!(world.ask().await, Ok(DeviceSignInState::Pending)));
    world.issuer.refuse_tokens("slow_down");
    assert!(matches!(world.ask().await, Ok(DeviceSignInState::SlowDown)));
    assert!(world.records().await.is_empty());

    world.confirm(|_| {});
    let Ok(DeviceSignInState::SignedIn { session, expires_at, person, role, organisation }) =
        world.ask().await
    else {
        panic!("the person has signed in")
    };
    assert_eq!((role.as_str(), organisation.as_str()), ("operator", "default"));
    let ada = world.client(&session);
    let me = ada.me().await.unwrap();
    assert_eq!((me.person, me.expires_at, me.api_key_id), (Some(person), Some(expires_at), None));
    assert_eq!((me.role.as_str(), me.organisation.as_str()), ("operator", "default"));
    assert!(ada.tasks(newest()).await.unwrap().is_empty());
    ada.create_token("digits".parse().unwrap(), None, None).await.unwrap();
    assert_eq!(code(ada.api_keys().await), ErrorCode::RoleInsufficient);

    let page = ada.sign_out().await.unwrap().unwrap().provider_url;
    assert!(page.starts_with(&format!("{}/end?", world.issuer.url)), "{page}");
    assert_eq!(code(ada.tasks(newest()).await), ErrorCode::ApiKeyInvalid);
    assert_eq!(ada.sign_out().await.unwrap(), None);
    let records = world.records().await;
    let acts: Vec<_> = records.iter().map(|record| record.action.as_str()).collect();
    assert_eq!(acts, ["session.create", "token.create", "session.delete"]);
    assert!(records.iter().all(|record| record.by == "oidc:example:ada (Ada Lovelace)"), "{records:?}");
}

#[tokio::test]
async fn a_session_ends_with_its_token_or_its_organisation() {
    let world = world_of("hospital").await;
    world.confirm(|_| {});
    assert_eq!(code(world.ask().await), ErrorCode::ResourceUnknown);
    let (storage, now) = (&world.host.coordinator.storage, Timestamp(world.now.load(Ordering::Relaxed)));
    let id = OrganisationId::from_random_bytes([3; 16]);
    storage.ensure_organisation("hospital", id, now).await.unwrap();
    let ada = world.signed_in().await;
    assert_eq!(ada.me().await.unwrap().organisation, "hospital");

    // Another organisation's tokens do not exist for this person.
    let admin = world.admin();
    let token = admin.create_token("digits".parse().unwrap(), None, None).await.unwrap().record.id;
    assert!(ada.tokens().await.unwrap().is_empty());
    assert_eq!(code(ada.revoke_token(&token).await), ErrorCode::ResourceUnknown);

    // The ID token is valid for ten minutes.
    let before = world.now.fetch_add(601_000, Ordering::Relaxed);
    assert_eq!(code(ada.me().await), ErrorCode::ApiKeyInvalid);
    world.now.store(before, Ordering::Relaxed);
    assert!(ada.me().await.is_ok());
    storage.database().unwrap().close_organisation(id, now).await.unwrap();
    assert_eq!(code(ada.me().await), ErrorCode::ApiKeyInvalid);
}

#[tokio::test]
async fn a_sign_in_that_fails_says_why() {
    let world = world_of("default").await;
    for reason in ["access_denied", "expired_token", "invalid_grant"] {
        world.issuer.refuse_tokens(reason);
        assert_eq!(code(world.ask().await), ErrorCode::SignInFailed, "{reason}");
    }
    world.issuer.change("/token", Some((502, "busy".into())));
    assert_eq!(code(world.ask().await), ErrorCode::IdentityProviderUnavailable);
    assert!(world.records().await.is_empty(), "strangers cannot fill the audit log");
    world.confirm(|claims| claims["groups"] = json!(["choir"]));
    assert_eq!(code(world.ask().await), ErrorCode::RoleInsufficient);
    let records = world.records().await;
    assert_eq!((records.len(), records[0].action.as_str()), (1, "session.refuse"));
    // The groups count again at each sign-in.
    world.confirm(|claims| claims["groups"] = json!(["staff"]));
    assert_eq!(world.signed_in().await.me().await.unwrap().role, "viewer");

    let nobody = world.client("");
    assert_eq!(code(nobody.begin_device_sign_in("nobody").await), ErrorCode::ResourceUnknown);
    assert_eq!(code(nobody.device_sign_in("nobody", "code").await), ErrorCode::ResourceUnknown);
    let long = "a".repeat(4097);
    assert_eq!(code(nobody.device_sign_in("example", &long).await), ErrorCode::SignInFailed);
    let huge = "a".repeat(8192);
    assert_eq!(code(nobody.device_sign_in("example", &huge).await), ErrorCode::PayloadTooLarge);
    let refusal = Some((400, json!({ "error": "unauthorized_client" }).to_string()));
    world.issuer.change("/device", refusal);
    let (code, detail) = refused(nobody.begin_device_sign_in("example").await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
    assert!(detail.contains("allow the device authorization grant"), "{detail}");
}

#[tokio::test]
async fn wrong_sessions_and_many_questions_are_limited_by_address() {
    let world = world_of("default").await;
    world.confirm(|_| {});
    let DeviceSignInState::SignedIn { session, .. } = world.ask().await.unwrap() else { panic!("it ends") };
    let http = build_http(&HttpSettings::default()).unwrap();
    let me = async |bearer: &str| {
        let request = http.get(format!("{}/v1/admin/me", world.host.url())).bearer_auth(bearer);
        request.header("x-forwarded-for", "192.0.2.1").send().await.unwrap().status().as_u16()
    };
    let unknown = format!("{}.{}", "0".repeat(16), "0".repeat(64));
    for _ in 0..100 {
        assert_eq!(me(&unknown).await, 401);
    }
    assert_eq!(me(&unknown).await, 429);
    assert_eq!(me(&session).await, 200, "a right session is not refused for the wrong ones");

    world.issuer.refuse_tokens("authorization_pending");
    let ask = async || {
        let path = "/v1/admin/sign-in/example/device/token";
        let request = http.post(format!("{}{path}", world.host.url()));
        let request = request.header("x-forwarded-for", "192.0.2.2").json(&json!({ "device_code": "code" }));
        request.send().await.unwrap().status().as_u16()
    };
    for _ in 0..60 {
        assert_eq!(ask().await, 200);
    }
    assert_eq!(ask().await, 429);
}

#[tokio::test]
async fn only_sessions_of_people_come_in_the_header() {
    let world = world_of("default").await;
    let admin = world.admin();
    let http = build_http(&HttpSettings::default()).unwrap();
    let url = format!("{}/v1/admin/session", world.host.url());
    let api_key = world.host.first_api_key.clone().unwrap();
    let answer = http.post(&url).json(&CreateSessionRequest { api_key }).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let (_, secret) = cookie.split_once('=').unwrap();
    let of_key = world.client(secret);
    assert_eq!(code(of_key.me().await), ErrorCode::ApiKeyInvalid);
    assert_eq!(of_key.sign_out().await.unwrap(), None);

    // It is still open, and its cookie still needs the token.
    let session: Value = http.get(&url).header("cookie", &cookie).send().await.unwrap().json().await.unwrap();
    let me = http.get(format!("{}/v1/admin/me", world.host.url())).header("cookie", &cookie);
    let me: Value = me.send().await.unwrap().json().await.unwrap();
    assert_eq!((&me["role"], &me["expires_at"]), (&json!("admin"), &session["expires_at"]));
    let end = async |token: &str| {
        let request = http.delete(&url).header("cookie", &cookie).header("x-folkmoot-csrf", token);
        request.send().await.unwrap()
    };
    let forged: Problem = end("").await.json().await.unwrap();
    assert_eq!(forged.code.known(), Some(ErrorCode::RoleInsufficient));
    assert_eq!(end(session["csrf_token"].as_str().unwrap()).await.status().as_u16(), 204);

    // Keys see themselves.
    let me = admin.me().await.unwrap();
    assert_eq!((me.role.as_str(), me.organisation.as_str(), me.expires_at), ("admin", "default", None));
    let viewer = admin.create_api_key_for("dashboard", Role::Viewer, Some(60)).await.unwrap();
    let me = world.client(&viewer.api_key).me().await.unwrap();
    assert_eq!((me.api_key_name.as_deref(), me.expires_at), (Some("dashboard"), viewer.record.expires_at));
    assert_eq!(code(world.client("").me().await), ErrorCode::ApiKeyMissing);
}
