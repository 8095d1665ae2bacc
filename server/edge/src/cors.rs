//! Cross-origin resource sharing (CORS) for browser clients on other origins.
//!
//! Requests are signed with a key of the page and carry no cookie. An allowed origin can therefore do nothing in a
//! user's name that it could not do from a server of its own. The administrative endpoints never allow cross-origin
//! requests.

use std::time::Duration;

use axum::{
    Router,
    http::{HeaderName, HeaderValue, Method, Uri, header, request},
};
use folkmoot_protocol::headers;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::REQUEST_ID;

/// The wildcard for any origin.
const ANY: &str = "*";
/// The maximum number of allowed origins.
const ORIGINS_MAX: usize = 100;
/// The time for which a browser may cache a preflight response. Chromium allows at most 2 hours.
const REMEMBERED: Duration = Duration::from_secs(2 * 60 * 60);

/// Allows cross-origin requests to the device endpoints from these origins. If the list is empty, no CORS headers are
/// sent. `routes` must already have its fallbacks, because a preflight uses a method that no endpoint has.
pub fn allow<S: Clone + Send + Sync + 'static>(routes: Router<S>, origins: &[String]) -> Router<S> {
    if origins.is_empty() {
        return routes;
    }
    let allows_any = origins.iter().any(|origin| origin == ANY);
    let origins: Vec<HeaderValue> =
        origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    let is_allowed = move |origin: &HeaderValue, request: &request::Parts| {
        is_for_devices(request.uri.path()) && (allows_any || origins.contains(origin))
    };
    routes.layer(
        CorsLayer::new()
            .allow_origin(AllowOrigin::predicate(is_allowed))
            .allow_methods([Method::GET, Method::POST, Method::PUT])
            .allow_headers(request_headers())
            .expose_headers([header::CONTENT_RANGE, header::ETAG, header::RETRY_AFTER, REQUEST_ID])
            .max_age(REMEMBERED),
    )
}

fn is_for_devices(path: &str) -> bool {
    path.starts_with("/v1/") && !path.starts_with("/v1/admin")
}

/// Checks that origins have the exact form that browsers send.
///
/// # Errors
/// A message that names the invalid origin.
pub fn check_origins(origins: &[String]) -> Result<(), String> {
    if origins.len() > ORIGINS_MAX {
        return Err(format!("the list has {} origins; at most {ORIGINS_MAX} can be allowed", origins.len()));
    }
    match origins.iter().find(|origin| origin.as_str() != ANY && !is_origin(origin)) {
        Some(origin) => Err(format!(
            "`{origin}` is not an origin; write https://host or https://host:port, without a path"
        )),
        None => Ok(()),
    }
}

fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_plain = host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@']));
    is_plain && text.parse::<Uri>().is_ok() && HeaderValue::from_str(text).is_ok()
}

/// Returns the headers that a client of the protocol sends.
fn request_headers() -> Vec<HeaderName> {
    let own = headers::ALL.into_iter().map(HeaderName::from_static);
    own.chain([header::CONTENT_TYPE, header::RANGE, header::IF_NONE_MATCH]).collect()
}

#[cfg(test)]
mod tests {
    use axum::{
        body::Body,
        http::{Request, Response, StatusCode},
        routing::put,
    };
    use tower::ServiceExt;

    use super::*;

    async fn preflight(origins: &[&str], origin: &str, path: &str) -> Response<Body> {
        let origins: Vec<String> = origins.iter().map(|&origin| origin.to_owned()).collect();
        let routes = Router::new()
            .route(path, put(|| async { "stored" }))
            .method_not_allowed_fallback(|| async { StatusCode::METHOD_NOT_ALLOWED });
        let request = Request::options(path)
            .header(header::ORIGIN, origin)
            .header(header::ACCESS_CONTROL_REQUEST_METHOD, "PUT")
            .header(header::ACCESS_CONTROL_REQUEST_HEADERS, "folkmoot-signature,folkmoot-upload-offset")
            .body(Body::empty());
        allow(routes, &origins).oneshot(request.unwrap()).await.unwrap()
    }

    fn allowed_origin(response: &Response<Body>) -> Option<&str> {
        response.headers().get(header::ACCESS_CONTROL_ALLOW_ORIGIN)?.to_str().ok()
    }

    #[tokio::test]
    async fn a_page_of_an_allowed_origin_may_send_what_the_protocol_needs() {
        let origins = ["https://a.example", "https://b.example"];
        let response = preflight(&origins, "https://b.example", "/v1/update").await;
        assert!(response.status().is_success());
        assert_eq!(allowed_origin(&response), Some("https://b.example"));
        let headers = response.headers()[header::ACCESS_CONTROL_ALLOW_HEADERS].to_str().unwrap();
        assert!(headers.contains("folkmoot-signature") && headers.contains("folkmoot-upload-offset"));
        assert!(response.headers().get(header::ACCESS_CONTROL_ALLOW_CREDENTIALS).is_none());
    }

    #[tokio::test]
    async fn other_origins_are_told_nothing() {
        let answer = async |origins: &[&str], path: &str| {
            let response = preflight(origins, "https://b.example", path).await;
            allowed_origin(&response).map(str::to_owned)
        };
        assert_eq!(answer(&["https://a.example"], "/v1/update").await, None);
        assert_eq!(answer(&[], "/v1/update").await, None);
        assert_eq!(answer(&["*"], "/v1/update").await.as_deref(), Some("https://b.example"));
        assert_eq!(answer(&["*"], "/v1/admin/tasks").await, None);
    }
}
