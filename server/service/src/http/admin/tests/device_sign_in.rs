//! Sign-in of the command line: a person enters a code at the identity provider.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use folkmoot_api::{
    AdminClient,
    session::{CreateSessionRequest, DeviceSignInState},
};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_coordinator::audit_log::Record;
use folkmoot_edge::Proxies;
use folkmoot_protocol::{ErrorCode, Problem, Role, Timestamp};
use folkmoot_rounds::clock::{Clock, system_clock};
use folkmoot_sign_in::issuer::{Issuer, Key};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Running, description, model, refused, sign_in::configured, start_at, tasks::newest};
use crate::http::admin::cookie::TOKEN_HEADER;

/// A coordinator with the identity provider `example`, and a clock that only the test advances.
struct World {
    running: Running,
    issuer: Issuer,
    /// The time in milliseconds.
    now: Arc<AtomicU64>,
}

async fn world_of(organisation: &str) -> World {
    // Certificates need a time that the client accepts.
    let (issuer, now) = (Issuer::start().await, Arc::new(AtomicU64::new(system_clock()().0)));
    let time = now.clone();
    let clock: Clock = Arc::new(move || Timestamp(time.load(Ordering::Relaxed)));
    let sign_in = configured(&issuer, organisation);
    let running = start_at(clock, |config| {
        config.sign_in = sign_in;
        // Addresses of this machine have no limits, so a test must send others.
        config.limits.trusted_proxies = Arc::new(Proxies::parse(&["127.0.0.1".into()]).unwrap());
    })
    .await;
    World { running, issuer, now }
}

impl World {
    /// Lets the issuer confirm Ada, with changes to the claims.
    fn confirm(&self, change: impl FnOnce(&mut Value)) {
        let mut claims = self.issuer.claims("no nonce", Timestamp(self.now.load(Ordering::Relaxed)));
        change(&mut claims);
        self.issuer.set_token(Key::new(1).token(&claims));
        self.issuer.change("/token", None);
    }

    async fn ask(&self) -> Result<DeviceSignInState, folkmoot_api::AdminError> {
        self.running.client("").device_sign_in("example", "code").await
    }

    /// Signs in, and returns a client with the session.
    async fn signed_in(&self) -> AdminClient {
        match self.ask().await.unwrap() {
            DeviceSignInState::SignedIn { session, .. } => self.running.client(&session),
            _ => panic!("nobody has signed in"),
        }
    }

    fn http(&self) -> reqwest::Client {
        let settings = HttpSettings { certificate_pem: Some(self.running.pem.clone()), http1_only: false };
        build_http(&settings).unwrap()
    }

    async fn records(&self) -> Vec<Record> {
        let page = self.running.admin().audit(Some(0), 100).await.unwrap();
        page.entries.iter().map(|entry| serde_json::from_str(&entry.record).unwrap()).collect()
    }
}

fn code<T>(result: Result<T, folkmoot_api::AdminError>) -> ErrorCode {
    refused(result).0
}

#[tokio::test]
async fn a_person_signs_in_with_a_code_acts_by_name_and_signs_out() {
    let world = world_of("default").await;
    let nobody = world.running.client("");
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
    let ada = world.running.client(&session);
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
    let system = super::organisations::system_administrator(&world.running).await;
    let created = system.create_organisation("hospital".parse().unwrap()).await.unwrap();
    let ada = world.signed_in().await;
    assert_eq!(ada.me().await.unwrap().organisation, "hospital");

    // Another organisation's tasks do not exist for this person.
    let admin = world.running.admin();
    let kept = admin.create_model(model()).await.unwrap().model;
    let task = admin.create_task(description(), kept, false).await.unwrap().id;
    assert!(ada.tasks(newest()).await.unwrap().is_empty());
    assert_eq!(code(ada.task(task).await), ErrorCode::TaskUnknown);

    // The ID token is valid for ten minutes.
    let before = world.now.fetch_add(601_000, Ordering::Relaxed);
    assert_eq!(code(ada.me().await), ErrorCode::ApiKeyInvalid);
    world.now.store(before, Ordering::Relaxed);
    assert!(ada.me().await.is_ok());
    system.close_organisation(created.organisation.id).await.unwrap();
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

    let nobody = world.running.client("");
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
    let http = world.http();
    let me = async |bearer: &str| {
        let request = http.get(format!("{}/v1/admin/me", world.running.host.url())).bearer_auth(bearer);
        request.header("x-forwarded-for", "192.0.2.1").send().await.unwrap().status()
    };
    let unknown = format!("{}.{}", "0".repeat(16), "0".repeat(64));
    for _ in 0..100 {
        assert_eq!(me(&unknown).await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(me(&unknown).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(me(&session).await, StatusCode::OK, "a right session is not refused for the wrong ones");

    world.issuer.refuse_tokens("authorization_pending");
    let ask = async || {
        let path = "/v1/admin/sign-in/example/device/token";
        let request = http.post(format!("{}{path}", world.running.host.url()));
        let request = request.header("x-forwarded-for", "192.0.2.2").json(&json!({ "device_code": "code" }));
        request.send().await.unwrap().status()
    };
    for _ in 0..60 {
        assert_eq!(ask().await, StatusCode::OK);
    }
    assert_eq!(ask().await, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn only_sessions_of_people_come_in_the_header() {
    let world = world_of("default").await;
    let admin = world.running.admin();
    let http = world.http();
    let url = format!("{}/v1/admin/session", world.running.host.url());
    let api_key = world.running.host.first_api_key.clone().unwrap();
    let answer = http.post(&url).json(&CreateSessionRequest { api_key }).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let (_, secret) = cookie.split_once('=').unwrap();
    let of_key = world.running.client(secret);
    assert_eq!(code(of_key.me().await), ErrorCode::ApiKeyInvalid);
    assert_eq!(of_key.sign_out().await.unwrap(), None);

    // It is still open, and its cookie still needs the token.
    let with_cookie = async |method: Method, path: &str, token: Option<&str>| {
        let url = format!("{}/v1/admin/{path}", world.running.host.url());
        let request = http.request(method, url).header("cookie", &cookie);
        let request = token.into_iter().fold(request, |request, token| request.header(TOKEN_HEADER, token));
        request.send().await.unwrap()
    };
    let session: Value = with_cookie(Method::GET, "session", None).await.json().await.unwrap();
    let me: Value = with_cookie(Method::GET, "me", None).await.json().await.unwrap();
    assert_eq!((&me["role"], &me["expires_at"]), (&json!("admin"), &session["expires_at"]));
    let forged: Problem = with_cookie(Method::DELETE, "session", None).await.json().await.unwrap();
    assert_eq!(forged.code.known(), Some(ErrorCode::RoleInsufficient));
    let token = session["csrf_token"].as_str();
    assert_eq!(with_cookie(Method::DELETE, "session", token).await.status(), StatusCode::NO_CONTENT);

    // Keys of every role see themselves.
    let me = admin.me().await.unwrap();
    assert_eq!((me.role.as_str(), me.organisation.as_str(), me.expires_at), ("admin", "default", None));
    let viewer = admin.create_api_key_for("dashboard", Role::Viewer, Some(60)).await.unwrap();
    let me = world.running.client(&viewer.api_key).me().await.unwrap();
    assert_eq!((me.api_key_name.as_deref(), me.expires_at), (Some("dashboard"), viewer.record.expires_at));
    let system = super::organisations::system_administrator(&world.running).await;
    assert_eq!(system.me().await.unwrap().organisation, "system");
    assert_eq!(code(world.running.client("").me().await), ErrorCode::ApiKeyMissing);
}
