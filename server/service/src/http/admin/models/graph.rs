use axum::{
    Extension, Json,
    extract::{Path, State},
    http::{HeaderName, header::CACHE_CONTROL},
    response::IntoResponse,
};
use bytes::Bytes;
use folkmoot_api::models::{InputView, ModelGraphView, NodeView, ParameterView};
use folkmoot_engine::{
    ImportLimits, InspectedInput, Inspection, LocalOptimizer, Loss, Model, ModelNode, TrainingPlan,
};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::ModelRepository;
use tokio::sync::Semaphore;

use crate::http::{
    App,
    admin::{access::Caller, called},
    problem::Refused,
};

/// Lets only one request at a time read a model, because large models need much memory.
static READING: Semaphore = Semaphore::const_new(1);
/// A blob named by its digest never changes.
const CACHING: (HeaderName, &str) = (CACHE_CONTROL, "private, max-age=31536000, immutable");
/// The maximum number of nodes in a response.
const NODES_MAX: usize = 5_000;

/// Returns the contents of a model's file: its nodes, parameters and cost.
#[utoipa::path(
    get, path = "/v1/admin/models/{digest}/graph", tag = "models", security(("api_key" = ["viewer"])),
    params(("digest" = String, Path, description = "The model's digest, the beginning of its digest, or its name")),
    responses(
        (status = 200, body = ModelGraphView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_graph(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(text): Path<String>,
) -> Result<impl IntoResponse, Refused> {
    let digest = called::model(&app, &caller, &text).await?;
    let found = app.coordinator.storage.model(caller.organisation_id, digest).await?;
    if found.is_none() {
        return Err(Refusal::new(ErrorCode::ResourceUnknown, format!("there is no model {digest}")).into());
    }
    let _turn = READING.acquire().await.map_err(|error| Refusal::internal(&error))?;
    let onnx = app.coordinator.blobs.get(digest).await?;
    let shown = tokio::task::spawn_blocking(move || graph(&onnx)).await;
    let shown = shown.map_err(|error| Refusal::internal(&error))??;
    // Later, this name or beginning of a digest may belong to another model.
    let caching = if text.parse() == Ok(digest) { CACHING } else { (CACHE_CONTROL, "private, no-cache") };
    Ok(([caching], Json(shown)))
}

fn graph(onnx: &Bytes) -> Result<ModelGraphView, Refusal> {
    let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
    let model = Model::from_onnx(onnx, &limits).map_err(|error| Refusal::internal(&error))?;
    let optimizer =
        LocalOptimizer::Sgd { learning_rate: 0.1, momentum: 0.0, nesterov: false, weight_decay: 0.0 };
    // The loss contributes little to the cost, and squared error fits every output.
    let output = Some(model.output_name().to_owned());
    let plan = TrainingPlan { output, batch_size: 1, ..TrainingPlan::new(Loss::MeanSquaredError, optimizer) };
    let inspection = Inspection::new(&model, &plan).map_err(|error| Refusal::internal(&error))?;
    let parameter = |one: folkmoot_engine::InspectedParameter| ParameterView {
        name: one.name,
        shape: one.shape,
        role: one.role.to_owned(),
    };
    let node = |ModelNode { name, operator, inputs, outputs }| NodeView { name, operator, inputs, outputs };
    let input =
        |one: InspectedInput| InputView { name: one.name, shape: one.shape, length_axis: one.length_axis };
    Ok(ModelGraphView {
        inputs: inspection.inputs.into_iter().map(input).collect(),
        input_shape: inspection.input_shape,
        output_shape: inspection.output_shape,
        parameter_count: model.parameter_count() as u64,
        model_bytes: onnx.len() as u64,
        operators: inspection.operators,
        parameters: inspection.parameters.into_iter().map(parameter).collect(),
        nodes: model.nodes().into_iter().take(NODES_MAX).map(node).collect(),
        forward_flops: inspection.forward.flops,
        training_flops: inspection.step.flops,
    })
}
