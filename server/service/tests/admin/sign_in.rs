use std::collections::BTreeMap;

use folkmoot_api::session::{SessionView, SignedOutView};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_coordinator::audit_log::Record;
use folkmoot_protocol::{ErrorCode, Role};
use folkmoot_rounds::clock::system_clock;
use folkmoot_sign_in::{
    ProviderConfig, SignInConfig,
    issuer::{CLIENT, Issuer, Key},
};
use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Value, json};

use super::{Running, refused, start_with};

/// A coordinator with the identity provider `example`, and a browser.
struct World {
    running: Running,
    issuer: Issuer,
    http: reqwest::Client,
}

/// An attempt to sign in: the cookie, and the request to the provider.
struct Begun {
    cookie: String,
    asked: BTreeMap<String, String>,
}

async fn world() -> World {
    world_of("default").await
}

async fn world_of(organisation: &str) -> World {
    let issuer = Issuer::start().await;
    let provider = ProviderConfig {
        name: "example".into(),
        organisation: organisation.into(),
        issuer: issuer.url.clone(),
        client_id: CLIENT.into(),
        client_secret_file: None,
        client_secret_variable: None,
        scopes: Vec::new(),
        groups_claim: "groups".into(),
        ca_file: None,
        roles: [("staff".to_owned(), Role::Viewer), ("builders".to_owned(), Role::Operator)].into(),
    };
    let sign_in = SignInConfig { providers: vec![provider], ..SignInConfig::default() };
    let running = start_with(|config| config.sign_in = sign_in).await;
    let settings = HttpSettings { certificate_pem: Some(running.pem.clone()), ..HttpSettings::default() };
    World { running, issuer, http: build_http(&settings).unwrap() }
}

impl World {
    async fn get(&self, path: &str, cookie: &str) -> Response {
        let request = self.http.get(format!("{}{path}", self.running.host.url()));
        request.header("cookie", cookie).send().await.unwrap()
    }

    async fn begin(&self) -> Begun {
        let answer = self.get("/v1/admin/sign-in/example?to=https://evil.example", "").await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        let set = answer.headers()["set-cookie"].to_str().unwrap();
        for rule in ["__Host-", "HttpOnly", "Secure", "SameSite=Lax", "Path=/;"] {
            assert!(set.contains(rule), "{set}");
        }
        let url = Url::parse(&location(&answer)).unwrap();
        assert!(url.as_str().starts_with(&format!("{}/authorize?", self.issuer.url)), "{url}");
        Begun {
            cookie: set.split(';').next().unwrap().to_owned(),
            asked: url.query_pairs().into_owned().collect(),
        }
    }

    /// Lets the issuer confirm Ada, with changes to the claims.
    fn confirm(&self, begun: &Begun, change: impl FnOnce(&mut Value)) {
        let mut claims = self.issuer.claims(&begun.asked["nonce"], system_clock()());
        change(&mut claims);
        self.issuer.set_token(Key::new(1).token(&claims));
    }

    async fn come_back(&self, begun: &Begun, cookie: &str) -> Response {
        let path = format!("/v1/admin/sign-in/example/callback?code=c&state={}", begun.asked["state"]);
        self.get(&path, cookie).await
    }

    async fn records(&self) -> Vec<Record> {
        let page = self.running.admin().audit(Some(0), 100).await.unwrap();
        page.entries.iter().map(|entry| serde_json::from_str(&entry.record).unwrap()).collect()
    }

    async fn refused(&self, begun: &Begun, cookie: &str, code: ErrorCode) {
        let answer = self.come_back(begun, cookie).await;
        assert_eq!(location(&answer), format!("/console/?refused={code}"));
        let sets: Vec<_> = answer.headers().get_all("set-cookie").into_iter().collect();
        assert!(sets.len() == 1 && sets[0].to_str().unwrap().contains("=;"), "{sets:?}");
    }
}

fn location(answer: &Response) -> String {
    answer.headers()["location"].to_str().unwrap().to_owned()
}

/// Returns the session's cookie.
fn session_of(answer: &Response) -> String {
    assert_eq!((answer.status(), location(answer).as_str()), (StatusCode::SEE_OTHER, "/console/"));
    let sets = answer.headers().get_all("set-cookie").into_iter().map(|set| set.to_str().unwrap());
    let session = sets.into_iter().find(|set| set.starts_with("folkmoot_session=")).unwrap();
    session.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_person_signs_in_acts_and_signs_out_by_name() {
    let world = world().await;
    let listed: Value = world.get("/v1/admin/sign-in", "").await.json().await.unwrap();
    assert_eq!(listed, json!({ "providers": ["example"] }));

    let begun = world.begin().await;
    world.confirm(&begun, |_| {});
    let cookie = session_of(&world.come_back(&begun, &begun.cookie).await);
    let session: SessionView = world.get("/v1/admin/session", &cookie).await.json().await.unwrap();
    let person = session.person.unwrap();
    assert_eq!((person.provider.as_str(), person.subject.as_str()), ("example", "ada"));
    assert_eq!((person.name.as_str(), session.role.as_str()), ("Ada Lovelace", "operator"));
    assert_eq!((session.api_key_id, session.api_key_name), (None, None));
    // The ID token is valid for ten minutes, and the session no longer.
    assert!(session.expires_at <= system_clock()().plus_seconds(600));

    let ask = |method: Method, path: &str, token: &str| {
        let request = world.http.request(method, format!("{}/v1/admin{path}", world.running.host.url()));
        let request = request.header("cookie", &cookie).header("x-folkmoot-csrf", token);
        request.json(&json!({ "population": "digits" })).send()
    };
    let token = session.csrf_token.as_str();
    // The secret in the cookie also works as a session on the command line.
    let (_, secret) = cookie.split_once('=').unwrap();
    assert_eq!(world.running.client(secret).me().await.unwrap().person.unwrap(), person);
    assert_eq!(ask(Method::GET, "/api-keys", token).await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(ask(Method::POST, "/tokens", "0").await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(ask(Method::POST, "/tokens", token).await.unwrap().status(), StatusCode::CREATED);
    let out = ask(Method::DELETE, "/session", token).await.unwrap();
    let out: SignedOutView = out.json().await.unwrap();
    assert!(out.provider_url.starts_with(&format!("{}/end?", world.issuer.url)), "{}", out.provider_url);
    assert_eq!(ask(Method::GET, "/tasks", token).await.unwrap().status(), StatusCode::UNAUTHORIZED);

    let records = world.records().await;
    let acts: Vec<_> = records.iter().map(|record| record.action.as_str()).collect();
    assert_eq!(acts, ["session.create", "token.create", "session.delete"]);
    assert!(records.iter().all(|record| record.by == "oidc:example:ada (Ada Lovelace)"), "{records:?}");
}

#[tokio::test]
async fn a_person_without_a_role_is_refused_and_recorded() {
    let world = world().await;
    let begun = world.begin().await;
    world.confirm(&begun, |claims| claims["groups"] = json!(["choir"]));
    world.refused(&begun, &begun.cookie, ErrorCode::RoleInsufficient).await;
    let records = world.records().await;
    assert_eq!(records.len(), 1);
    let Record { action, by, subject, .. } = &records[0];
    let person = "oidc:example:ada (Ada Lovelace)";
    assert_eq!((action.as_str(), by.as_str(), subject.as_str()), ("session.refuse", person, person));

    // The groups count again at each sign-in.
    let begun = world.begin().await;
    world.confirm(&begun, |claims| claims["groups"] = json!(["staff"]));
    let cookie = session_of(&world.come_back(&begun, &begun.cookie).await);
    let session: SessionView = world.get("/v1/admin/session", &cookie).await.json().await.unwrap();
    assert_eq!(session.role, "viewer");
}

#[tokio::test]
async fn an_answer_for_another_browser_or_attempt_is_refused() {
    let world = world().await;
    let [mine, other] = [world.begin().await, world.begin().await];
    world.confirm(&mine, |_| {});
    for cookie in ["", "__Host-folkmoot_sign_in=nonsense", &other.cookie] {
        world.refused(&mine, cookie, ErrorCode::SignInFailed).await;
    }
    assert!(world.issuer.requests("/token").is_empty(), "the code stays unused");
    // A token that was issued for one attempt does not serve another.
    world.refused(&other, &other.cookie, ErrorCode::SignInFailed).await;
    assert!(world.records().await.is_empty(), "strangers cannot fill the audit log");
    session_of(&world.come_back(&mine, &mine.cookie).await);

    for (path, code) in [
        ("/v1/admin/sign-in/nobody", ErrorCode::ResourceUnknown),
        ("/v1/admin/sign-in/nobody/callback?code=c&state=s", ErrorCode::ResourceUnknown),
    ] {
        let problem: Value = world.get(path, "").await.json().await.unwrap();
        assert_eq!(problem["code"], code.as_str());
    }
    let cancelled = world.get("/v1/admin/sign-in/example/callback?error=access_denied", &mine.cookie).await;
    assert_eq!(location(&cancelled), "/console/?refused=sign_in_failed");
}

#[tokio::test]
async fn a_closed_organisation_ends_and_refuses_sessions() {
    let world = world_of("hospital").await;
    let begun = world.begin().await;
    world.confirm(&begun, |_| {});
    world.refused(&begun, &begun.cookie, ErrorCode::ResourceUnknown).await;

    let system = super::organisations::system_administrator(&world.running).await;
    let created = system.create_organisation("hospital".parse().unwrap()).await.unwrap();
    let cookie = session_of(&world.come_back(&begun, &begun.cookie).await);
    assert_eq!(world.get("/v1/admin/tasks", &cookie).await.status(), StatusCode::OK);
    system.close_organisation(created.organisation.id).await.unwrap();
    assert_eq!(world.get("/v1/admin/tasks", &cookie).await.status(), StatusCode::UNAUTHORIZED);
    world.refused(&begun, &begun.cookie, ErrorCode::ResourceUnknown).await;
}

#[tokio::test]
async fn a_provider_that_is_down_leads_back_with_a_reason() {
    let world = world().await;
    world.issuer.set_key_document("no JSON".into());
    let answer = world.get("/v1/admin/sign-in/example", "").await;
    assert_eq!(location(&answer), "/console/?refused=identity_provider_unavailable");
}

#[tokio::test]
async fn an_admin_ends_the_sessions_of_a_person_at_once() {
    let world = world().await;
    let admin = world.running.admin();
    let mut cookies = Vec::new();
    for name in ["Ada Lovelace", "Ada", "Eve"] {
        let begun = world.begin().await;
        let subject = if name == "Eve" { "eve" } else { "ada" };
        world.confirm(&begun, |claims| (claims["name"], claims["sub"]) = (name.into(), subject.into()));
        cookies.push(session_of(&world.come_back(&begun, &begun.cookie).await));
    }
    let status = async |number: usize| world.get("/v1/admin/tasks", &cookies[number]).await.status();
    assert_eq!([status(0).await, status(1).await, status(2).await], [StatusCode::OK; 3]);

    let open = admin.sessions().await.unwrap();
    let mut people: Vec<_> = open.iter().filter_map(|session| session.person.clone()).collect();
    people.sort_by(|one, other| one.name.cmp(&other.name));
    let names: Vec<_> = people.iter().map(|person| (person.name.as_str(), person.subject.as_str())).collect();
    assert_eq!(names, [("Ada", "ada"), ("Ada Lovelace", "ada"), ("Eve", "eve")]);
    assert!(open.iter().all(|session| session.role == "operator" && session.api_key_id.is_none()));
    let stranger = super::organisations::system_administrator(&world.running).await;
    let other = stranger.create_organisation("hospital".parse().unwrap()).await.unwrap();
    let other = world.running.client(&other.first_key.api_key);
    assert_eq!(other.sessions().await.unwrap(), []);
    assert_eq!(refused(other.end_session(&open[0].id).await).0, ErrorCode::ResourceUnknown);
    assert_eq!(other.end_sessions_of("example", "ada").await.unwrap().ended, 0);

    let of_eve =
        open.iter().find(|session| session.person.as_ref().is_some_and(|person| person.name == "Eve"));
    admin.end_session(&of_eve.unwrap().id[..8]).await.unwrap();
    assert_eq!([status(0).await, status(2).await], [StatusCode::OK, StatusCode::UNAUTHORIZED]);
    assert_eq!(admin.end_sessions_of("example", "ada").await.unwrap().ended, 2);
    assert_eq!([status(0).await, status(1).await], [StatusCode::UNAUTHORIZED; 2]);
    assert_eq!(admin.sessions().await.unwrap(), []);
    let records = world.records().await;
    let [one, all] = &records[records.len() - 2..] else { panic!("{records:?}") };
    assert_eq!(
        (one.action.as_str(), all.action.as_str(), all.subject.as_str()),
        ("session.end", "session.end_all", "ada")
    );
    assert!(one.changes.iter().any(|change| change.after.as_deref() == Some("eve")), "{one:?}");
}
