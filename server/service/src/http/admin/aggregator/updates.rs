use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_aggregation::Extent;
use folkmoot_api::rounds::aggregators::{HeldUpdateRequest, RefusedUpdateRequest};
use folkmoot_protocol::{Problem, messages::UploadStatus, update::UpdateMetrics};
use folkmoot_rounds::device::HeldFacts;
use folkmoot_storage::HeldUpdate;

use super::{admit::Head, aggregator};
use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// Accepts an update that an edge aggregator has checked and made durable.
#[utoipa::path(
    post, path = "/v1/admin/aggregator/updates", tag = "aggregators", security(("api_key" = ["aggregator"])),
    request_body = HeldUpdateRequest,
    responses(
        (status = 200, body = UploadStatus),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn accept_update(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Json<UploadStatus>, Refused> {
    let aggregator = aggregator(caller)?;
    let sent: HeldUpdateRequest = read::json(&app, request).await?;
    let (held, digest, bytes) = Head::of(&sent.head)?.vouched(&app, &aggregator).await?;
    let facts = HeldFacts {
        digest,
        bytes,
        codec: sent.codec,
        weight: sent.weight,
        metrics: UpdateMetrics {
            example_count: sent.example_count,
            loss_sum: sent.loss_sum,
            correct_count: sent.correct_count,
            step_count: sent.step_count,
        },
        held: HeldUpdate { by: aggregator.key, extent: Extent { square: sent.norm_square, peak: sent.peak } },
    };
    Ok(Json(held.accept(&app.coordinator, facts, (app.clock)()).await?))
}

/// Notes that an edge aggregator has refused an update, so that the round does not wait for it.
#[utoipa::path(
    post, path = "/v1/admin/aggregator/refusals", tag = "aggregators", security(("api_key" = ["aggregator"])),
    request_body = RefusedUpdateRequest,
    responses(
        (status = 204, description = "Noted"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn refuse_update(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<StatusCode, Refused> {
    let aggregator = aggregator(caller)?;
    let RefusedUpdateRequest { head, code } = read::json(&app, request).await?;
    let (held, ..) = Head::of(&head)?.vouched(&app, &aggregator).await?;
    held.refuse(&app.coordinator, code, (app.clock)()).await;
    Ok(StatusCode::NO_CONTENT)
}
