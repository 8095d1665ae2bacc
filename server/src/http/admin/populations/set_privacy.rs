use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_coordinator::privacy::{EPSILON_MAX, PopulationBudget, PopulationPrivacy};
use folkmoot_privacy::{Delta, Epsilon, Unit};
use folkmoot_protocol::{ErrorCode, PopulationName, Problem, check_characters};
use folkmoot_storage::{
    ClientRepository, PopulationRecord, PopulationRepository, PrivacyChange, PrivacyOutcome,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PopulationView;
use crate::{
    http::{
        App,
        admin::{access::Caller, read},
    },
    refusal::Refusal,
};

/// What is to hold for everybody in a population. What is not said stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetPrivacyRequest {
    /// Whom the promises of its tasks protect: `client`, or `user`, with all devices. It can be changed only while nobody
    /// ever enrolled.
    #[schema(value_type = Option<UnitWord>)]
    pub unit: Option<Unit>,
    /// What all its tasks together may spend of a client or user: above 0, at most 1000. A task that would spend more
    /// ends, and one that promises nothing is refused.
    #[schema(exclusive_minimum = 0.0, maximum = 1000.0)]
    pub epsilon: Option<f64>,
    /// The delta of epsilon: above 0, below 1. One comes with the other.
    #[schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0)]
    pub delta: Option<f64>,
    /// Takes the budget away.
    pub no_budget: bool,
    /// The reason for which the tasks may spend more than before: needed to raise a budget or to take it away. It is written
    /// into the population's ledger, where everyone can read it who may read the ledger. At most 500 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 500)]
    pub weaken: Option<String>,
}

/// The units of privacy, as the OpenAPI document lists them.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "the document is made of it, and nothing else")]
enum UnitWord {
    /// Each client by itself.
    Client,
    /// A user, with all devices.
    User,
}

/// Characters of a reason, at most.
const REASON_MAX: usize = 500;

/// Says whom the promises in a population protect, and what all its tasks together may spend.
#[utoipa::path(
    post, path = "/v1/admin/populations/{population}/privacy", tag = "privacy", security(("api_key" = ["admin"])),
    params(("population" = String, Path, description = "The population; it is made if there is none of this name")),
    request_body = SetPrivacyRequest,
    responses(
        (status = 200, body = PopulationView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn set_population_privacy(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(population): Path<String>,
    request: Request<Body>,
) -> Result<Json<PopulationView>, Refusal> {
    let request: SetPrivacyRequest = read::json(&app, request).await?;
    let population: PopulationName = read::id(&population, ErrorCode::MalformedRequest)?;
    let weakened = reason(&request)?;
    if (SetPrivacyRequest { weaken: None, ..request.clone() }) == SetPrivacyRequest::default() {
        let detail = "nothing is said: give a unit, epsilon and delta, or no_budget".to_owned();
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
    }
    let budget = budget(&request)?;
    let (storage, organisation_id) = (&app.coordinator.storage, caller.organisation_id);
    let record = storage.ensure_population(organisation_id, &population, (app.clock)()).await?;
    let before = record.privacy;
    let privacy = PopulationPrivacy {
        unit: request.unit.unwrap_or(before.unit),
        budget: if request.no_budget { None } else { budget.or(before.budget) },
    };
    let by = &caller.api_key_id;
    let change = PrivacyChange { privacy, weakened: weakened.as_deref(), by, now: (app.clock)() };
    let conflict = |detail: String| Err(Refusal::new(ErrorCode::PopulationStateConflict, detail));
    match storage.set_population_privacy(organisation_id, &population, &change).await? {
        PrivacyOutcome::Set => {}
        PrivacyOutcome::UnitDiffers => {
            return conflict(format!(
                "clients are enrolled in {population}, and were promised privacy by another unit ({}): make another population",
                before.unit
            ));
        }
        PrivacyOutcome::Weaker => {
            return conflict(format!(
                "the clients of {population} were promised a stricter budget; give the reason for the change in `weaken` \
                 (folkmoot population set {population} --weaken REASON): it is written into the ledger"
            ));
        }
    }
    tracing::info!(%population, unit = %privacy.unit, budget = ?privacy.budget, api_key = caller.api_key_id, "privacy of a population set");
    let client_count = storage.client_count(organisation_id, &population).await?;
    let record = PopulationRecord { privacy, ..record };
    Ok(Json(PopulationView::of(record, client_count)))
}

/// Reads the reason for a weaker promise.
fn reason(request: &SetPrivacyRequest) -> Result<Option<String>, Refusal> {
    let Some(reason) = &request.weaken else { return Ok(None) };
    let reason = reason.trim();
    let length = reason.chars().count();
    if let Err(fault) = check_characters(reason) {
        let detail = format!("the reason in `weaken` cannot be shown: {fault}");
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
        _ => Err(refuse("epsilon and delta come together: give both, or neither".into())),
    }
}
