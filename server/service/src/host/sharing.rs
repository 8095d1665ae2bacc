//! The coordinators that share a database with this one.

use std::sync::Arc;

use folkmoot_edge::ServeError;
use folkmoot_processes::{ProcessRecord, ProcessTable};
use folkmoot_protocol::Timestamp;
use folkmoot_rounds::coordinator::Coordinator;
use tokio::sync::oneshot;

use super::{HostConfig, HostError};

/// Registers this coordinator among those that share its database.
pub(super) async fn join(table: Option<&ProcessTable>, own: &ProcessRecord) -> Result<(), HostError> {
    let Some(table) = table else { return Ok(()) };
    match folkmoot_processes::join(table, own).await? {
        None => Ok(()),
        Some(other) => Err(HostError::OtherPlace { id: other.id, place: other.place }),
    }
}

/// Shares the database with other coordinators until this one is `closing`.
pub(super) async fn share(
    coordinator: Arc<Coordinator>,
    table: ProcessTable,
    own: ProcessRecord,
    given_up: oneshot::Receiver<()>,
    closing: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    folkmoot_processes::run(coordinator, table, own, given_up, closing).await;
    Ok(())
}

/// Describes this run of the coordinator to the others that share its database.
pub(super) fn this_process(config: &HostConfig, id: &str, now: Timestamp) -> ProcessRecord {
    ProcessRecord {
        id: id.to_owned(),
        start_id: format!("{id}-{:x}-{:x}", now.0, std::process::id()),
        place: match &config.objects {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("the data folder of {id}"),
        },
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
