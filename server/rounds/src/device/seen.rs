use folkmoot_protocol::{Timestamp, messages::CheckInRequest};
use folkmoot_storage::{ClientRecord, SiteSoftware};

use crate::coordinator::Coordinator;

/// Records for operators that a site has sent a request, and its software if the request is a check-in. Does nothing for
/// a client of a crowd.
pub(super) async fn seen(
    coordinator: &Coordinator,
    client: &ClientRecord,
    check_in: Option<&CheckInRequest>,
    now: Timestamp,
) {
    if client.site.is_none() {
        return;
    }
    let Ok(database) = coordinator.storage.database() else { return };
    let software = check_in
        .map(|request| SiteSoftware { sdk_version: &request.sdk_version, attributes: &request.attributes });
    if let Err(error) = database.site_seen(client, software, now).await {
        // The site's request is valid nevertheless, and its next one is recorded again.
        tracing::warn!(%error, client = %client.id, "could not record when a site was last seen");
    }
}
