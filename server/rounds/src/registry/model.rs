use bytes::Bytes;
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_protocol::{BlobDigest, ErrorCode, OrganisationId, TensorSchema, Timestamp};
use folkmoot_storage::{Holdings, ModelRecord, ModelRepository};
use folkmoot_training::schema_of;

use super::quota::check_quotas;
use crate::{coordinator::Coordinator, in_place::in_place, refusal::Refusal};

/// Stores an ONNX model. If the organisation already has the same model, this changes nothing.
///
/// # Errors
/// Fails if the model cannot be read or trained, is larger than `model_bytes_max`, or exceeds the organisation's quota.
pub async fn create_model(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    onnx: Bytes,
    model_bytes_max: usize,
    now: Timestamp,
) -> Result<ModelRecord, Refusal> {
    create_named_model(coordinator, organisation_id, None, onnx, model_bytes_max, now).await
}

/// Stores an ONNX model under a display name. If the organisation already has the same model, this changes at most its name.
///
/// # Errors
/// As for [`create_model`].
pub async fn create_named_model(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    name: Option<String>,
    onnx: Bytes,
    model_bytes_max: usize,
    now: Timestamp,
) -> Result<ModelRecord, Refusal> {
    let limits = ImportLimits { model_bytes_max, ..ImportLimits::default() };
    let bytes = onnx.clone();
    let read = tokio::task::spawn_blocking(move || import(&bytes, &limits)).await;
    let (schema, weights) = read.map_err(|error| Refusal::internal(&error))??;
    let model_bytes = onnx.len() as u64;
    let more = Holdings { stored_bytes: model_bytes, ..Holdings::default() };
    if let Err(refusal) = check_quotas(coordinator, organisation_id, more).await {
        // The same model again needs no space.
        let digest = in_place(|| BlobDigest::of(&onnx));
        coordinator.storage.model(organisation_id, digest).await?.ok_or(refusal)?;
    }
    let model = coordinator.blobs.put(onnx).await?;
    let weights = coordinator.blobs.put(weights).await?;
    let record = ModelRecord { name, organisation_id, model, model_bytes, weights, schema, created_at: now };
    coordinator.storage.create_model(&record).await?;
    Ok(record)
}

/// Parses an ONNX model. Returns the schema of its trainable tensors and the bytes of their values.
fn import(onnx: &[u8], limits: &ImportLimits) -> Result<(TensorSchema, Bytes), Refusal> {
    let model = Model::from_onnx(onnx, limits)
        .map_err(|error| Refusal::new(ErrorCode::ModelInvalid, error.to_string()))?;
    let schema = schema_of(&model);
    schema.validate().map_err(|error| Refusal::new(ErrorCode::ModelInvalid, error.to_string()))?;
    let weights: Vec<u8> = model.initial_weights().into_iter().flat_map(f32::to_le_bytes).collect();
    Ok((schema, weights.into()))
}
