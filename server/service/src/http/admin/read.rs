//! Reads request bodies, queries and paths within their limits.

use std::{fmt::Display, str::FromStr};

use axum::{
    body::Body,
    extract::{Query, rejection::QueryRejection},
    http::{HeaderMap, Request},
};
use folkmoot_protocol::{ErrorCode, limits::CONTROL_BYTES_MAX};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::StorageError;
use serde::de::DeserializeOwned;

use folkmoot_edge::Budget;

use crate::http::{App, body};

/// The default number of rows per page.
const PAGE_ROWS: u32 = 20;
/// The maximum number of rows per page.
pub const PAGE_ROWS_MAX: u32 = 100;

/// Reads the JSON body of an authenticated caller.
pub async fn json<T: DeserializeOwned>(app: &App, request: Request<Body>) -> Result<T, Refusal> {
    let (parts, body) = request.into_parts();
    json_within(app, &parts.headers, body, CONTROL_BYTES_MAX, &app.edge.known).await
}

/// Reads a JSON body of at most `bytes_max` bytes. Its memory counts against `budget`.
pub async fn json_within<T: DeserializeOwned>(
    app: &App,
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
    budget: &Budget,
) -> Result<T, Refusal> {
    body::check_type(headers, "application/json")?;
    body::json(&body::read(body, bytes_max, app.limits.control_timeout, budget).await?)
}

/// Returns the parsed query, or a refusal that says what is malformed.
pub fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    let malformed = |error: QueryRejection| Refusal::new(ErrorCode::MalformedRequest, error.body_text());
    query.map(|Query(query)| query).map_err(malformed)
}

/// Reads an id from the path. A malformed id gets the same error code as an unknown one.
pub fn id<T: FromStr<Err: Display>>(text: &str, unknown: ErrorCode) -> Result<T, Refusal> {
    text.parse().map_err(|error| Refusal::new(unknown, format!("{error}")))
}

/// Returns the number of rows for a page: `asked`, or [`PAGE_ROWS`] by default.
pub fn limit(asked: Option<u32>) -> Result<u32, Refusal> {
    match asked.unwrap_or(PAGE_ROWS) {
        limit @ 1..=PAGE_ROWS_MAX => Ok(limit),
        limit => {
            let detail = format!("limit is {limit}; it must be 1 to {PAGE_ROWS_MAX}");
            Err(Refusal::new(ErrorCode::MalformedRequest, detail))
        }
    }
}

/// Returns the refusal for a resource that is named in the path and does not exist.
pub fn missing<'a>(what: &'static str, id: &'a str) -> impl FnOnce(StorageError) -> Refusal + 'a {
    move |error| match error {
        StorageError::NotFound(_) => {
            let id: String = id.chars().take(64).collect();
            Refusal::new(ErrorCode::ResourceUnknown, format!("there is no {what} {id}"))
        }
        other => other.into(),
    }
}
