//! The web server of the page. It serves a few files from memory, with the content security policy of
//! `docs/guides/browser.md`.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Serialize;

/// The host names that requests may use.
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

/// The path of the browser package.
pub const PACKAGE: &str = "/folkmoot/";

/// A file that the server offers.
pub struct File {
    /// The path of its URL, beginning with a slash.
    pub path: String,
    bytes: Bytes,
}

impl File {
    /// Creates a file at a path.
    pub fn new(path: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self { path: path.into(), bytes: bytes.into() }
    }
}

/// The configuration of the page, served as `config.json`.
#[derive(Debug, Serialize)]
pub struct PageConfig {
    /// The URL of the coordinator.
    pub coordinator: String,
    /// The enrolment token.
    pub token: String,
    /// The number of digits at the end of `digits.csv` that are held out from training.
    pub held_out: usize,
}

/// The files, and the policy that is sent with each of them.
struct Site {
    files: BTreeMap<String, Bytes>,
    policy: HeaderValue,
}

/// Creates the router that serves the page, the package and the digits.
pub fn router(package: Vec<File>, digits: String, config: &PageConfig) -> Router {
    let json = serde_json::to_vec(config).expect("texts and a number are JSON");
    let own = page().into_iter().chain([File::new("/digits.csv", digits), File::new("/config.json", json)]);
    let files = own.chain(package).map(|file| (file.path, file.bytes)).collect();
    let site = Arc::new(Site { files, policy: policy(&config.coordinator) });
    Router::new().route("/", get(serve)).route("/{*path}", get(serve)).with_state(site)
}

/// Returns the files of `examples/browser-digits`.
fn page() -> [File; 5] {
    macro_rules! page_file {
        ($name:literal) => {
            File::new(
                concat!("/", $name),
                &include_bytes!(concat!("../../../../examples/browser-digits/", $name))[..],
            )
        };
    }
    [
        page_file!("index.html"),
        page_file!("app.mjs"),
        page_file!("chart.mjs"),
        page_file!("pad.mjs"),
        page_file!("style.css"),
    ]
}

/// Returns the content security policy: only the page's own scripts, WebAssembly but no other eval, and connections
/// only to the page's server and the coordinator.
fn policy(coordinator: &str) -> HeaderValue {
    let connect = format!("connect-src 'self' {coordinator}");
    let directives = [
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        &connect,
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ];
    HeaderValue::from_str(&directives.join("; "))
        .expect("a socket address has only characters that are valid in headers")
}

async fn serve(State(site): State<Arc<Site>>, uri: Uri, headers: HeaderMap) -> Response {
    let [no_sniffing, no_store] = ["nosniff", "no-store"].map(HeaderValue::from_static);
    let told: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_SECURITY_POLICY, site.policy.clone()),
        (header::X_CONTENT_TYPE_OPTIONS, no_sniffing),
        (header::CACHE_CONTROL, no_store),
    ];
    // Reject other host names. Otherwise a site that points its name at this machine could read the token (DNS
    // rebinding).
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if !HOSTS.contains(&name) {
        return (StatusCode::MISDIRECTED_REQUEST, told).into_response();
    }
    let path = match uri.path() {
        "/" => "/index.html",
        path => path,
    };
    let Some(bytes) = site.files.get(path) else { return (StatusCode::NOT_FOUND, told).into_response() };
    (told, [(header::CONTENT_TYPE, content_type(path))], bytes.clone()).into_response()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "csv" => "text/csv",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    use super::*;

    async fn ask(path: &str) -> Response {
        ask_at("127.0.0.1:8080", path).await
    }

    async fn ask_at(host: &str, path: &str) -> Response {
        let config =
            PageConfig { coordinator: "http://127.0.0.1:7".into(), token: "a token".into(), held_out: 1 };
        let package = vec![File::new("/folkmoot/index.js", "export {};")];
        let router = router(package, "1,2\n".into(), &config);
        router
            .oneshot(Request::get(path).header(header::HOST, host).body(Body::empty()).unwrap())
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn every_file_has_its_type_and_the_policy() {
        for (path, expected) in [
            ("/", "text/html; charset=utf-8"),
            ("/style.css", "text/css"),
            ("/app.mjs", "text/javascript"),
            ("/folkmoot/index.js", "text/javascript"),
            ("/digits.csv", "text/csv"),
            ("/config.json", "application/json"),
        ] {
            let response = ask(path).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            assert_eq!(response.headers()["content-type"], expected);
            let policy = response.headers()["content-security-policy"].to_str().unwrap();
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"),
                "{policy}"
            );
            assert!(policy.contains("; connect-src 'self' http://127.0.0.1:7;"), "{policy}");
        }
    }

    #[tokio::test]
    async fn nothing_else_is_there() {
        for path in ["/folkmoot/", "/../Cargo.toml", "/folkmoot/%2e%2e/index.html", "/serve.mjs"] {
            let response = ask(path).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
            assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        }
        for host in ["folkmoot.example:8080", ""] {
            assert_eq!(
                ask_at(host, "/config.json").await.status(),
                StatusCode::MISDIRECTED_REQUEST,
                "{host}"
            );
        }
    }
}
