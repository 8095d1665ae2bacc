use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_api::populations::{PopulationView, SetPrivacyRequest};
use folkmoot_coordinator::privacy::{EPSILON_MAX, PopulationBudget, PopulationPrivacy};
use folkmoot_privacy::{Delta, Epsilon};
use folkmoot_protocol::{ErrorCode, PopulationName, Problem, check_characters};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{
    ClientRepository, PopulationRecord, PopulationRepository, PrivacyChange, PrivacyOutcome,
};

use crate::http::{
    App,
    admin::{access::Caller, officers, populations::view::population_view, read},
    problem::Refused,
};

/// The maximum length of a reason, in characters.
const REASON_MAX: usize = 500;

/// Sets a population's unit of privacy and the privacy budget of all its tasks together. If the organisation has a privacy
/// officer, only a privacy officer may raise or remove the budget.
#[utoipa::path(
    post, path = "/v1/admin/populations/{population}/privacy", tag = "privacy", security(("api_key" = ["privacy_officer"])),
    params(("population" = String, Path, description = "The population's name; a new one is created")),
    request_body = SetPrivacyRequest,
    responses(
        (status = 200, body = PopulationView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn set_population_privacy(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(population): Path<String>,
    request: Request<Body>,
) -> Result<Json<PopulationView>, Refused> {
    let request: SetPrivacyRequest = read::json(&app, request).await?;
    let population: PopulationName = read::id(&population, ErrorCode::MalformedRequest)?;
    let weakened = reason(&request)?;
    if (SetPrivacyRequest { weaken: None, ..request.clone() }) == SetPrivacyRequest::default() {
        let detail = "the request changes nothing; give unit, epsilon and delta, or no_budget".to_owned();
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    let budget = budget(&request)?;
    let (storage, organisation_id) = (&app.coordinator.storage, caller.organisation_id);
    let record = storage.ensure_population(organisation_id, &population, (app.clock)()).await?;
    let before = record.privacy;
    let privacy = PopulationPrivacy {
        unit: request.unit.unwrap_or(before.unit),
        budget: if request.no_budget { None } else { budget.or(before.budget) },
    };
    let officer = officers::check(&app, &caller, "weaken a promise of privacy").await;
    let by = &caller.who.in_ledger();
    let change = PrivacyChange {
        privacy,
        weakened: weakened.as_deref(),
        may_weaken: officer.is_ok(),
        by,
        now: (app.clock)(),
    };
    let conflict = |detail: String| Err(Refusal::new(ErrorCode::PopulationStateConflict, detail).into());
    match storage.set_population_privacy(organisation_id, &population, &change).await? {
        PrivacyOutcome::Set => {}
        PrivacyOutcome::NotAllowed => officer?,
        PrivacyOutcome::UnitDiffers => {
            return conflict(format!(
                "the unit cannot change: clients of {population} were promised privacy with the unit {}; create another population",
                before.unit
            ));
        }
        PrivacyOutcome::Weaker => {
            return conflict(format!(
                "the clients of {population} were promised a stricter budget; give a reason for the change in `weaken` \
                 (folkmoot population set {population} --weaken REASON), which is recorded in the ledger"
            ));
        }
    }
    let (epsilon, delta) = privacy.budget.map(|budget| (budget.epsilon.get(), budget.delta.get())).unzip();
    tracing::info!(%population, unit = %privacy.unit, epsilon, delta, by = %caller.who, "privacy of a population set");
    let client_count = storage.client_count(organisation_id, &population).await?;
    let record = PopulationRecord { privacy, ..record };
    Ok(Json(population_view(record, client_count)))
}

/// Returns the trimmed reason in `weaken`, if there is one.
fn reason(request: &SetPrivacyRequest) -> Result<Option<String>, Refusal> {
    let Some(reason) = &request.weaken else { return Ok(None) };
    let reason = reason.trim();
    let length = reason.chars().count();
    if let Err(fault) = check_characters(reason) {
        let detail = format!("the reason in `weaken` contains characters that cannot be displayed: {fault}");
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
    }
    match (1..=REASON_MAX).contains(&length) {
        true => Ok(Some(reason.to_owned())),
        false => {
            let detail =
                format!("the reason in `weaken` has {length} characters; it must have 1 to {REASON_MAX}");
            Err(Refusal::new(ErrorCode::MalformedRequest, detail))
        }
    }
}

fn budget(request: &SetPrivacyRequest) -> Result<Option<PopulationBudget>, Refusal> {
    let refuse = |detail: String| Refusal::new(ErrorCode::MalformedRequest, detail);
    match (request.epsilon, request.delta) {
        (None, None) => Ok(None),
        (Some(epsilon), Some(delta)) => {
            if !(epsilon > 0.0 && epsilon <= EPSILON_MAX) {
                return Err(refuse(format!(
                    "epsilon is {epsilon}; it must be above 0 and at most {EPSILON_MAX}"
                )));
            }
            let epsilon = Epsilon::new(epsilon).map_err(|error| refuse(error.to_string()))?;
            let delta = Delta::new(delta).map_err(|error| refuse(error.to_string()))?;
            Ok(Some(PopulationBudget { epsilon, delta }))
        }
        _ => Err(refuse("only one of epsilon and delta is given; give both, or neither".into())),
    }
}
