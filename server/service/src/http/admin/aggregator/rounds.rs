use std::time::Duration;

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::{Request, StatusCode},
};
use folkmoot_api::{
    Binary,
    rounds::aggregators::{
        AggregatorWorkRequest, AggregatorWorkView, ROUNDS_MAX, WantedSumView, WantedUpdateView,
    },
};
use folkmoot_protocol::{ErrorCode, Problem, RoundId};
use folkmoot_rounds::{
    combine::SumQuestion,
    device::{self, WantedSum},
    refusal::Refusal,
};
use tokio::{sync::Semaphore, time::Instant};
use tracing::Instrument;

use super::aggregator;
use crate::{
    http::{
        App,
        admin::{access::Caller, read},
        body,
        problem::Refused,
    },
    stage::Stage,
};

/// The interval at which a waiting request looks for work: any process may have closed the round.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// A waiting request looks for ended rounds in one of so many turns: nobody waits for that.
const ENDED_EVERY: u32 = 4;

/// The turns to receive a sum, which is in memory meanwhile.
static TURNS: Semaphore = Semaphore::const_new(2);

/// Returns the work of an edge aggregator: the sums that closed rounds wait for, and the rounds that have ended. Waits until
/// there is some.
#[utoipa::path(
    post, path = "/v1/admin/aggregator/rounds", tag = "aggregators", security(("api_key" = ["aggregator"])),
    request_body = AggregatorWorkRequest,
    responses(
        (status = 200, body = AggregatorWorkView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn find_work(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Json<AggregatorWorkView>, Refused> {
    let aggregator = aggregator(caller)?;
    let AggregatorWorkRequest { rounds, wait_seconds } = read::json(&app, request).await?;
    if rounds.len() > ROUNDS_MAX {
        let detail = format!("{} rounds are named; name at most {ROUNDS_MAX}", rounds.len());
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    let wait = Duration::from_secs(wait_seconds.into()).min(app.limits.long_poll_max);
    let end = Instant::now() + wait;
    let mut turns_until_ended = 0;
    loop {
        let ended = match turns_until_ended {
            0 => device::rounds_that_ended(&app.coordinator, &aggregator, &rounds).await?,
            _ => Vec::new(),
        };
        turns_until_ended = (turns_until_ended + 1) % ENDED_EVERY;
        let wanted = device::wanted_sums(&app.coordinator, &aggregator).await?;
        let left = end.saturating_duration_since(Instant::now());
        let is_over = left.is_zero() || *app.stage.borrow() == Stage::Closing;
        if is_over || !ended.is_empty() || !wanted.is_empty() {
            let wanted = wanted.into_iter().map(wanted_view).collect();
            return Ok(Json(AggregatorWorkView { wanted, ended }));
        }
        tokio::select! {
            () = Stage::Closing.reached(app.stage.clone()) => {}
            () = tokio::time::sleep(left.min(LOOK_AGAIN)) => {}
        }
    }
}

fn wanted_view((round_id, question): (RoundId, SumQuestion)) -> WantedSumView {
    let updates = question
        .updates
        .iter()
        .map(|one| WantedUpdateView { assignment_id: one.assignment_id, factor_bits: one.factor_bits });
    WantedSumView { round_id, task_id: question.task_id, updates: updates.collect() }
}

/// Takes an edge aggregator's sum of a round. The same sum can be sent again.
#[utoipa::path(
    post, path = "/v1/admin/aggregator/rounds/{id}/sum", tag = "aggregators", security(("api_key" = ["aggregator"])),
    params(("id" = String, Path, description = "The round's id")),
    request_body(content = Binary, content_type = "application/octet-stream", description = "8 bytes for the kind of the sum, then a little-endian integer of 8 bytes for each value"),
    responses(
        (status = 204, description = "The sum is safe"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn take_sum(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<StatusCode, Refused> {
    let aggregator = aggregator(caller)?;
    let id: RoundId = read::id(&id, ErrorCode::ResourceUnknown)?;
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    let Some(wanted) = WantedSum::of(&app.coordinator, &aggregator, id).await? else {
        return Ok(StatusCode::NO_CONTENT);
    };
    let turn = TURNS.acquire().await;
    let bytes = body::receive(&app, body, "the length of the model", wanted.bytes()).await?;
    let (coordinator, now) = (app.coordinator.clone(), (app.clock)());
    coordinator.tenants.received(aggregator.organisation_id, bytes.len() as u64, now);
    // A separate task: it finishes even if the aggregator disconnects.
    let taking = async move { wanted.take(&coordinator, &bytes).await };
    let taken = tokio::spawn(taking.in_current_span()).await;
    drop(turn);
    taken.map_err(|error| Refusal::internal(&error))??;
    Ok(StatusCode::NO_CONTENT)
}
