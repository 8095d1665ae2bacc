//! The OpenAPI description of the device endpoints. The handlers are in `http/device`; these functions only carry
//! descriptions.
#![allow(dead_code, reason = "a description is read by a macro, never called")]

use folkmoot_protocol::{
    Problem,
    messages::{
        AbortRequest, AskResponse, CheckInRequest, CheckInResponse, EnrolRequest, EnrolResponse,
        ReportRequest, RolloutReport, RolloutResponse, UploadStatus,
    },
    secure::{SecureAnswered, SecureMessage, SecureProgress},
};

use folkmoot_api::Binary;

/// Enrols a new install with an enrolment token. Repeating the request with the same key returns the same client id.
#[utoipa::path(
    post, path = "/v1/enrol", tag = "device", security(("client_signature" = [])), request_body = EnrolRequest,
    responses(
        (status = 200, body = EnrolResponse),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn enrol() {}

/// Offers a client for a round. The response is an assignment, or a time to ask again.
#[utoipa::path(
    post, path = "/v1/check-in", tag = "device", security(("client_signature" = [])),
    params(("wait_seconds" = Option<u32>, Query, description = "The time to wait for an assignment, in seconds, at most 60")),
    request_body = CheckInRequest,
    responses(
        (status = 200, body = CheckInResponse),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn check_in() {}

/// Downloads a plan, model or weights that the client's assignment or its rolled-out model needs. Supports `range` and `if-none-match`.
#[utoipa::path(
    get, path = "/v1/blobs/{digest}", tag = "device", security(("client_signature" = [])),
    params(("digest" = String, Path, description = "The SHA-256 digest of the blob")),
    responses(
        (status = 200, body = Binary, content_type = "application/octet-stream", description = "The blob"),
        (status = 206, body = Binary, content_type = "application/octet-stream", description = "The requested range"),
        (status = 304, description = "The client already has the blob"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn get_blob() {}

/// Returns the model that is rolled out to the device in a channel, if there is one.
#[utoipa::path(
    get, path = "/v1/model", tag = "device", security(("client_signature" = [])),
    params(("channel" = Option<String>, Query, description = "The channel of the app; `stable` by default")),
    responses(
        (status = 200, body = RolloutResponse),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn get_model() {}

/// Reports whether the device could load the model that is rolled out to it. If too many devices could not, the coordinator
/// holds the rollout.
#[utoipa::path(
    post, path = "/v1/model/report", tag = "device", security(("client_signature" = [])), request_body = RolloutReport,
    responses(
        (status = 204, description = "Counted"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn report_model() {}

/// Returns the number of bytes of an update that have arrived.
#[utoipa::path(
    get, path = "/v1/assignments/{id}/update", tag = "device", security(("client_signature" = [])),
    params(("id" = String, Path, description = "The assignment's id")),
    responses(
        (status = 200, body = UploadStatus),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn upload_status() {}

/// Uploads an update, or the rest of one. The coordinator accepts an update when it is stored durably. A repeated
/// upload is not counted again.
#[utoipa::path(
    put, path = "/v1/assignments/{id}/update", tag = "device", security(("client_signature" = [])),
    params(
        ("id" = String, Path, description = "The assignment's id, which is also the idempotency key"),
        ("folkmoot-upload-offset" = u64, Header, description = "The offset of the body in the update, in bytes"),
        ("folkmoot-upload-length" = u64, Header, description = "The length of the whole update, in bytes"),
        ("folkmoot-content-digest" = String, Header, description = "The BLAKE3 digest of the whole update"),
    ),
    request_body(content = Binary, content_type = "application/octet-stream"),
    responses(
        (status = 200, body = UploadStatus),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn upload_update() {}

/// Waits until the coordinator asks a training client to send its current update now, and returns whether it asked. The
/// coordinator asks only for assignments with `may_be_asked`.
#[utoipa::path(
    get, path = "/v1/assignments/{id}/ask", tag = "device", security(("client_signature" = [])),
    params(
        ("id" = String, Path, description = "The assignment's id"),
        ("wait_seconds" = Option<u32>, Query, description = "The time to wait to be asked, in seconds, at most 60"),
    ),
    responses(
        (status = 200, body = AskResponse),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn ask() {}

/// Waits for the coordinator's answer to a step of secure aggregation.
#[utoipa::path(
    get, path = "/v1/assignments/{id}/secure", tag = "device", security(("client_signature" = [])),
    params(
        ("id" = String, Path, description = "The assignment's id"),
        ("after" = SecureAnswered, Query, description = "The last step that the client has completed"),
        ("wait_seconds" = Option<u32>, Query, description = "The time to wait for the answer, in seconds, at most 60"),
    ),
    responses(
        (status = 200, body = SecureProgress),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn secure_progress() {}

/// Sends a message of secure aggregation. A client may repeat a message, but never change it.
#[utoipa::path(
    post, path = "/v1/assignments/{id}/secure", tag = "device", security(("client_signature" = [])),
    params(("id" = String, Path, description = "The assignment's id")), request_body = SecureMessage,
    responses(
        (status = 204, description = "Recorded"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn secure_message() {}

/// Reports the training time and the traffic of an assignment. The coordinator uses the report for statistics only.
#[utoipa::path(
    post, path = "/v1/assignments/{id}/report", tag = "device", security(("client_signature" = [])),
    params(("id" = String, Path, description = "The assignment's id")), request_body = ReportRequest,
    responses(
        (status = 204, description = "Recorded"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn report() {}

/// Gives up an assignment, with a reason.
#[utoipa::path(
    post, path = "/v1/assignments/{id}/abort", tag = "device", security(("client_signature" = [])),
    params(("id" = String, Path, description = "The assignment's id")), request_body = AbortRequest,
    responses(
        (status = 204, description = "Recorded"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub fn abort() {}
