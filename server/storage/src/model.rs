use std::future::Future;

use folkmoot_protocol::{BlobDigest, OrganisationId, TensorSchema, Timestamp};

use crate::StorageError;

/// An ONNX model that an organisation brought. Its bytes, and those of its first weights, are blobs.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRecord {
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// The ONNX file.
    pub model: BlobDigest,
    /// The ONNX file's bytes.
    pub model_bytes: u64,
    /// The weights that it came with: float32, little-endian, in the schema's order.
    pub weights: BlobDigest,
    /// Its trainable tensors.
    pub schema: TensorSchema,
    /// When it was brought.
    pub created_at: Timestamp,
}

/// Models.
pub trait ModelRepository {
    /// Stores a model; the same one again changes nothing.
    fn create_model(&self, model: &ModelRecord) -> impl Future<Output = Result<(), StorageError>> + Send;

    /// Finds the organisation's model with this ONNX file.
    fn model(
        &self,
        organisation_id: OrganisationId,
        model: BlobDigest,
    ) -> impl Future<Output = Result<Option<ModelRecord>, StorageError>> + Send;

    /// Lists the organisation's models, newest first, at most `limit`.
    fn models(
        &self,
        organisation_id: OrganisationId,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<ModelRecord>, StorageError>> + Send;
}
