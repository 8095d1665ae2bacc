//! What devices may ask for. The handlers are in `http/device`; these functions carry their descriptions only.
#![allow(dead_code, reason = "a description is read by a macro, never called")]

use folkmoot_protocol::{
    Problem,
    messages::{
        AbortRequest, AskResponse, CheckInRequest, CheckInResponse, EnrolRequest, EnrolResponse,
        ReportRequest, UploadStatus,
    },
};

use folkmoot_api::Binary;

/// Enrols a new install by an enrolment token. Asking again with the same key gives the same client id.
#[utoipa::path(
    post, path = "/v1/enrol", tag = "device", security(("client_signature" = [])), request_body = EnrolRequest,
    responses(
        (status = 200, body = EnrolResponse),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub fn enrol() {}

/// Offers a client for a round. The answer is an assignment, or when to ask again.
#[utoipa::path(
    post, path = "/v1/check-in", tag = "device", security(("client_signature" = [])),
    params(("wait_seconds" = Option<u32>, Query, description = "Wait that long for an assignment, at most 60")),
    request_body = CheckInRequest,
    responses(
        (status = 200, body = CheckInResponse),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub fn check_in() {}

/// Brings a plan, a model or weights that an assignment of the client needs; takes `range` and `if-none-match`.
#[utoipa::path(
    get, path = "/v1/blobs/{digest}", tag = "device", security(("client_signature" = [])),
    params(("digest" = String, Path, description = "The SHA-256 of its bytes")),
    responses(
        (status = 200, body = Binary, content_type = "application/octet-stream", description = "The blob"),
        (status = 206, body = Binary, content_type = "application/octet-stream", description = "A part of it"),
        (status = 304, description = "The client has it"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub fn get_blob() {}

/// Says how much of an update has arrived.
#[utoipa::path(
    get, path = "/v1/assignments/{id}/update", tag = "device", security(("client_signature" = [])),
    params(("id" = String, Path, description = "The assignment")),
    responses(
        (status = 200, body = UploadStatus),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub fn upload_status() {}

/// Sends an update, or the rest of one. It is accepted when it is durable, and counts once.
#[utoipa::path(
    put, path = "/v1/assignments/{id}/update", tag = "device", security(("client_signature" = [])),
    params(
        ("id" = String, Path, description = "The assignment, which is also the idempotency key"),
        ("folkmoot-upload-offset" = u64, Header, description = "The byte of the update at which the body begins"),
        ("folkmoot-upload-length" = u64, Header, description = "The bytes of the whole update"),
        ("folkmoot-content-digest" = String, Header, description = "The BLAKE3 of the whole update"),
    ),
    request_body(content = Binary, content_type = "application/octet-stream"),
    responses(
        (status = 200, body = UploadStatus),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub fn upload_update() {}

/// Says whether a client at work is to send what it has now; waits for that. Only assignments with `may_be_asked` are asked.
#[utoipa::path(
    get, path = "/v1/assignments/{id}/ask", tag = "device", security(("client_signature" = [])),
    params(
        ("id" = String, Path, description = "The assignment"),
        ("wait_seconds" = Option<u32>, Query, description = "Wait that long to be asked, at most 60"),
    ),
    responses(
        (status = 200, body = AskResponse),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub fn ask() {}

/// Says how the work went, for statistics only.
#[utoipa::path(
    post, path = "/v1/assignments/{id}/report", tag = "device", security(("client_signature" = [])),
    params(("id" = String, Path, description = "The assignment")), request_body = ReportRequest,
    responses(
        (status = 204, description = "It is noted"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub fn report() {}

/// Gives an assignment up.
#[utoipa::path(
    post, path = "/v1/assignments/{id}/abort", tag = "device", security(("client_signature" = [])),
    params(("id" = String, Path, description = "The assignment")), request_body = AbortRequest,
    responses(
        (status = 204, description = "It is noted"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub fn abort() {}
