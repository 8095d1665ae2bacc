use folkmoot_api::session::SessionView;
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_protocol::{ErrorCode, Problem, Role};
use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use super::{Running, start};

/// A browser that stores the cookie and sends it.
struct Browser {
    http: reqwest::Client,
    base: String,
    cookie: String,
    session: SessionView,
}

async fn sign_in(running: &Running, api_key: &str) -> Result<Browser, ErrorCode> {
    let http =
        build_http(&HttpSettings { certificate_pem: Some(running.pem.clone()), ..HttpSettings::default() })
            .unwrap();
    let base = format!("{}/v1/admin", running.host.url());
    let answer =
        http.post(format!("{base}/session")).json(&json!({ "api_key": api_key })).send().await.unwrap();
    if answer.status() != StatusCode::CREATED {
        return Err(code(answer).await);
    }
    let set = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    for rule in ["HttpOnly", "Secure", "SameSite=Strict", "Path=/v1/admin"] {
        assert!(set.contains(rule), "{set}");
    }
    let cookie = set.split(';').next().unwrap().to_owned();
    assert!(!cookie.contains(api_key), "the cookie is not the key");
    Ok(Browser { http, base, cookie, session: answer.json().await.unwrap() })
}

impl Browser {
    async fn ask(&self, method: Method, path: &str, token: Option<&str>) -> Response {
        let mut request =
            self.http.request(method, format!("{}{path}", self.base)).header("cookie", &self.cookie);
        if let Some(token) = token {
            request = request.header("x-folkmoot-csrf", token);
        }
        request.send().await.unwrap()
    }
}

async fn code(answer: Response) -> ErrorCode {
    answer.json::<Problem>().await.unwrap().code.known().unwrap()
}

#[tokio::test]
async fn a_session_may_do_what_its_key_may_and_ends_with_it() {
    let running = start().await;
    let admin = running.admin();
    let key = admin.create_api_key("Zoë", Role::Operator).await.unwrap();
    let browser = sign_in(&running, &format!(" {} ", key.api_key)).await.unwrap();
    assert_eq!(
        (browser.session.role.as_str(), browser.session.api_key_name.as_deref()),
        ("operator", Some("Zoë"))
    );
    let token = Some(browser.session.csrf_token.as_str());

    let seen: SessionView = browser.ask(Method::GET, "/session", None).await.json().await.unwrap();
    assert_eq!(seen, browser.session);
    assert_eq!(browser.ask(Method::GET, "/tasks", None).await.status(), StatusCode::OK);
    let keys = browser.ask(Method::GET, "/api-keys", None).await;
    assert_eq!(code(keys).await, ErrorCode::RoleInsufficient);

    // A request forged by another site has at most the cookie.
    for wrong in [None, Some("0")] {
        let revoked = browser.ask(Method::DELETE, "/tokens/0123456789abcdef", wrong).await;
        assert_eq!(code(revoked).await, ErrorCode::RoleInsufficient);
        let ended = browser.ask(Method::DELETE, "/session", wrong).await;
        assert_eq!(code(ended).await, ErrorCode::RoleInsufficient);
    }
    let reached = browser.ask(Method::DELETE, "/tokens/0123456789abcdef", token).await;
    assert_eq!(code(reached).await, ErrorCode::ResourceUnknown);

    admin.revoke_api_key(&key.record.id).await.unwrap();
    let after = browser.ask(Method::GET, "/tasks", None).await;
    assert_eq!(code(after).await, ErrorCode::ApiKeyInvalid);
}

#[tokio::test]
async fn a_session_ends_when_it_is_ended_and_only_the_right_key_begins_one() {
    let running = start().await;
    for wrong in ["", "nonsense", &format!("{}.{}", "0".repeat(16), "0".repeat(64))] {
        assert_eq!(sign_in(&running, wrong).await.err(), Some(ErrorCode::ApiKeyInvalid), "{wrong}");
    }
    let browser = sign_in(&running, running.host.first_api_key.as_ref().unwrap()).await.unwrap();
    let token = Some(browser.session.csrf_token.as_str());
    let ended = browser.ask(Method::DELETE, "/session", token).await;
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    assert!(ended.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    let after = browser.ask(Method::GET, "/tasks", None).await;
    assert_eq!(code(after).await, ErrorCode::ApiKeyInvalid);
    let nobody = Browser { cookie: "folkmoot_session=".into(), ..browser };
    assert_eq!(code(nobody.ask(Method::GET, "/session", None).await).await, ErrorCode::ApiKeyMissing);
}
