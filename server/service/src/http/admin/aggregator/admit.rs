use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, request::Parts},
};
use folkmoot_api::rounds::aggregators::{AdmissionRequest, AdmissionView};
use folkmoot_protocol::{ErrorCode, Problem, headers};
use folkmoot_rounds::{
    device::{self, Admitted},
    refusal::Refusal,
};

use super::aggregator;
use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
    signed,
};

/// Verifies the signature of a client whose update an edge aggregator takes, and checks that the update is awaited. The
/// signature covers the digest of the update, so its bytes need not come here.
#[utoipa::path(
    post, path = "/v1/admin/aggregator/admissions", tag = "aggregators", security(("api_key" = ["aggregator"])),
    request_body = AdmissionRequest,
    responses(
        (status = 200, body = AdmissionView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn admit(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Json<AdmissionView>, Refused> {
    let aggregator = aggregator(caller)?;
    let asked: AdmissionRequest = read::json(&app, request).await?;
    let parts = head(&asked)?;
    let is_part = parts.method == axum::http::Method::PUT;
    let (part, digest) = if is_part {
        let offset = signed::required(&parts.headers, headers::UPLOAD_OFFSET)?;
        let length = signed::required(&parts.headers, headers::UPLOAD_LENGTH)?;
        (Some((offset, length)), Some(signed::required(&parts.headers, headers::CONTENT_DIGEST)?))
    } else {
        (None, None)
    };
    let client = signed::authenticate(&app, &parts, part).await?;
    let update = (asked.assignment_id, digest);
    let admitted = device::admit_held(&app.coordinator, &aggregator, &client, update, (app.clock)()).await?;
    Ok(Json(match admitted {
        Admitted::Accepted(status) => AdmissionView { answer: Some(status), norm_max: None },
        Admitted::Awaited { norm_max } => AdmissionView { answer: None, norm_max },
    }))
}

/// Builds the head of the client's request again. Its path must be that of the assignment's update.
fn head(asked: &AdmissionRequest) -> Result<Parts, Refusal> {
    let malformed = |detail: String| Refusal::new(ErrorCode::MalformedRequest, detail);
    let expected = format!("/v1/assignments/{}/update", asked.assignment_id);
    if asked.path != expected || !["GET", "PUT"].contains(&asked.method.as_str()) {
        return Err(malformed(format!("only GET and PUT of {expected} can be admitted")));
    }
    let mut request = Request::builder().method(asked.method.as_str()).uri(&asked.path);
    for (name, value) in &asked.headers {
        if !headers::ALL.contains(&name.as_str()) {
            return Err(malformed("only the headers that clients sign can be sent on".to_owned()));
        }
        request = request.header(name, value);
    }
    let request =
        request.body(()).map_err(|error| malformed(format!("the request cannot be read: {error}")))?;
    Ok(request.into_parts().0)
}
