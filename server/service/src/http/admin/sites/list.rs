use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::sites::{SiteFailureView, SiteView, SitesView};
use folkmoot_coordinator::ClientKind;
use folkmoot_protocol::{ClientId, ErrorCode, PopulationName, Problem, is_control};
use folkmoot_rounds::{privacy, refusal::Refusal};
use folkmoot_storage::{DropReason, PopulationRepository, SiteFailure, SiteRecord};
use serde::Deserialize;

use crate::http::{
    App,
    admin::{access::Caller, disclosure::Disclosure, read, rounds::view::kind_of},
    problem::Refused,
};

/// The requested page of sites.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SitePage {
    /// The maximum number of sites: 1 to 100. Default: 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Returns sites after this client's site. Use the client of the previous page's last site.
    after: Option<ClientId>,
}

/// Lists a population's sites by name, also revoked ones. Refused for a population whose clients are a crowd.
#[utoipa::path(
    get, path = "/v1/admin/populations/{population}/sites", tag = "populations",
    security(("api_key" = ["operator"])),
    params(("population" = String, Path, description = "The population's name"), SitePage),
    responses(
        (status = 200, body = SitesView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_sites(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(population): Path<String>,
    page: Result<Query<SitePage>, QueryRejection>,
) -> Result<Json<SitesView>, Refused> {
    let (page, organisation) = (read::query(page)?, caller.organisation_id);
    let name: PopulationName = read::id(&population, ErrorCode::ResourceUnknown)?;
    let storage = &app.coordinator.storage;
    let unknown = || format!("there is no population {name}; `folkmoot population list` shows all");
    let missing = || Refusal::new(ErrorCode::ResourceUnknown, unknown());
    let record = storage.population(organisation, &name).await?.ok_or_else(missing)?;
    if record.clients == ClientKind::Crowd {
        let detail = format!(
            "the clients of {name} are an anonymous crowd, so there is no list of them; for named clients, set \
             `clients` of a new population to `sites` before the first client enrols"
        );
        return Err(Refusal::new(ErrorCode::PopulationStateConflict, detail).into());
    }
    let limit = read::limit(page.limit)?;
    let sites = storage.database()?.sites(organisation, &name, limit, page.after).await?;
    let is_sampled = privacy::sampled_now(&app.coordinator, organisation).await?.contains(&name)
        || privacy::was_sampled(&app.coordinator, organisation, &name).await?;
    let disclosure = Disclosure::of_population(&app, organisation, &name).await?;
    let sites = sites.into_iter().map(|site| view(site, is_sampled, disclosure)).collect();
    Ok(Json(SitesView { sites, withheld: disclosure.withheld() }))
}

/// Converts a site's record. The selection of a sampled task is secret, also after the task ended, and the time at which a site
/// was last seen could reveal it. A failure may depend on the site's examples.
fn view(site: SiteRecord, is_sampled: bool, disclosure: Disclosure) -> SiteView {
    let client = site.client;
    SiteView {
        name: client.site.unwrap_or_default(),
        client: client.id,
        token_id: client.token_id,
        enrolled_at: client.enrolled_at,
        revoked_at: client.revoked_at,
        last_seen_at: (!is_sampled).then_some(site.seen_at),
        sdk_version: site.sdk_version,
        attributes: site.attributes,
        failures: disclosure.of_clients(site.failures),
        last_failure: disclosure.of_clients(()).and(site.last_failure).map(failure_view),
    }
}

/// Leaves out characters that only control how text is displayed: the site chose the text.
fn displayed(detail: &str) -> String {
    detail.chars().filter(|character| !is_control(*character)).collect()
}

fn failure_view(SiteFailure { at, reason }: SiteFailure) -> SiteFailureView {
    let (kind, why) = kind_of(&reason);
    let detail = match reason {
        DropReason::Aborted { detail, .. } => Some(displayed(&detail)).filter(|detail| !detail.is_empty()),
        _ => None,
    };
    SiteFailureView { at, kind: kind.to_owned(), reason: why, detail }
}
