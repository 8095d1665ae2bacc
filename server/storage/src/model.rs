use async_trait::async_trait;
use folkmoot_protocol::{BlobDigest, OrganisationId, TensorSchema, Timestamp};

use crate::StorageError;

/// An ONNX model that an organisation uploaded. The file and its initial weights are stored as blobs.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRecord {
    /// The organisation that uploaded the model.
    pub organisation_id: OrganisationId,
    /// The display name.
    pub name: Option<String>,
    /// The ONNX file.
    pub model: BlobDigest,
    /// The ONNX file's size in bytes.
    pub model_bytes: u64,
    /// The initial weights: float32, little-endian, in the schema's order.
    pub weights: BlobDigest,
    /// The model's trainable tensors.
    pub schema: TensorSchema,
    /// When the model was uploaded.
    pub created_at: Timestamp,
}

/// Stores models.
#[async_trait]
pub trait ModelRepository {
    /// Stores a model. Storing the same model again changes at most its name, if one is given.
    async fn create_model(&self, model: &ModelRecord) -> Result<(), StorageError>;

    /// Finds the organisation's model with this ONNX file.
    async fn model(
        &self,
        organisation_id: OrganisationId,
        model: BlobDigest,
    ) -> Result<Option<ModelRecord>, StorageError>;

    /// Lists the organisation's models, newest first, at most `limit`.
    async fn models(
        &self,
        organisation_id: OrganisationId,
        limit: u32,
    ) -> Result<Vec<ModelRecord>, StorageError>;
}
