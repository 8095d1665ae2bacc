use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use bytes::{Bytes, BytesMut};
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_protocol::{BlobDigest, ErrorCode, Problem, TensorSchema, TensorSpec};
use folkmoot_storage::{ModelRecord, ModelRepository};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    http::{App, admin::access::Caller, body, openapi::Binary},
    refusal::Refusal,
};

/// A model that was read, checked and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelView {
    /// The ONNX file's digest, by which tasks name it.
    pub model: BlobDigest,
    /// The ONNX file's bytes.
    pub model_bytes: u64,
    /// How many values are trained.
    pub parameter_count: u64,
    /// The trainable tensors.
    pub schema: TensorSchema,
}

/// Keeps an ONNX model. The same one again changes nothing.
#[utoipa::path(
    post, path = "/v1/admin/models", tag = "models", security(("api_key" = ["operator"])),
    request_body(content = Binary, content_type = "application/octet-stream", description = "The ONNX file"),
    responses(
        (status = 201, body = ModelView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn create_model(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<ModelView>), Refusal> {
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    let onnx = receive(&app, body).await?;
    let limits = ImportLimits { model_bytes_max: app.limits.model_bytes_max, ..ImportLimits::default() };
    let bytes = onnx.clone();
    let read = tokio::task::spawn_blocking(move || import(&bytes, &limits)).await;
    let (schema, weights) = read.map_err(|error| Refusal::internal(&error))??;

    let coordinator = &app.coordinator;
    let model_bytes = onnx.len() as u64;
    let model = coordinator.blobs.put(onnx).await?;
    let weights = coordinator.blobs.put(weights).await?;
    let record = ModelRecord {
        organisation_id: caller.organisation_id,
        model,
        model_bytes,
        weights,
        schema: schema.clone(),
        created_at: (app.clock)(),
    };
    coordinator.storage.create_model(&record).await?;
    tracing::info!(%model, model_bytes, api_key = caller.api_key_id, "model created");
    let view = ModelView { model, model_bytes, parameter_count: schema.parameter_count(), schema };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Receives a model. It may take long, but not without a byte.
async fn receive(app: &App, mut body: Body) -> Result<Bytes, Refusal> {
    let (bytes_max, idle) = (app.limits.model_bytes_max, app.limits.upload_idle_timeout);
    let late = |_| Refusal::new(ErrorCode::RequestTimeout, format!("no byte arrived for {idle:?}"));
    let mut whole = BytesMut::new();
    while let Some(frame) = tokio::time::timeout(idle, body.frame()).await.map_err(late)? {
        let Ok(data) = frame.map_err(body::broken)?.into_data() else { continue };
        if whole.len() + data.len() > bytes_max {
            let detail = format!("the model is above {bytes_max} bytes, the limit `limits.model_bytes_max`");
            return Err(Refusal::new(ErrorCode::PayloadTooLarge, detail));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// Reads ONNX into the schema of what it trains and the bytes of its weights.
fn import(onnx: &[u8], limits: &ImportLimits) -> Result<(TensorSchema, Bytes), Refusal> {
    let model = Model::from_onnx(onnx, limits)
        .map_err(|error| Refusal::new(ErrorCode::ModelInvalid, error.to_string()))?;
    let tensors = model.parameters().iter().map(|parameter| TensorSpec {
        name: parameter.name.clone(),
        shape: parameter.shape.iter().map(|&dimension| dimension as u64).collect(),
    });
    let schema = TensorSchema { tensors: tensors.collect() };
    schema.validate().map_err(|error| Refusal::new(ErrorCode::ModelInvalid, error.to_string()))?;
    let weights: Vec<u8> = model.initial_weights().into_iter().flat_map(f32::to_le_bytes).collect();
    Ok((schema, weights.into()))
}
