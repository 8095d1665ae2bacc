//! Passes requests on to the coordinator, and its answers back.

use std::net::IpAddr;

use axum::{
    body::Body,
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
    response::Response,
};

use crate::{
    answer::{Refused, unreachable},
    app::App,
};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The headers that belong to one connection (RFC 9110, section 7.6.1), and the name of the host.
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Passes a request on as it is, with the client's address in `x-forwarded-for`.
pub async fn pass(State(app): State<App>, request: Request) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = app.base.join(path).map_err(|error| unreachable(&error))?;
    let mut headers = kept(&parts.headers);
    if let Some(ConnectInfo(sender)) = parts.extensions.get::<ConnectInfo<IpAddr>>() {
        let before = parts.headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let all: Vec<String> =
            before.map(ToOwned::to_owned).chain([sender.to_canonical().to_string()]).collect();
        if let Ok(all) = HeaderValue::from_str(&all.join(", ")) {
            headers.insert(FORWARDED_FOR, all);
        }
    }
    let has_body = matches!(parts.method, Method::POST | Method::PUT);
    let mut sent = app.http.request(parts.method, url).headers(headers);
    if has_body {
        sent = sent.body(reqwest::Body::wrap_stream(body.into_data_stream()));
    }
    let answer = sent.send().await.map_err(|error| unreachable(&error))?;
    let (status, headers) = (answer.status(), kept(answer.headers()));
    let mut response = Response::new(Body::from_stream(answer.bytes_stream()));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

fn kept(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    OF_CONNECTION.iter().for_each(|name| drop(kept.remove(name)));
    kept
}
