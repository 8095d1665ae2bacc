use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use folkmoot_protocol::secure::CommitteeRefusal;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use crate::{Member, MemberError};

/// Limits on the work of a member.
#[derive(Clone, Copy, Debug)]
pub struct MemberLimits {
    /// The largest request, in bytes. A client takes about 1 kB, and the plan about 100 bytes for each tensor.
    pub request_bytes_max: usize,
    /// The number of requests that are answered at the same time. Each sum needs up to 16 bytes for each value.
    pub concurrency: usize,
}

impl Default for MemberLimits {
    fn default() -> Self {
        Self { request_bytes_max: 64 << 20, concurrency: 2 }
    }
}

#[derive(Clone)]
struct App {
    member: Arc<Member>,
    turns: Arc<Semaphore>,
}

/// Creates the router of a member's endpoints.
pub fn router(member: Arc<Member>, limits: MemberLimits) -> Router {
    let app = App { member, turns: Arc::new(Semaphore::new(limits.concurrency)) };
    Router::new()
        .route("/v1/committee/check", post(check))
        .route("/v1/committee/agree", post(agree))
        .route("/v1/committee/sum", post(sum))
        .layer(DefaultBodyLimit::max(limits.request_bytes_max))
        // Before a body is read.
        .layer(middleware::from_fn_with_state(app.clone(), authorise))
        .route("/healthz", get(async || "ok"))
        .with_state(app)
}

async fn check(State(app): State<App>, body: Bytes) -> Result<Response, Refused> {
    answer(app, body, |member, round| Ok(Json(member.check(&round)?).into_response())).await
}

async fn agree(State(app): State<App>, body: Bytes) -> Result<Response, Refused> {
    answer(app, body, |member, round| Ok(Json(member.agree(&round)?).into_response())).await
}

async fn sum(State(app): State<App>, body: Bytes) -> Result<Response, Refused> {
    answer(app, body, |member, question| Ok(member.sum(&question)?.into_response())).await
}

/// Waits for a turn, and computes the answer on a thread that may be busy.
async fn answer<T: DeserializeOwned + Send + 'static>(
    app: App,
    body: Bytes,
    find: fn(&Member, T) -> Result<Response, MemberError>,
) -> Result<Response, Refused> {
    let Ok(turn) = app.turns.acquire_owned().await else { return Err(Refused::internal("the member stops")) };
    let found = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let question = serde_json::from_slice(&body)
            .map_err(|error| Refused::new(StatusCode::BAD_REQUEST, "malformed", error))?;
        find(&app.member, question).map_err(Refused::from)
    });
    found.await.unwrap_or_else(|error| Err(Refused::internal(error)))
}

/// Compares digests of the tokens, so that the time of the comparison reveals nothing.
async fn authorise(State(app): State<App>, request: Request, next: Next) -> Result<Response, Refused> {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if blake3::hash(given.as_bytes()) == blake3::hash(app.member.token().as_bytes()) {
        return Ok(next.run(request).await);
    }
    let detail = "the access token is missing or wrong; the member's file `token` has it";
    Err(Refused::new(StatusCode::UNAUTHORIZED, "token", detail))
}

/// A refusal as a response.
struct Refused {
    status: StatusCode,
    refusal: CommitteeRefusal,
}

impl Refused {
    fn new(status: StatusCode, code: &str, detail: impl ToString) -> Self {
        let refusal = CommitteeRefusal { code: code.to_owned(), detail: detail.to_string() };
        Self { status, refusal }
    }

    fn internal(error: impl ToString) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error)
    }
}

impl From<MemberError> for Refused {
    fn from(error: MemberError) -> Self {
        let status = match error {
            MemberError::File(_) => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::CONFLICT,
        };
        Self::new(status, error.code(), error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self { status, refusal } = self;
        tracing::warn!(code = %refusal.code, detail = %refusal.detail, "a question was refused");
        (status, Json(refusal)).into_response()
    }
}
