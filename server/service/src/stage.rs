//! The stages in which a coordinator stops.

use tokio::sync::watch;

/// The stage of a running coordinator. It only advances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The coordinator does all its work.
    #[default]
    Serving,
    /// The coordinator is not ready and has given its tasks to other processes, but still answers every request.
    Draining,
    /// The coordinator accepts no connections, and ends long polls and event streams.
    Closing,
}

impl Stage {
    /// Waits until `stages` has reached this stage, or nobody can advance it any more.
    pub async fn reached(self, mut stages: watch::Receiver<Self>) {
        // An error means that the sender is gone, and with it the coordinator.
        let _ = stages.wait_for(|stage| *stage >= self).await;
    }
}
