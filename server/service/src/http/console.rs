//! The console under `/console`: files that are part of the program, and the rules under which a browser runs them.

use axum::{
    Router,
    body::Body,
    extract::Path,
    http::{HeaderValue, Response, StatusCode, header},
    response::{IntoResponse, Redirect},
    routing::get,
};
// Reads the files at build time and knows their types; it is what most Rust servers embed pages with.
use rust_embed::RustEmbed;
use tower_http::compression::CompressionLayer;

use super::App;

/// What `cargo xtask console` has built.
#[derive(RustEmbed)]
#[folder = "../console/dist/app"]
struct Files;

const INDEX: &str = "index.html";
/// Where files lie whose name has a digest of what is in them.
const ASSETS: &str = "assets/";
/// Only what is served here may run, be shown or be asked; a page of another origin can frame nothing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes, which need no key: the files hold no secret, and what they ask for needs one.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/console/") }))
        .route("/console", get(|| async { Redirect::permanent("/console/") }))
        .route("/console/", get(|| async { file(INDEX) }))
        .route("/console/{*path}", get(|Path(path): Path<String>| async move { file(&path) }))
        .layer(CompressionLayer::new())
}

/// Brings a file. What is none is a view of the page's own, except below `assets`.
fn file(path: &str) -> Response<Body> {
    let found = Files::get(path).map(|found| (path, found));
    let index = || Files::get(INDEX).map(|found| (INDEX, found));
    match found.or_else(|| if path.starts_with(ASSETS) { None } else { index() }) {
        Some((name, found)) => {
            let is_named_by_digest = name.starts_with(ASSETS);
            let caching = if is_named_by_digest { "public, max-age=31536000, immutable" } else { "no-cache" };
            answer(StatusCode::OK, found.metadata.mimetype(), caching, found.data.into_owned())
        }
        None => answer(StatusCode::NOT_FOUND, "text/plain", "no-cache", "there is no such file\n".into()),
    }
}

fn answer(status: StatusCode, kind: &str, caching: &'static str, bytes: Vec<u8>) -> Response<Body> {
    let kind = HeaderValue::from_str(kind).unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, HeaderValue::from_static(caching)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    ];
    (status, headers, bytes).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_a_view_and_a_missing_asset_is_none() {
        let [index, view, asset] = ["index.html", "tasks/1/rounds", "assets/none.js"].map(file);
        assert_eq!((index.status(), view.status()), (StatusCode::OK, StatusCode::OK));
        assert_eq!(asset.status(), StatusCode::NOT_FOUND);
        for answer in [index, view, asset] {
            assert_eq!(answer.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
        }
    }
}
