use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::privacy::EntryView;
use folkmoot_protocol::{Count, ErrorCode, PopulationName, Problem};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{LedgerRepository, PopulationRepository};
use serde::Deserialize;

use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// The requested page of entries.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LedgerPage {
    /// The maximum number of entries: 1 to 100. Default: 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Returns entries after this position, oldest first. Use the position of the previous page's last entry.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[param(maximum = 9007199254740992_u64)]
    after: Option<u64>,
    /// Returns entries before this position, newest first. Use the position of the previous page's last entry, or 0
    /// to start with the newest entry.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[param(maximum = 9007199254740992_u64)]
    before: Option<u64>,
}

/// Lists the entries of a population's privacy ledger, oldest first unless `before` is given.
#[utoipa::path(
    get, path = "/v1/admin/populations/{population}/ledger", tag = "privacy", security(("api_key" = ["viewer"])),
    params(("population" = String, Path, description = "The population's name"), LedgerPage),
    responses(
        (status = 200, body = [EntryView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_ledger(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(population): Path<String>,
    page: Result<Query<LedgerPage>, QueryRejection>,
) -> Result<Json<Vec<EntryView>>, Refused> {
    let page = read::query(page)?;
    let limit = read::limit(page.limit)?;
    let population: PopulationName = read::id(&population, ErrorCode::ResourceUnknown)?;
    let (storage, organisation_id) = (&app.coordinator.storage, caller.organisation_id);
    let populations = storage.populations(organisation_id).await?;
    if !populations.iter().any(|record| record.name == population) {
        let detail = format!("there is no population {population}; `folkmoot population list` shows all");
        return Err(Refusal::new(ErrorCode::ResourceUnknown, detail).into());
    }
    let Some(before) = page.before else {
        let after = page.after.unwrap_or(0);
        let entries = storage.ledger_entries(organisation_id, &population, after, limit).await?;
        return Ok(Json(entries.iter().map(EntryView::of).collect()));
    };
    if page.after.is_some() {
        let detail = "both after and before are given; give only one of them".to_owned();
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    // Positions have no gaps, so the last one equals the number of entries.
    let last = storage.ledger_sum(organisation_id, &population).await?.entries;
    let last = if before == 0 { last } else { last.min(before - 1) };
    let after = last.saturating_sub(limit.into());
    let count = u32::try_from(last - after).unwrap_or(limit);
    let entries = storage.ledger_entries(organisation_id, &population, after, count).await?;
    Ok(Json(entries.iter().rev().map(EntryView::of).collect()))
}
