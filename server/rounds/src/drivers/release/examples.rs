//! Reads the operator's examples for an aggregator that computes on them.

use bytes::Bytes;
use folkmoot_storage::{StorageError, TaskRecord};

use crate::{
    combine::{GuideError, MakeError, OwnExamples},
    coordinator::Coordinator,
    drivers::DriveError,
    registry::{OwnDivided, WholeVersion, evaluation_data},
};

/// Returns the examples on which the task's aggregator computes, and the model with these `weights` of a version. Returns `None` if the aggregator
/// uses no examples.
///
/// # Errors
/// Fails if the blob store fails, or a blob cannot be read.
pub async fn examples(
    coordinator: &Coordinator,
    task: &TaskRecord,
    weights: Bytes,
) -> Result<Option<OwnExamples>, DriveError> {
    if task.description.aggregator.own_examples().is_none() {
        return Ok(None);
    }
    let data = task.evaluation_data.ok_or(StorageError::NotFound("examples of the operator"))?;
    let onnx = coordinator.blobs.get(task.model).await?;
    let data = coordinator.blobs.get(data).await?;
    let (description, schema) = (task.description.clone(), task.schema.clone());
    let read = tokio::task::spawn_blocking(move || -> Result<OwnExamples, String> {
        let whole = WholeVersion::read(&onnx, &weights, &description.plan, &schema, None);
        let WholeVersion { model, part, weights } = whole.map_err(|error| error.to_string())?;
        let examples = evaluation_data::read(&data).map_err(|error| error.to_string())?;
        let divided = OwnDivided::of(&description, examples).map_err(|error| error.to_string())?;
        Ok(OwnExamples { model, part, weights, examples: divided.guiding })
    });
    let read = read.await?.map_err(|detail| MakeError::Guide(GuideError::Unreadable(detail)))?;
    Ok(Some(read))
}
