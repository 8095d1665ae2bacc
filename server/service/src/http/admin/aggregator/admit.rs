use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Method, Request, request::Parts},
};
use folkmoot_api::rounds::aggregators::{AdmissionRequest, AdmissionView};
use folkmoot_edge::tls::certificate_of;
use folkmoot_protocol::{AssignmentId, ErrorCode, Problem, UpdateDigest, headers};
use folkmoot_rounds::{
    device::{Admitted, Aggregator, Held},
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
    // A device behind an aggregator shows its certificate to nobody, so the aggregator must be one of the authority's devices.
    certificate_of(request.extensions(), (app.clock)()).map_err(Refusal)?;
    let aggregator = aggregator(caller)?;
    let asked: AdmissionRequest = read::json(&app, request).await?;
    let head = Head::of(&asked)?;
    let client = signed::authenticate_there(&app, &head.parts, head.part).await?;
    let held = Held::of(&app.coordinator, &aggregator, head.assignment_id).await?;
    let admitted = held.admit(&app.coordinator, &client, head.digest, (app.clock)()).await?;
    Ok(Json(match admitted {
        Admitted::Accepted(status) => AdmissionView { answer: Some(status), norm_max: None },
        Admitted::Awaited { norm_max } => AdmissionView { answer: None, norm_max },
    }))
}

/// The head of a client's request about its update.
pub struct Head {
    pub assignment_id: AssignmentId,
    pub parts: Parts,
    /// The offset of the part and the length of the update; `None` for a question about its state.
    pub part: Option<(u64, u64)>,
    /// The digest of the update; `None` for a question about its state.
    pub digest: Option<UpdateDigest>,
}

impl Head {
    /// Builds the head again. Its path must be that of the assignment's update.
    ///
    /// # Errors
    /// Refuses the head of any other request.
    pub fn of(asked: &AdmissionRequest) -> Result<Self, Refusal> {
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
        let request = request.body(());
        let request = request.map_err(|error| malformed(format!("the request cannot be read: {error}")))?;
        let (parts, ()) = request.into_parts();
        let assignment_id = asked.assignment_id;
        if parts.method != Method::PUT {
            return Ok(Self { assignment_id, parts, part: None, digest: None });
        }
        let offset = signed::required(&parts.headers, headers::UPLOAD_OFFSET)?;
        let length = signed::required(&parts.headers, headers::UPLOAD_LENGTH)?;
        let digest = signed::required(&parts.headers, headers::CONTENT_DIGEST)?;
        Ok(Self { assignment_id, parts, part: Some((offset, length)), digest: Some(digest) })
    }

    /// Verifies that the client of the assignment has signed this head to send its update, now or before. So an aggregator can
    /// neither accept nor refuse an update that no client has sent to it. Returns the assignment, and the update's digest and
    /// length.
    ///
    /// # Errors
    /// Refuses a head that is not signed, or is no part of an update.
    pub async fn vouched(
        &self,
        app: &App,
        aggregator: &Aggregator,
    ) -> Result<(Held, UpdateDigest, u64), Refusal> {
        let (Some(digest), Some((_, length))) = (self.digest, self.part) else {
            let detail = "the head is that of a question; send the head of a part of the update";
            return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
        };
        let held = Held::of(&app.coordinator, aggregator, self.assignment_id).await?;
        signed::verify(app, &self.parts, self.part, &held.client(&app.coordinator).await?)?;
        Ok((held, digest, length))
    }
}
