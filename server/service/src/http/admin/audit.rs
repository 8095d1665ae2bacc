use axum::{
    Extension, Json,
    extract::{Query, State, rejection::QueryRejection},
};
use folkmoot_api::audit::{AuditEntryView, AuditPageView};
use folkmoot_protocol::{Count, Problem};
use folkmoot_storage::AuditRepository;
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
pub struct AuditPage {
    /// The maximum number of entries: 1 to 100. Default: 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Returns entries after this number. Use the number of the previous page's last entry. Default: the newest
    /// entries.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[param(maximum = 9007199254740992_u64)]
    after: Option<u64>,
}

/// Lists entries of the organisation's audit log, oldest first, and the head of the whole log.
#[utoipa::path(
    get, path = "/v1/admin/audit", tag = "audit log", security(("api_key" = ["privacy_officer"])), params(AuditPage),
    responses(
        (status = 200, body = AuditPageView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_audit(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    page: Result<Query<AuditPage>, QueryRejection>,
) -> Result<Json<AuditPageView>, Refused> {
    let page = read::query(page)?;
    let limit = read::limit(page.limit)?;
    let storage = &app.coordinator.storage;
    let head = storage.audit_head(caller.organisation_id).await?;
    let after = page.after.unwrap_or_else(|| head.entries.saturating_sub(limit.into()));
    let entries = storage.audit_entries(caller.organisation_id, after, limit).await?;
    let entries = entries
        .into_iter()
        .map(|entry| AuditEntryView { record: entry.record, digest: entry.digest.to_string() });
    Ok(Json(AuditPageView {
        entries: entries.collect(),
        entry_count: head.entries,
        head: head.digest.map(|digest| digest.to_string()),
    }))
}
