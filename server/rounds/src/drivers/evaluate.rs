//! Evaluations of model versions: by the coordinator on the operator's examples, and by clients on their own examples.

use std::{collections::BTreeMap, sync::Arc};

use folkmoot_aggregation::sum_metrics;
use folkmoot_coordinator::{
    invariants,
    round::{Purpose, RoundInput},
    task::{Evaluation, Measured},
};
use folkmoot_protocol::{Metric, Timestamp, update::UpdateMetrics};
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRecord, AssignmentRepository, EvaluationRecord, EvaluationRepository,
    EvaluationSource, RoundRecord, RoundRepository, TaskRecord,
};

use super::{
    DriveError,
    evaluation_sum::{both_measured, evaluation_of},
    rules::rules,
    versions::latest,
};
use crate::{
    coordinator::Coordinator,
    in_place::in_place,
    registry::{OwnDivided, WholeVersion, evaluation_data},
    signals::Signal,
};

/// The number of recent evaluation rounds that are searched for the last attempt.
const ROUNDS_LOOKED_AT: u32 = 100;

/// Lists the evaluations of a task's versions, oldest first, at most one for each version. An evaluation on the
/// operator's examples takes precedence over one by clients.
pub async fn measured(coordinator: &Coordinator, task: &TaskRecord) -> Result<Vec<Measured>, DriveError> {
    let Some(evaluation) = &task.description.evaluation else { return Ok(Vec::new()) };
    let mut by_version = BTreeMap::new();
    for record in coordinator.storage.evaluations(task.id).await? {
        // A fine-tuned model is not the version.
        if record.source == EvaluationSource::FineTuned {
            continue;
        }
        if let Some(value) = record.value(evaluation.metric) {
            let loss = record.value(Metric::Loss);
            let measured = Measured { version: record.version, metric: evaluation.metric, value, loss };
            // Central measurements come first in the list, so the first entry wins.
            by_version.entry(record.version).or_insert(measured);
        }
    }
    Ok(by_version.into_values().collect())
}

/// Returns the number of the newest version that `source` evaluated or tried to evaluate.
pub async fn last_attempt(
    coordinator: &Coordinator,
    task: &TaskRecord,
    source: EvaluationSource,
) -> Result<Option<u64>, DriveError> {
    let measured = coordinator.storage.last_evaluated(task.id, source).await?;
    if source == EvaluationSource::Central {
        return Ok(measured);
    }
    let rounds = coordinator.storage.rounds(task.id, ROUNDS_LOOKED_AT, None).await?;
    let of_evaluations = rounds.iter().filter(|record| record.round.purpose == Purpose::Evaluation);
    Ok(measured.max(of_evaluations.map(|record| record.round.base_version).max()))
}

/// Returns whether a version is due for evaluation on the operator's examples.
pub fn is_measured_centrally(task: &TaskRecord, version: u64) -> bool {
    let evaluation = task.description.evaluation.as_ref().filter(|one| one.central);
    task.evaluation_data.is_some() && evaluation.is_some_and(|one| one.is_due(version))
}

/// Evaluates the newest version on the operator's examples, if an evaluation is due and was not done yet.
pub async fn measure_centrally(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let Some(evaluation) = task.description.evaluation.as_ref().filter(|one| one.central) else {
        return Ok(false);
    };
    let Some(data) = task.evaluation_data else { return Ok(false) };
    let version = latest(coordinator, task).await?;
    if !evaluation.is_due(version.number)
        || last_attempt(coordinator, task, EvaluationSource::Central).await? >= Some(version.number)
    {
        return Ok(false);
    }
    let failed = |detail: &dyn std::fmt::Display| DriveError::Evaluation {
        version: version.number,
        detail: detail.to_string(),
    };
    let (onnx, weights) =
        (coordinator.blobs.get(task.model).await?, coordinator.blobs.get(version.weights).await?);
    let examples = coordinator.blobs.get(data).await?;
    let (description, schema) = (task.description.clone(), task.schema.clone());
    let measured = tokio::task::spawn_blocking(move || -> Result<folkmoot_engine::Evaluation, String> {
        let plan = &description.plan;
        let WholeVersion { model, weights, .. } =
            WholeVersion::read(&onnx, &weights, plan, &schema, None).map_err(|error| error.to_string())?;
        let examples = evaluation_data::read(&examples).map_err(|error| error.to_string())?;
        let measuring = OwnDivided::of(&description, examples).map_err(|error| error.to_string())?.measuring;
        folkmoot_engine::evaluate_in_detail(&model, &weights, &measuring, plan.loss)
            .map_err(|error| error.to_string())
    });
    let measured = measured.await?.map_err(|detail| failed(&detail))?;
    let record = EvaluationRecord {
        organisation_id: task.organisation_id,
        task_id: task.id,
        version: version.number,
        source: EvaluationSource::Central,
        slice: String::new(),
        client_count: 0,
        metrics: UpdateMetrics {
            example_count: measured.metrics.example_count,
            loss_sum: measured.metrics.loss_sum,
            correct_count: measured.metrics.correct_count,
            step_count: 0,
        },
        values: measured.values(),
        classes: measured.class_report(),
        created_at: now,
    };
    coordinator.storage.record_evaluation(&record).await?;
    let value = record.value(evaluation.metric);
    tracing::info!(task = %task.id, version = version.number, value, metric = %evaluation.metric, "version evaluated");
    Ok(true)
}

/// Combines the reports of an evaluation round: over all clients, and over each slice that has enough clients.
pub async fn combine_reports(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: RoundRecord,
    now: Timestamp,
) -> Result<(), DriveError> {
    let storage = &coordinator.storage;
    let accepted = storage.accepted_updates(record.round.id).await?;
    invariants::the_aggregate_is_of_the_accepted(&record.round, accepted.len() as u64)?;
    coordinator.ingest.gather(&accepted, None).await?;
    let assignments = storage.assignments(record.round.id).await?;
    let evaluation = task.description.evaluation.as_ref();
    let mut evaluations = Vec::new();
    for (slice, updates) in slices(evaluation, &accepted, &assignments) {
        let (log, loss) = (coordinator.ingest.log(), task.description.plan.loss);
        let metrics = sum_metrics(updates.iter().map(|update| &update.metrics));
        let of = |source, metrics, measured: Option<&folkmoot_engine::Evaluation>| EvaluationRecord {
            organisation_id: task.organisation_id,
            task_id: task.id,
            version: record.round.base_version,
            source,
            slice: slice.clone(),
            client_count: updates.len() as u64,
            metrics,
            values: measured.map(folkmoot_engine::Evaluation::values).unwrap_or_default(),
            classes: measured
                .filter(|_| slice.is_empty())
                .and_then(folkmoot_engine::Evaluation::class_report),
            created_at: now,
        };
        if task.description.fine_tuning().is_none() {
            let measured = in_place(|| evaluation_of(log, loss, &metrics, &updates))?;
            evaluations.push(of(EvaluationSource::Federated, metrics, measured.as_ref()));
            continue;
        }
        let both = in_place(|| both_measured(log, loss, &metrics, &updates))?;
        let [before, after] = both
            .as_ref()
            .and_then(|both| both.evaluations.as_ref())
            .map_or([None, None], |both| both.each_ref().map(Some));
        evaluations.push(of(EvaluationSource::Federated, metrics, before));
        evaluations.extend(both.as_ref().map(|both| of(EvaluationSource::FineTuned, both.metrics, after)));
    }
    let rules = rules(task, record.round.purpose);
    let (round, _) = coordinator
        .with_chance(|rng| record.round.clone().step(RoundInput::Evaluated, rules.borrow(), now, rng))?;
    let next = RoundRecord { round, ..record };
    storage.end_evaluation(&next, &evaluations).await?;
    coordinator.ingest.forget_round(next.round.id)?;
    coordinator.processes.relay(Signal::Ended(next.round.id));
    tracing::info!(task = %task.id, version = next.round.base_version, clients = accepted.len(), "version evaluated");
    Ok(())
}

/// Groups the reports: one group with the empty name for all reports, and one group for each slice with enough clients.
fn slices<'a>(
    evaluation: Option<&Evaluation>,
    accepted: &'a [AcceptedUpdate],
    assignments: &[AssignmentRecord],
) -> BTreeMap<String, Vec<&'a AcceptedUpdate>> {
    let of_client: BTreeMap<_, _> = assignments.iter().map(|one| (one.id, &one.slices)).collect();
    let mut groups: BTreeMap<String, Vec<&AcceptedUpdate>> = BTreeMap::new();
    for update in accepted {
        groups.entry(String::new()).or_default().push(update);
        for (attribute, value) in
            of_client.get(&update.assignment_id).into_iter().flat_map(|slices| slices.iter())
        {
            groups.entry(format!("{attribute}={value}")).or_default().push(update);
        }
    }
    let minimum = evaluation.and_then(|one| one.federated.as_ref()).map_or(1, |one| one.minimum_group);
    groups.retain(|slice, updates| slice.is_empty() || updates.len() as u64 >= minimum);
    groups
}
