//! Shared parts of long polls: the maximum wait, and the wake-up.

use std::time::Duration;

use axum::extract::{Query, rejection::QueryRejection};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;
use serde::Deserialize;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep},
};

use crate::{http::App, stage::Stage};

/// The interval at which a waiting poll checks the database again, in case another process changed the data.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The query of a long poll.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitQuery {
    #[serde(default)]
    wait_seconds: u32,
}

/// A parsed query, or axum's reason for rejecting it.
pub type ReadQuery = Result<Query<WaitQuery>, QueryRejection>;

/// Returns the time that a request may wait: the requested time, limited to `long_poll_max`.
pub fn wait_of(query: ReadQuery, app: &App) -> Result<Duration, Refusal> {
    let malformed = |error: QueryRejection| Refusal::new(ErrorCode::MalformedRequest, error.body_text());
    Ok(within(query.map_err(malformed)?.wait_seconds, app))
}

/// Returns the requested time, limited to `long_poll_max`.
pub fn within(seconds: u32, app: &App) -> Duration {
    Duration::from_secs(u64::from(seconds)).min(app.limits.long_poll_max)
}

/// Waits until the poll is woken or must check again. Returns whether it should continue: `false` if its time is over
/// or the coordinator is shutting down.
pub async fn goes_on(waiter: &Notify, stage: &watch::Receiver<Stage>, end: Instant) -> bool {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() || *stage.borrow() == Stage::Closing {
        return false;
    }
    tokio::select! {
        () = waiter.notified() => {}
        () = Stage::Closing.reached(stage.clone()) => {}
        () = sleep(left.min(LOOK_AGAIN)) => {}
    }
    true
}
