use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use folkmoot_edge::ServeError;
use folkmoot_rounds::{audit_retention, clock::Clock, coordinator::Coordinator};

/// The time between two settlements.
const INTERVAL: Duration = Duration::from_secs(10);
/// The interval at which old entries of audit logs are removed.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);

/// Stores the usage of organisations, and reads their quotas, every ten seconds until `closed`. Removes old entries of
/// audit logs at the start and every hour.
pub async fn run(
    coordinator: Arc<Coordinator>,
    clock: Clock,
    closed: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let mut closed = pin!(closed);
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // A long removal delays neither settlements nor the end.
    let mut pruning = pin!(prune_hourly(&coordinator, &clock));
    loop {
        tokio::select! {
            _ = ticks.tick() => settle(&coordinator, &clock).await,
            never = &mut pruning => match never {},
            () = &mut closed => return Ok(()),
        }
    }
}

/// Stores the usage of organisations since the last call.
pub async fn settle(coordinator: &Coordinator, clock: &Clock) {
    if let Err(error) = coordinator.tenants.settle(&coordinator.storage, clock()).await {
        tracing::warn!(%error, "could not store what organisations use; the next attempt is in ten seconds");
    }
    if let Err(error) = coordinator.last_uses.store(&coordinator.storage).await {
        tracing::warn!(%error, "could not store when API keys and sessions were used; their next uses are stored");
    }
}

async fn prune_hourly(coordinator: &Coordinator, clock: &Clock) -> Infallible {
    let mut hours = tokio::time::interval(PRUNE_INTERVAL);
    loop {
        hours.tick().await;
        if let Err(error) = audit_retention::prune(coordinator, clock()).await {
            tracing::error!(%error, "could not remove old entries of audit logs; the next attempt is in an hour");
        }
    }
}
