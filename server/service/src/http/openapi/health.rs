//! What watches the process. The handlers are in `http/health.rs`; these functions carry their descriptions only.
#![allow(dead_code, reason = "a description is read by a macro, never called")]

use folkmoot_protocol::Problem;

/// Says that the process runs.
#[utoipa::path(
    get, path = "/healthz", tag = "operations",
    responses((status = 200, body = String, content_type = "text/plain", description = "It runs"))
)]
pub fn healthz() {}

/// Says that the process can do its work.
#[utoipa::path(
    get, path = "/readyz", tag = "operations",
    responses(
        (status = 200, body = String, content_type = "text/plain", description = "It is ready"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "It is not"),
    )
)]
pub fn readyz() {}

/// Brings the metrics in Prometheus's text format.
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses((status = 200, body = String, content_type = "text/plain", description = "The metrics"))
)]
pub fn metrics() {}
