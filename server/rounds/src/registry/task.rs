use folkmoot_api::tasks::CreateTaskRequest;
use folkmoot_coordinator::task::{Fault, TaskDescription, TaskInput, TaskState, WarmStart};
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_objects::BlobStoreError;
use folkmoot_protocol::{
    Codec, DataSchema, Metric, OrganisationId, Plan, TaskId, Timestamp, Work, messages::Artifact,
    update::UpdateMetrics,
};
use folkmoot_storage::{
    Ancestor, Holdings, ModelRecord, ModelRepository, ModelVersionRecord, ModelVersionRepository,
    PopulationRepository, TaskRecord, TaskRepository, VersionMaking,
};
use folkmoot_unmasking::committee_faults;

use super::{
    admission::{Prepared, admit, population_faults},
    beginning::{Beginning, WarmStartFrom, begin},
    component::component_faults,
    dropped::dropped,
    evaluation_data, fit,
    own_examples::needs_own_examples,
    quota::check_quotas,
};
use crate::{coordinator::Coordinator, privacy, refusal::Refusal, signals::Signal};

/// Creates a task and its model version 0.
///
/// # Errors
/// A refusal that lists every fault of the description, including conflicts with the model. Also fails if the task would
/// exceed a quota of the organisation, or the storage fails.
pub async fn create_task(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    request: CreateTaskRequest,
    now: Timestamp,
) -> Result<TaskRecord, Refusal> {
    let prepared = Box::pin(prepare(coordinator, organisation_id, request, now)).await?;
    let task = admit(coordinator, prepared).await?;
    coordinator.signal(Signal::Fact);
    Ok(task)
}

/// Checks a new task and assembles its initial state.
pub(super) async fn prepare(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    mut request: CreateTaskRequest,
    now: Timestamp,
) -> Result<Prepared, Refusal> {
    let checked = check(coordinator, organisation_id, &request).await?;
    let Checked { model, from, ancestors, standing } = checked.map_err(|faults| Refusal::faults(&faults))?;
    request.description.settle();
    let state = if request.activate { TaskState::Draft.step(TaskInput::Activate)? } else { TaskState::Draft };
    let beginning = begin(coordinator, &request.description, model, from, now).await?;
    let Artifact { digest: plan, bytes: plan_bytes } =
        keep_plan(coordinator, &request.description, &beginning, Work::Training).await?;
    let evaluates = request.description.evaluation.as_ref().is_some_and(|one| one.federated.is_some());
    let evaluation_plan = match evaluates {
        true => Some(keep_plan(coordinator, &request.description, &beginning, Work::Evaluation).await?),
        false => None,
    };
    let Beginning { model, schema, weights } = beginning;
    let weights_bytes = schema.parameter_count() * size_of::<f32>() as u64;
    let more = Holdings { tasks: 1, stored_bytes: weights_bytes, ..Holdings::default() };
    check_quotas(coordinator, organisation_id, more).await?;
    let task = TaskRecord {
        id: TaskId::from_random_bytes(coordinator.random_bytes()),
        organisation_id,
        state,
        model: model.model,
        model_bytes: model.model_bytes,
        schema,
        plan,
        plan_bytes,
        evaluation_plan,
        evaluation_data: request.evaluation_data,
        served: 0,
        description: request.description,
        created_at: now,
        revision: 0,
    };
    coordinator.storage.ensure_population(organisation_id, &task.description.population, now).await?;
    let version = ModelVersionRecord {
        task_id: task.id,
        number: 0,
        round_id: None,
        weights,
        weights_bytes,
        metrics: UpdateMetrics::default(),
        making: VersionMaking {
            warm_start: request.warm_start,
            ancestors,
            clipping_norm: task.description.privacy.central().map(|central| central.clipping.first_norm()),
            ..VersionMaking::default()
        },
        created_at: now,
        dropped_at: None,
    };
    Ok(Prepared { task, version, standing })
}

/// Lists the faults of a task without creating it.
///
/// # Errors
/// Fails if the storage fails.
pub async fn task_faults(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    request: &CreateTaskRequest,
) -> Result<Vec<Fault>, Refusal> {
    Ok(check(coordinator, organisation_id, request).await?.err().unwrap_or_default())
}

/// The inputs of a new task after all checks.
struct Checked {
    model: ModelRecord,
    from: Option<WarmStartFrom>,
    ancestors: Vec<Ancestor>,
    standing: privacy::Standing,
}

/// Checks a description on its own, and against its model, its population and the other inputs. The inner error lists
async fn check(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    request: &CreateTaskRequest,
) -> Result<Result<Checked, Vec<Fault>>, Refusal> {
    let mut faults = request.description.validate();
    let standing =
        privacy::Standing::of(coordinator, organisation_id, &request.description.population).await?;
    faults.extend(population_faults(&standing, &request.description)?);
    faults.extend(committee_faults(coordinator.committee.as_ref(), &request.description));
    faults.extend(component_faults(coordinator, &request.description, &faults).await?);
    let Some(model) = coordinator.storage.model(organisation_id, request.model).await? else {
        let message = format!("there is no model {}", request.model);
        faults.push(Fault::new("model", message, "upload the ONNX file with POST /v1/admin/models first"));
        return Ok(Err(faults));
    };
    let from = match warm_start(coordinator, organisation_id, request, &model).await? {
        Ok(from) => from,
        Err(fault) => {
            faults.push(fault);
            None
        }
    };
    let ancestors = match &from {
        Some(from) => privacy::ancestors(coordinator, &from.task, from.version.number).await?,
        None => Vec::new(),
    };
    faults.extend(privacy::lineage_fault(&request.description, &ancestors)?);
    faults.extend(model_faults(coordinator, request, &model).await?);
    Ok(if faults.is_empty() { Ok(Checked { model, from, ancestors, standing }) } else { Err(faults) })
}

/// Finds the version that the task starts from; `None` if the task starts from the model's own weights.
async fn warm_start(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    request: &CreateTaskRequest,
    model: &ModelRecord,
) -> Result<Result<Option<WarmStartFrom>, Fault>, Refusal> {
    let Some(WarmStart { task_id, version }) = request.warm_start else { return Ok(Ok(None)) };
    let fault = |message: String, remedy: &str| Ok(Err(Fault::new("warm_start", message, remedy)));
    let Some(task) = coordinator.storage.task(organisation_id, task_id).await? else {
        return fault(format!("there is no task {task_id}"), "choose a task from `folkmoot task list`");
    };
    let of_task = coordinator.storage.model(organisation_id, task.model).await?;
    if of_task.is_none_or(|one| one.schema != model.schema) {
        let message = format!("task {task_id} trains another model, with different tensors");
        return fault(message, "choose a task of the same model");
    }
    match coordinator.storage.model_version(task_id, version).await? {
        Some(version) if version.dropped_at.is_some() => {
            fault(dropped(&version), "choose another version from `folkmoot model list`")
        }
        Some(version) => Ok(Ok(Some(WarmStartFrom { task, version }))),
        None => fault(
            format!("task {task_id} has no version {version}"),
            "choose a version from `folkmoot model list`",
        ),
    }
}

/// Lists the conflicts between the description, the model and the operator's examples.
async fn model_faults(
    coordinator: &Coordinator,
    request: &CreateTaskRequest,
    model: &ModelRecord,
) -> Result<Vec<Fault>, Refusal> {
    let onnx = coordinator.blobs.get(model.model).await?;
    let measures = request.description.measures_centrally();
    let wants_data = needs_own_examples(&request.description);
    let data = match request.evaluation_data {
        // The cache may have examples that were deleted. Only what exists may be named by the task.
        Some(digest) if !coordinator.blobs.exists(digest).await? => {
            Some(Err(BlobStoreError::NotFound(digest)))
        }
        Some(digest) => Some(coordinator.blobs.get(digest).await),
        None => None,
    };
    let description = request.description.clone();
    let fitted = tokio::task::spawn_blocking(move || {
        let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
        let model = match Model::from_onnx(&onnx, &limits) {
            Ok(model) => model,
            // The model was readable when it was uploaded; another build of the coordinator may support fewer
            // operators.
            Err(error) => return vec![Fault::new("model", error.to_string(), "upload another model")],
        };
        let mut faults = fit::faults(&description, &model);
        match (wants_data, data) {
            (true, None) => {
                let (field, user) = match measures {
                    true => ("evaluation.central", "central evaluation"),
                    false => ("aggregator.kind", "this aggregator.kind"),
                };
                let message = format!("{user} needs your own examples, and none were given");
                let remedy =
                    "give them when you create the task: folkmoot task create --evaluation-data FILE";
                faults.push(Fault::new(field, message, remedy));
            }
            (false, Some(_)) => faults.push(Fault::new(
                "evaluation_data",
                "examples were given, but neither a central evaluation nor the aggregator uses them",
                "set central = true in [evaluation], or choose aggregator.kind = \"fl_trust\"",
            )),
            (true, Some(data)) => {
                // A conflict about the output is among the faults already.
                let model = model.for_plan(&description.plan).unwrap_or(model);
                faults.extend(data_fault(&description, &model, data));
            }
            (false, None) => {}
        }
        faults
    });
    fitted.await.map_err(|error| Refusal::internal(&error))
}

fn data_fault(
    description: &TaskDescription,
    model: &Model,
    data: Result<bytes::Bytes, BlobStoreError>,
) -> Option<Fault> {
    let fault = |message: String, remedy: &str| Some(Fault::new("evaluation_data", message, remedy));
    let Ok(bytes) = data else {
        return fault(
            "no examples with this digest were uploaded".into(),
            "upload them with POST /v1/admin/evaluation-data first",
        );
    };
    let examples = match evaluation_data::read(&bytes) {
        Ok(examples) => examples,
        Err(error) => {
            return fault(error.to_string(), "upload valid examples with POST /v1/admin/evaluation-data");
        }
    };
    if let Some(fault) = count_fault(description, examples.len()) {
        return Some(fault);
    }
    let first: Vec<usize> = (0..examples.len().min(1)).collect();
    let fits = examples.subset(&first).map_err(|error| error.to_string()).and_then(|example| {
        let loss = description.plan.loss;
        let measured = folkmoot_engine::evaluate_in_detail(model, &model.initial_weights(), &example, loss);
        measured.map_err(|error| error.to_string())
    });
    match fits {
        Ok(measured) => metric_fault(description, &measured),
        Err(error) => fault(error, "upload examples that fit the model and the loss"),
    }
}

/// Checks that there are enough examples for the aggregator, and others for a central evaluation, which would be too
/// optimistic on examples that guide the model.
fn count_fault(description: &TaskDescription, found: usize) -> Option<Fault> {
    let wanted = description.aggregator.own_examples()?;
    let measures = description.measures_centrally();
    let least = wanted.saturating_add(u64::from(measures));
    if found as u64 >= least {
        return None;
    }
    let others = if measures { ", and central evaluation needs others" } else { "" };
    let message = format!("there are {found} examples, but the aggregator uses {wanted}{others}");
    let remedy = format!("upload at least {least} examples, or lower aggregator.examples");
    Some(Fault::new("aggregator.examples", message, remedy))
}

/// Checks that the task's metric can be computed from the loss and the labels.
fn metric_fault(description: &TaskDescription, measured: &folkmoot_engine::Evaluation) -> Option<Fault> {
    let metric = description.evaluation.as_ref()?.metric;
    if measured.allows(metric) {
        return None;
    }
    let allowed: Vec<_> =
        Metric::ALL.into_iter().filter(|one| measured.allows(*one)).map(Metric::name).collect();
    let message = format!(
        "{metric} cannot be computed for the loss {} and the labels of your examples",
        description.plan.loss.name()
    );
    Some(Fault::new("evaluation.metric", message, format!("choose one of {}", allowed.join(", "))))
}

async fn keep_plan(
    coordinator: &Coordinator,
    description: &TaskDescription,
    beginning: &Beginning,
    work: Work,
) -> Result<Artifact, Refusal> {
    let (table_schema, image_schema) = match description.data_schema().cloned() {
        Some(DataSchema::Table(table)) => (Some(table), None),
        Some(DataSchema::Images { images }) => (None, Some(Box::new(images))),
        None => (None, None),
    };
    let plan = Plan {
        model: beginning.model.model,
        schema: beginning.schema.clone(),
        work,
        device_rules: description.eligibility.device_rules.clone(),
        training: description.client_training(),
        fine_tuning: description.fine_tuning().filter(|_| work == Work::Evaluation),
        codec: Codec::None,
        protection: description.plan_protection(),
        grid: description.grid,
        local_noise: privacy::local_noise(description),
        drift_correction: description.finalizer.drift_correction(),
        table_schema,
        image_schema,
    };
    let bytes = serde_json::to_vec(&plan).map_err(|error| Refusal::internal(&error))?;
    let length = bytes.len() as u64;
    Ok(Artifact { digest: coordinator.blobs.put(bytes.into()).await?, bytes: length })
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{Examples, Labels, evaluate_in_detail, onnx::build::mlp};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_metric_needs_fitting_labels() {
        let model = Model::from_onnx(&mlp(&[2, 3], 1), &ImportLimits::default()).unwrap();
        let examples = Examples::new(vec![0.5, 1.0], vec![2], Labels::Classes(vec![1])).unwrap();
        let fault = |metric: &str| {
            let description: TaskDescription = serde_json::from_value(json!({
                "name": "digits",
                "population": "digits",
                "plan": { "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
                          "epochs": 1, "batch_size": 16 },
                "scheduling": { "kind": "synchronous", "report_goal": 8 },
                "evaluation": { "central": true, "metric": metric },
                "stop": { "rounds": 30 },
            }))
            .unwrap();
            let loss = description.plan.loss;
            let measured = evaluate_in_detail(&model, &model.initial_weights(), &examples, loss).unwrap();
            metric_fault(&description, &measured)
        };
        for metric in ["accuracy", "loss", "f1_macro", "top_5_accuracy", "perplexity"] {
            assert_eq!(fault(metric), None);
        }
        // Three classes have no ROC curve, and class numbers are no quantities.
        for metric in ["roc_auc", "rmse", "r2"] {
            let fault = fault(metric).expect("there is a fault");
            assert_eq!(fault.field, "evaluation.metric");
            assert!(fault.message.starts_with(metric) && fault.remedy.contains("f1_macro"), "{fault:?}");
        }
    }
}
