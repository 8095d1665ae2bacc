use folkmoot_protocol::ErrorCode;
use folkmoot_storage::ModelVersionRecord;

use crate::refusal::Refusal;

/// Refuses to use a version whose weights were dropped.
///
/// # Errors
/// [`ErrorCode::ModelVersionUnknown`] if they were.
pub fn check_kept(version: &ModelVersionRecord) -> Result<(), Refusal> {
    match version.dropped_at {
        None => Ok(()),
        Some(_) => Err(Refusal::new(ErrorCode::ModelVersionUnknown, dropped(version))),
    }
}

/// Says that the weights of a version were dropped.
pub(super) fn dropped(version: &ModelVersionRecord) -> String {
    format!(
        "the weights of version {} of task {} were dropped, because the coordinator keeps only the newest and the best version, \
         and those in use (storage.keep_versions); its metrics stay. Choose a version that `folkmoot model list` shows as kept",
        version.number, version.task_id
    )
}
