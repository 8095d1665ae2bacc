//! The console under `/console`: files embedded in the program, with a strict content security policy.

use axum::{
    Router,
    body::Body,
    extract::Path,
    http::{HeaderValue, Response, StatusCode, header},
    response::{IntoResponse, Redirect},
    routing::get,
};
// `rust-embed` puts the files into the program at build time and knows their content types.
use rust_embed::RustEmbed;
use tower_http::compression::CompressionLayer;

use super::App;

/// The output of `cargo xtask console`.
#[derive(RustEmbed)]
#[folder = "../console/dist/app"]
struct Files;

const INDEX: &str = "index.html";
/// The folder of files whose names contain a digest of their contents.
const ASSETS: &str = "assets/";
/// The content security policy: pages load, run and contact only this server, and cannot be framed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes. They need no key: the files contain no secrets, and the API that they call needs a key.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/console/") }))
        .route("/console", get(|| async { Redirect::permanent("/console/") }))
        .route("/console/", get(|| async { file(INDEX) }))
        .route("/console/{*path}", get(|Path(path): Path<String>| async move { file(&path) }))
        .layer(CompressionLayer::new())
}

/// Returns the file at `path`. If there is none, the path is a view of the single-page app and returns the app's index.
/// Below `assets`, a missing file is an error instead.
fn file(path: &str) -> Response<Body> {
    let found = Files::get(path).map(|found| (path, found));
    let index = || Files::get(INDEX).map(|found| (INDEX, found));
    match found.or_else(|| if path.starts_with(ASSETS) { None } else { index() }) {
        Some((name, found)) => {
            let is_named_by_digest = name.starts_with(ASSETS);
            let caching = if is_named_by_digest { "public, max-age=31536000, immutable" } else { "no-cache" };
            answer(StatusCode::OK, found.metadata.mimetype(), caching, found.data.into_owned())
        }
        None => answer(StatusCode::NOT_FOUND, "text/plain", "no-cache", "no such file\n".into()),
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
