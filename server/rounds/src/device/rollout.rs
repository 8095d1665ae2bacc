use folkmoot_protocol::{
    BlobDigest, ChannelName, ErrorCode, Timestamp, is_control,
    limits::TEXT_BYTES_MAX,
    messages::{Artifact, Rollout, RolloutReport},
};
use folkmoot_storage::{
    ClientRecord, EndorsementRepository, RolloutRecord, StorageError,
    audit::{Actor, on_behalf_of},
};

use super::seen::seen;
use crate::{coordinator::Coordinator, refusal::Refusal};

/// Returns the model that is rolled out to a client: that of the channel's newest rollout that is not held and whose share
/// includes the client.
///
/// # Errors
/// Fails if the storage fails.
pub async fn rollout_for(
    coordinator: &Coordinator,
    client: &ClientRecord,
    channel: &ChannelName,
    now: Timestamp,
) -> Result<Option<Rollout>, Refusal> {
    seen(coordinator, client, None, now).await;
    let Some(rollout) = chosen(coordinator, client, channel).await? else { return Ok(None) };
    let (catalog, storage) = (&coordinator.catalog, &coordinator.storage);
    let task = catalog.task(storage, rollout.task_id).await?;
    let version = catalog.version(storage, rollout.task_id, rollout.version).await?;
    Ok(Some(Rollout {
        number: rollout.number,
        task_id: task.id,
        version: version.number,
        plan: Artifact { digest: task.plan, bytes: task.plan_bytes },
        model: Artifact { digest: task.model, bytes: task.model_bytes },
        weights: Artifact { digest: version.weights, bytes: version.weights_bytes },
        endorsement: storage.endorsement(task.id).await?,
    }))
}

/// Returns whether a blob is one of a model that is rolled out to a client, in any channel.
pub(super) async fn is_rolled_out(
    coordinator: &Coordinator,
    client: &ClientRecord,
    digest: BlobDigest,
) -> Result<bool, Refusal> {
    let (catalog, storage) = (&coordinator.catalog, &coordinator.storage);
    let Ok(database) = storage.database() else { return Ok(false) };
    for channel in database.rollout_channels(client.organisation_id, &client.population).await? {
        let Some(rollout) = chosen(coordinator, client, &channel).await? else { continue };
        let task = catalog.task(storage, rollout.task_id).await?;
        if [task.plan, task.model].contains(&digest)
            || catalog.version(storage, rollout.task_id, rollout.version).await?.weights == digest
        {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn chosen(
    coordinator: &Coordinator,
    client: &ClientRecord,
    channel: &ChannelName,
) -> Result<Option<RolloutRecord>, Refusal> {
    let Ok(database) = coordinator.storage.database() else { return Ok(None) };
    let open = database.open_rollouts(client.organisation_id, &client.population, channel).await?;
    let includes =
        |rollout: &RolloutRecord| rollout.share.includes(&client.population, rollout.number, client.id);
    Ok(open.into_iter().find(includes))
}

/// Counts whether a client could use a model that was rolled out to it. If too many clients could not, holds the rollout.
///
/// # Errors
/// [`ErrorCode::ResourceUnknown`] if there is no such rollout in the client's population. Also fails if the text is too long,
/// or the storage fails.
pub async fn report_rollout(
    coordinator: &Coordinator,
    client: &ClientRecord,
    report: &RolloutReport,
    now: Timestamp,
) -> Result<(), Refusal> {
    if report.failure.as_ref().is_some_and(|failure| failure.len() > TEXT_BYTES_MAX) {
        let detail = format!("failure is too long: the limit is {TEXT_BYTES_MAX} bytes; shorten it");
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
    }
    seen(coordinator, client, None, now).await;
    let database = coordinator.storage.database()?;
    let population = &client.population;
    let unknown = || {
        let detail = format!("population {population} has no rollout {}", report.number);
        Refusal::new(ErrorCode::ResourceUnknown, detail)
    };
    let found = database.rollout(client.organisation_id, population, report.number).await?;
    if found.ok_or_else(unknown)?.held.is_some() {
        return Ok(());
    }
    let _turn = coordinator.tenants.turn(client.organisation_id).await;
    // PostgreSQL stores no NUL, and operators read the text in a line of a table.
    let plain =
        |failure: &String| failure.chars().map(|one| if is_control(one) { ' ' } else { one }).collect();
    let failure: Option<String> = report.failure.as_ref().map(plain);
    let actor = Actor { by: "coordinator (failed devices)".to_owned(), from: None, at: now };
    let counted =
        on_behalf_of(actor, database.report_rollout(client, report.number, failure.as_deref())).await;
    let held = counted.map_err(|error| match error {
        StorageError::NotFound(_) => unknown(),
        error => error.into(),
    })?;
    if let Some(RolloutRecord { population, number, channel, held: Some(reason), .. }) = held {
        tracing::warn!(%population, number, %channel, reason, "a rollout was held; its devices return to the one before it");
    }
    Ok(())
}
