use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_privacy::Unit;
use folkmoot_protocol::{Count, ErrorCode, PopulationName, Problem, UserKey};
use folkmoot_storage::{PopulationRecord, PopulationRepository, TokenRecord, TokenRepository};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::view::TokenView;
use crate::{
    credential::Credential,
    http::{
        App,
        admin::{access::Caller, read},
    },
    refusal::Refusal,
};

/// Bytes of a user's id, at most.
const USER_BYTES_MAX: usize = 128;
/// Seconds until a token ends, at most: 100 years.
const EXPIRES_IN_MAX: u64 = 100 * 365 * 86_400;

/// A token to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// For which population it enrols; the population is made if there is none of this name.
    pub population: PopulationName,
    /// Whose devices it enrols: an id of the app's own, 1 to 128 bytes. Only its digest is stored. Where the population's
    /// unit of privacy is the user, every token names one, and all devices of a user count as one.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub user: Option<String>,
    /// How many clients it may enrol, 1 to 2^53; none for any number.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[schema(minimum = 1, maximum = 9007199254740992_u64)]
    pub uses_max: Option<u64>,
    /// After how many seconds it ends, 1 to 3,153,600,000 (100 years); none for never.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[schema(minimum = 1, maximum = 3_153_600_000_u64)]
    pub expires_in_seconds: Option<u64>,
}

/// A token that was made, with its secret. It is shown here and never again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    /// `ID.SECRET`, as clients are given it.
    pub token: String,
    /// What the list of tokens shows.
    pub record: TokenView,
}

/// Makes an enrolment token.
#[utoipa::path(
    post, path = "/v1/admin/tokens", tag = "enrolment tokens", security(("api_key" = ["operator"])),
    request_body = CreateTokenRequest,
    responses(
        (status = 201, body = CreatedToken),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn create_token(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<CreatedToken>), Refusal> {
    let request: CreateTokenRequest = read::json(&app, request).await?;
    for (field, value) in [("uses_max", request.uses_max), ("expires_in_seconds", request.expires_in_seconds)]
    {
        if value == Some(0) {
            let detail = format!("{field} is 0; it must be at least 1, or not be there");
            return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
        }
    }
    if let Some(seconds) = request.expires_in_seconds.filter(|seconds| *seconds > EXPIRES_IN_MAX) {
        let detail = format!(
            "expires_in_seconds is {seconds}; it must be at most {EXPIRES_IN_MAX} (100 years), or not be there for a token without an end"
        );
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
    }
    let (coordinator, now) = (&app.coordinator, (app.clock)());
    let organisation_id = caller.organisation_id;
    let population = coordinator.storage.ensure_population(organisation_id, &request.population, now).await?;
    let user_key = user_key(&request, &population)?;
    let token = Credential::from_random_bytes(coordinator.random_bytes(), coordinator.random_bytes());
    let record = TokenRecord {
        id: token.id.clone(),
        organisation_id,
        population: request.population,
        secret_hash: token.secret_hash(),
        user_key,
        uses_max: request.uses_max,
        uses: 0,
        expires_at: request.expires_in_seconds.map(|seconds| now.plus_seconds(seconds)),
        closed_at: None,
        revoked_at: None,
        created_at: now,
    };
    coordinator.storage.create_token(&record).await?;
    tracing::info!(token = token.id, population = %record.population, api_key = caller.api_key_id, "token created");
    let created = CreatedToken { token: token.to_string(), record: TokenView::of(record) };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Returns the key of the user that the request names.
fn user_key(request: &CreateTokenRequest, population: &PopulationRecord) -> Result<Option<UserKey>, Refusal> {
    let refuse = |detail: String| Err(Refusal::new(ErrorCode::MalformedRequest, detail));
    match &request.user {
        Some(user) if user.is_empty() || user.len() > USER_BYTES_MAX => {
            refuse(format!("user has {} bytes; it must have 1 to {USER_BYTES_MAX}", user.len()))
        }
        Some(user) => Ok(Some(UserKey::of(population.organisation_id, &population.name, user))),
        None if population.privacy.unit == Unit::User => refuse(format!(
            "population {} promises privacy to users: say whose devices the token enrols (user, --user)",
            population.name
        )),
        None => Ok(None),
    }
}
