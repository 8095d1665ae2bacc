use std::{sync::Arc, time::Duration};

use folkmoot_edge::ServeError;
use folkmoot_rounds::{clock::Clock, coordinator::Coordinator};
use tokio::sync::watch;

/// The time between two settlements.
const INTERVAL: Duration = Duration::from_secs(10);

/// Stores what organisations use, and reads their quotas, every ten seconds until the coordinator closes.
pub async fn run(
    coordinator: Arc<Coordinator>,
    clock: Clock,
    mut closing: watch::Receiver<bool>,
) -> Result<(), ServeError> {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let is_closing = tokio::select! {
            _ = ticks.tick() => false,
            _ = closing.wait_for(|is_closing| *is_closing) => true,
        };
        if let Err(error) = coordinator.tenants.settle(&coordinator.storage, clock()).await {
            tracing::warn!(%error, "could not store what organisations use; the next attempt is in ten seconds");
        }
        if is_closing {
            return Ok(());
        }
    }
}
