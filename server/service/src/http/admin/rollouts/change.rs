use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_api::populations::{ChangeRolloutRequest, RolloutView};
use folkmoot_protocol::{ErrorCode, PopulationName, Problem};
use folkmoot_storage::RolloutChange;

use super::{share, view};
use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// Changes the share of a rollout, holds it, or continues it.
#[utoipa::path(
    post, path = "/v1/admin/populations/{population}/rollouts/{number}", tag = "populations",
    security(("api_key" = ["operator"])), request_body = ChangeRolloutRequest,
    params(
        ("population" = String, Path, description = "The population's name"),
        ("number" = u64, Path, description = "The number of the rollout"),
    ),
    responses(
        (status = 200, body = RolloutView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn change_rollout(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path((population, number)): Path<(String, String)>,
    request: Request<Body>,
) -> Result<Json<RolloutView>, Refused> {
    let name: PopulationName = read::id(&population, ErrorCode::MalformedRequest)?;
    let wanted: u64 = read::id(&number, ErrorCode::ResourceUnknown)?;
    let ChangeRolloutRequest { share: fraction, failures_max, held } = read::json(&app, request).await?;
    let by = caller.who.to_string();
    let change = RolloutChange {
        share: fraction.map(|fraction| share("share", fraction)).transpose()?,
        failures_max: failures_max.map(|fraction| share("failures_max", fraction)).transpose()?,
        held: held.map(|is_held| is_held.then(|| format!("by {by}"))),
    };
    let database = app.coordinator.storage.database()?;
    let changed = database.change_rollout(caller.organisation_id, &name, wanted, &change).await;
    let changed = changed.map_err(read::missing("rollout", &number))?;
    let (share, held) = (changed.share.fraction(), changed.held.is_some());
    tracing::info!(population = %name, number = wanted, share, held, by, "a rollout was changed");
    Ok(Json(view(changed)))
}
