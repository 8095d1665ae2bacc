//! The OpenAPI description of the monitoring endpoints. The handlers are in `http/health.rs`; these functions only
//! carry descriptions.
#![allow(dead_code, reason = "a description is read by a macro, never called")]

use folkmoot_protocol::Problem;

/// Returns whether the process is running.
#[utoipa::path(
    get, path = "/healthz", tag = "operations",
    responses((status = 200, body = String, content_type = "text/plain", description = "The process is running"))
)]
pub fn healthz() {}

/// Returns whether the process can do its work.
#[utoipa::path(
    get, path = "/readyz", tag = "operations",
    responses(
        (status = 200, body = String, content_type = "text/plain", description = "The process is ready"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The process is not ready"),
    )
)]
pub fn readyz() {}

/// Returns the metrics in Prometheus's text format.
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses((status = 200, body = String, content_type = "text/plain", description = "The metrics"))
)]
pub fn metrics() {}
