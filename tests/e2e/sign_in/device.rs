//! Sign-in of the command line: a person enters a code at the identity provider.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use folkmoot_api::{
    AdminClient, AdminError, Page,
    session::{CreateSessionRequest, DeviceSignInState},
};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_coordinator::audit_log::Record;
use folkmoot_edge::Proxies;
use folkmoot_protocol::{ErrorCode, OrganisationId, Problem, Role, Timestamp};
use folkmoot_rounds::clock::{Clock, system_chance, system_clock};
use folkmoot_service::host::{Host, HostConfig};
use folkmoot_sign_in::{
    SignInConfig,
    issuer::{CLIENT, Issuer, Key},
};
use folkmoot_storage::PopulationRepository;

use serde_json::{Value, json};
use tempfile::TempDir;

const WORKS: &str = "the coordinator and its provider work";

/// A coordinator with the identity provider `example`, and a clock that only the test advances.
struct World {
    host: Host,
    issuer: Issuer,
    _folder: TempDir,
    /// The time in milliseconds.
    now: Arc<AtomicU64>,
}

async fn world_of(organisation: &str) -> World {
    let (issuer, folder) = (Issuer::start().await, tempfile::tempdir().expect(WORKS));
    let now = Arc::new(AtomicU64::new(system_clock()().0));
    let time = now.clone();
    let clock: Clock = Arc::new(move || Timestamp(time.load(Ordering::Relaxed)));
    let provider = json!({
        "name": "example",
        "organisation": organisation,
        "issuer": issuer.url,
        "client_id": CLIENT,
        "roles": { "staff": "viewer", "builders": "operator" },
    });
    let providers = vec![serde_json::from_value(provider).expect(WORKS)];
    let mut config = HostConfig {
        has_tls: false,
        sign_in: SignInConfig { providers, ..SignInConfig::default() },
        ..HostConfig::loopback(folder.path().to_owned())
    };
    // Addresses of this machine have no limits, so a test must send others.
    config.limits.trusted_proxies = Arc::new(Proxies::parse(&["127.0.0.1".into()]).expect(WORKS));
    let host = Host::start(config, clock, system_chance(), None).await.expect(WORKS);
    World { host, issuer, _folder: folder, now }
}

fn newest<C>() -> Page<C> {
    Page { limit: 100, before: None }
}

impl World {
    fn client(&self, credential: &str) -> AdminClient {
        AdminClient::new(&self.host.url(), credential, None).expect(WORKS)
    }

    fn admin(&self) -> AdminClient {
        self.client(self.host.first_api_key.as_ref().expect(WORKS))
    }

    /// Lets the issuer confirm Ada, with changes to the claims.
    fn confirm(&self, change: impl FnOnce(&mut Value)) {
        let mut claims = self.issuer.claims("no nonce", Timestamp(self.now.load(Ordering::Relaxed)));
        change(&mut claims);
        self.issuer.set_token(Key::new(1).token(&claims));
        self.issuer.change("/token", None);
    }

    async fn ask(&self) -> Result<DeviceSignInState, AdminError> {
        self.client("").device_sign_in("example", "code").await
    }

    /// Signs in, and returns a client with the session.
    async fn signed_in(&self) -> AdminClient {
        match self.ask().await.expect(WORKS) {
            DeviceSignInState::SignedIn { session, .. } => self.client(&session),
            _ => panic!("nobody has signed in"),
        }
    }

    async fn records(&self) -> Vec<Record> {
        let page = self.admin().audit(Some(0), 100).await.expect(WORKS);
        page.entries.iter().map(|entry| serde_json::from_str(&entry.record).expect(WORKS)).collect()
    }
}

/// Returns the code and detail of a refusal.
fn refused<T>(result: Result<T, AdminError>) -> (ErrorCode, String) {
    match result {
        Err(AdminError::Refused(problem)) => (problem.code.known().expect(WORKS), problem.detail),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

fn code<T>(result: Result<T, AdminError>) -> ErrorCode {
    refused(result).0
}

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
    let http = build_http(&HttpSettings { certificate_pem: None, http1_only: false }).unwrap();
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
    let http = build_http(&HttpSettings { certificate_pem: None, http1_only: false }).unwrap();
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
