use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_api::tokens::{CreateTokenRequest, CreatedToken};
use folkmoot_coordinator::ClientKind;
use folkmoot_privacy::Unit;
use folkmoot_protocol::{ErrorCode, Problem, Timestamp, UserKey};
use folkmoot_rounds::{credential::Credential, device::check_keys, refusal::Refusal};
use folkmoot_storage::{PopulationRecord, PopulationRepository, TokenRecord, TokenRepository};

use crate::http::{
    App,
    admin::{access::Caller, read, tokens::view::token_view},
    problem::Refused,
};

/// The maximum length of a user's id, in bytes.
const USER_BYTES_MAX: usize = 128;
/// The default number of clients that a token enrols.
pub(crate) const USES_DEFAULT: u64 = 1_000;
/// The default lifetime of a token, in seconds: 30 days.
pub(crate) const EXPIRES_IN_DEFAULT: u64 = 30 * 86_400;
/// The maximum lifetime of a token or an API key, in seconds: 100 years.
pub(crate) const EXPIRES_IN_MAX: u64 = 100 * 365 * 86_400;

/// The number of clients that a request allows to enrol.
enum Uses {
    Default,
    AtMost(u64),
    Unlimited,
}

impl Uses {
    /// Returns the maximum for a kind of clients; `None` for no limit. A site has one client.
    fn max_of(self, clients: ClientKind) -> Option<u64> {
        match (self, clients) {
            (Uses::Unlimited, _) => None,
            (Uses::AtMost(uses), _) => Some(uses),
            (Uses::Default, ClientKind::Sites) => Some(1),
            (Uses::Default, ClientKind::Crowd) => Some(USES_DEFAULT),
        }
    }
}

fn uses(request: &CreateTokenRequest) -> Result<Uses, Refusal> {
    match (request.uses_max, request.unlimited_uses) {
        (Some(0), _) => malformed(format!(
            "uses_max is 0; it must be at least 1. Omit uses_max for the default of {USES_DEFAULT}, or set unlimited_uses for no limit"
        )),
        (Some(uses), true) => malformed(format!(
            "uses_max is {uses} and unlimited_uses is set, which contradict each other; set only one of the two"
        )),
        (Some(uses), false) => Ok(Uses::AtMost(uses)),
        (None, true) => Ok(Uses::Unlimited),
        (None, false) => Ok(Uses::Default),
    }
}

/// Returns the expiry of a token created at `now`; `None` if it never expires.
fn expires_at(request: &CreateTokenRequest, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    match (request.expires_in_seconds, request.no_expiry) {
        (Some(0), _) => malformed(format!(
            "expires_in_seconds is 0; it must be at least 1. Omit expires_in_seconds for the default of \
             {EXPIRES_IN_DEFAULT} (30 days), or set no_expiry for no limit"
        )),
        (Some(seconds), _) if seconds > EXPIRES_IN_MAX => malformed(format!(
            "expires_in_seconds is {seconds}; it must be at most {EXPIRES_IN_MAX} (100 years). Set no_expiry for a token \
             that never expires"
        )),
        (Some(seconds), true) => malformed(format!(
            "expires_in_seconds is {seconds} and no_expiry is set, which contradict each other; set only one of the two"
        )),
        (None, true) => Ok(None),
        (seconds, false) => Ok(Some(now.plus_seconds(seconds.unwrap_or(EXPIRES_IN_DEFAULT)))),
    }
}

fn malformed<T>(detail: String) -> Result<T, Refusal> {
    Err(Refusal::new(ErrorCode::MalformedRequest, detail))
}

/// Creates an enrolment token. The response is the only one that contains its secret.
#[utoipa::path(
    post, path = "/v1/admin/tokens", tag = "enrolment tokens", security(("api_key" = ["operator"])),
    request_body = CreateTokenRequest,
    responses(
        (status = 201, body = CreatedToken),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_token(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<CreatedToken>), Refused> {
    let request: CreateTokenRequest = read::json(&app, request).await?;
    let (coordinator, now) = (&app.coordinator, (app.clock)());
    let expires_at = expires_at(&request, now)?;
    let uses = uses(&request)?;
    check_keys(&request.jwt_keys).or_else(malformed)?;
    let organisation_id = caller.organisation_id;
    let population = coordinator.storage.ensure_population(organisation_id, &request.population, now).await?;
    let uses_max = uses.max_of(population.clients);
    let user_key = user_key(&request, &population)?;
    let token = Credential::from_random_bytes(coordinator.random_bytes(), coordinator.random_bytes());
    let (name, jwt_keys) = (site_name(&request, &population)?, request.jwt_keys);
    // Nobody knows a secret with the hash zero: only JWTs enrol with such a token.
    let secret_hash = if jwt_keys.is_empty() { token.secret_hash() } else { [0; 32] };
    let shown = if jwt_keys.is_empty() { token.to_string() } else { token.id.clone() };
    let record = TokenRecord {
        name,
        secret_hash,
        jwt_keys,
        user_key,
        uses_max,
        expires_at,
        ..TokenRecord::unlimited(token.id.clone(), organisation_id, request.population, now)
    };
    coordinator.storage.create_token(&record).await?;
    tracing::info!(token = token.id, population = %record.population, by = %caller.who, "token created");
    if record.uses_max.is_none() {
        tracing::warn!(token = token.id, "created a token without a limit on the number of clients");
    }
    if record.expires_at.is_none() {
        tracing::warn!(
            token = token.id,
            "created a token that never expires; it enrols clients until it is revoked"
        );
    }
    let created = CreatedToken { token: shown, record: token_view(record) };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Returns the token's name, which a population of sites needs.
fn site_name(request: &CreateTokenRequest, population: &PopulationRecord) -> Result<Option<String>, Refusal> {
    match &request.name {
        None if population.clients == ClientKind::Sites => malformed(format!(
            "the clients of {} are named sites, so the token must name one; set name (--name) to the site's name",
            population.name
        )),
        name => Ok(name.clone().map(String::from)),
    }
}

/// Returns the key of the user that the request names.
fn user_key(request: &CreateTokenRequest, population: &PopulationRecord) -> Result<Option<UserKey>, Refusal> {
    match &request.user {
        Some(_) if !request.jwt_keys.is_empty() => {
            malformed("user is set, but the subject of each JWT names the user; omit user or jwt_keys".into())
        }
        Some(user) if user.is_empty() || user.len() > USER_BYTES_MAX => {
            malformed(format!("user has {} bytes; it must have 1 to {USER_BYTES_MAX}", user.len()))
        }
        Some(user) => Ok(Some(UserKey::of(population.organisation_id, &population.name, user))),
        None if population.privacy.unit == Unit::User && request.jwt_keys.is_empty() => malformed(format!(
            "population {} protects users, so the token must name one; set user (--user) to the owner of the devices",
            population.name
        )),
        None => Ok(None),
    }
}
