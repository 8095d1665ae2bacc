//! Passes requests on to the coordinator, and its answers back.

use std::net::IpAddr;

use axum::{
    body::Body,
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
    response::Response,
};

use folkmoot_combine::refusal::Refusal;
use folkmoot_protocol::ErrorCode;

use crate::{
    answer::{Refused, stopping, unreachable},
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

/// The headers of CORS in an answer.
const OF_ORIGINS: [HeaderName; 7] = [
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_ALLOW_METHODS,
    header::ACCESS_CONTROL_ALLOW_HEADERS,
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::ACCESS_CONTROL_EXPOSE_HEADERS,
    header::ACCESS_CONTROL_MAX_AGE,
    header::VARY,
];

/// Passes a request on as it is, with the client's address in `x-forwarded-for`.
pub async fn pass(State(app): State<App>, request: Request) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = app.base.join(path).map_err(|error| unreachable(&error))?;
    // A path with dots could name an endpoint that is not for clients.
    if url.path() != parts.uri.path() {
        let detail = "the path has segments of dots; write it without them";
        return Err(Refusal::new(ErrorCode::EndpointUnknown, detail).into());
    }
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
    if !has_body {
        headers.remove(header::CONTENT_LENGTH);
    }
    let mut sent = app.http.request(parts.method, url).headers(headers);
    if has_body {
        sent = sent.body(reqwest::Body::wrap_stream(body.into_data_stream()));
    }
    let mut stops = app.stops.clone();
    let answer = tokio::select! {
        answer = sent.send() => answer.map_err(|error| unreachable(&error))?,
        // A long poll would keep the process for a minute.
        _ = stops.wait_for(|is_over| *is_over) => return Err(stopping()),
    };
    let (status, mut headers) = (answer.status(), kept(answer.headers()));
    // This aggregator says by itself which pages may read its answers.
    OF_ORIGINS.iter().for_each(|name| drop(headers.remove(name)));
    let mut response = Response::new(Body::from_stream(answer.bytes_stream()));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

/// Returns the headers without those of the connection.
fn kept(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for named in headers.get_all(header::CONNECTION) {
        let names = named.to_str().unwrap_or_default().split(',');
        names.for_each(|name| drop(kept.remove(name.trim())));
    }
    OF_CONNECTION.iter().for_each(|name| drop(kept.remove(name)));
    kept
}
