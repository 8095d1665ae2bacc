//! The initial state of a task: its model, the tensors that travel, and the values of these tensors in version 0.

use bytes::Bytes;
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{ImportLimits, Model, Travelling};
use folkmoot_protocol::{BlobDigest, TensorSchema, Timestamp, TrainingPlan};
use folkmoot_storage::{ModelRecord, ModelVersionRecord, TaskRecord};

use super::{create_model, version::WholeVersion};
use crate::{coordinator::Coordinator, refusal::Refusal};

/// A version of another task. A new task starts from its weights.
pub struct WarmStartFrom {
    pub task: TaskRecord,
    pub version: ModelVersionRecord,
}

/// The stored initial state of a task.
pub struct Beginning {
    /// The model. Its file contains the values of all tensors that do not travel.
    pub model: ModelRecord,
    /// The tensors that travel between coordinator and clients.
    pub schema: TensorSchema,
    /// The values of these tensors in version 0.
    pub weights: BlobDigest,
}

/// A version of another task, as stored.
struct Stored {
    onnx: Bytes,
    weights: Bytes,
    plan: TrainingPlan,
    schema: TensorSchema,
}

/// The initial state of a task, before it is stored.
struct Computed {
    schema: TensorSchema,
    weights: Bytes,
    /// A new model file, if the tensors that do not travel differ from those in the uploaded file.
    model: Option<Bytes>,
}

/// Stores the initial state of a task. The description must have been checked against the model.
///
/// If the task starts from a version of another task, its tensors that do not travel may differ from the model's file.
/// The task then gets its own model file, because clients have no other source for these tensors.
///
/// # Errors
/// Fails if the storage fails, or the model or version cannot be read.
pub async fn begin(
    coordinator: &Coordinator,
    description: &TaskDescription,
    model: ModelRecord,
    from: Option<WarmStartFrom>,
    now: Timestamp,
) -> Result<Beginning, Refusal> {
    let blobs = &coordinator.blobs;
    let onnx = blobs.get(model.model).await?;
    let from = match from {
        Some(WarmStartFrom { task, version }) => {
            let (onnx, weights) = (blobs.get(task.model).await?, blobs.get(version.weights).await?);
            Some(Stored { onnx, weights, plan: task.description.plan, schema: task.schema })
        }
        None => None,
    };
    let plan = description.plan.clone();
    // The same model gives the same clusters.
    let seed = model.model.as_bytes().first_chunk().copied().map_or(0, u64::from_le_bytes);
    let computed = tokio::task::spawn_blocking(move || compute(&onnx, &plan, from, seed)).await;
    let Computed { schema, weights, model: own } = computed.map_err(|error| Refusal::internal(&error))??;
    let weights = blobs.put(weights).await?;
    let model = match own {
        Some(onnx) => {
            let bytes_max = onnx.len();
            create_model(coordinator, model.organisation_id, onnx, bytes_max, now).await?
        }
        None => model,
    };
    Ok(Beginning { model, schema, weights })
}

/// Computes the initial state of a task. The noise that sets clusters apart is a function of `seed`.
fn compute(onnx: &[u8], plan: &TrainingPlan, from: Option<Stored>, seed: u64) -> Result<Computed, Refusal> {
    let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
    let model = Model::from_onnx(onnx, &limits).map_err(|error| Refusal::internal(&error))?;
    let model = model.for_plan(plan).map_err(|error| Refusal::internal(&error))?;
    let travelling = Travelling::of(&model, plan).map_err(|error| Refusal::internal(&error))?;
    let weights = match from {
        Some(Stored { onnx, weights, plan, schema }) => {
            WholeVersion::read(&onnx, &weights, &plan, &schema, None)?.weights
        }
        None => model.initial_weights(),
    };
    let values = travelling.starting(&weights, seed).map_err(|error| Refusal::internal(&error))?;
    let bytes = values.iter().flat_map(|weight| weight.to_le_bytes()).collect::<Vec<u8>>();
    // The original file is sufficient if its untrained tensors equal those of the version.
    let with_file = travelling.fill(values, None).map_err(|error| Refusal::internal(&error))?;
    let is_same = with_file.iter().zip(&weights).all(|(file, wanted)| file.to_bits() == wanted.to_bits());
    let own = match is_same {
        true => None,
        false => Some(model.export_onnx(&weights).map_err(|error| Refusal::internal(&error))?.into()),
    };
    Ok(Computed { schema: travelling.schema(), weights: bytes.into(), model: own })
}
