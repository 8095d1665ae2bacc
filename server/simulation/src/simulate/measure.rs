//! Measures versions on the held-out examples of each client, with the weights with which the client predicts.
//!
//! No coordinator could measure this, because clients report only from time to time. So the simulation does it itself.

use folkmoot_engine::{Evaluator, Metrics};
use folkmoot_protocol::{BlobDigest, Metric, Work};
use folkmoot_rounds::registry::{self, evaluation_data};
use folkmoot_storage::{ModelVersionRecord, TaskRepository};
use folkmoot_training::OwnTensors;

use super::{SimulateError, client::VirtualClient, recorder::OwnMetric, world::World};
use crate::spread::Fairness;

/// The maximum number of clients that measure a version: the first ones.
const CLIENTS_MAX: usize = 100;

/// The measurement of a version.
pub(super) struct Measured {
    pub loss: Option<f64>,
    pub metric: Option<f64>,
    /// The spread of the metric among the clients.
    pub fairness: Option<Fairness>,
}

impl World {
    /// Measures a version on the clients, each with its own tensors or its own model as it is now. Every example counts the same in
    /// the loss and the metric, and every client in the fairness. Returns `None` if the version is not to be measured.
    ///
    /// # Errors
    /// If the version cannot be read, or the examples do not fit the model.
    pub async fn measure_on_clients(
        &mut self,
        version: &ModelVersionRecord,
    ) -> Result<Option<Measured>, SimulateError> {
        let Some(mut own) = self.own_metric.take() else { return Ok(None) };
        let is_due = version.number.is_multiple_of(own.every_versions);
        let measured = if is_due { Some(self.measure(version, &mut own).await) } else { None };
        let metric = own.metric;
        let of = |metrics: &Metrics| match metric {
            Metric::Accuracy => metrics.accuracy(),
            _ => metrics.mean_loss(),
        };
        let mut fairness = None;
        if let Some(Ok(clients)) = &measured {
            let values: Vec<f64> = clients.iter().filter_map(of).collect();
            fairness = Fairness::of(&values, metric.is_higher_better());
            own.last = values.into_iter().filter(|value| value.is_finite()).collect();
        }
        self.own_metric = Some(own);
        let Some(clients) = measured.transpose()? else { return Ok(None) };
        let mut metrics = Metrics::default();
        clients.iter().for_each(|client| metrics += *client);
        Ok(Some(Measured { loss: metrics.mean_loss(), metric: of(&metrics), fairness }))
    }

    /// Stores the held-out examples for the coordinator, if the task needs them there. Returns their digest.
    ///
    /// # Errors
    /// If the aggregator uses examples of the coordinator's own, but each client holds out its own.
    pub async fn examples_of_the_coordinator(&self) -> Result<Option<BlobDigest>, SimulateError> {
        let failed = |error: &dyn std::fmt::Display| SimulateError::Data(error.to_string());
        if !registry::needs_own_examples(&self.description) {
            return Ok(None);
        }
        match &self.crowd.held_out {
            Some(examples) => {
                let bytes = evaluation_data::write(examples).map_err(|error| failed(&error))?;
                Ok(Some(self.blobs.put(bytes.into()).await.map_err(|error| failed(&error))?))
            }
            None if self.description.aggregator.own_examples().is_some() => Err(failed(
                &"the aggregator needs examples of the coordinator, which a simulation takes from its held-out examples; with \
                  held_out_of_clients, each client holds out its own. Simulate this task without held_out_of_clients, and compare \
                  it separately from variants in which clients have models of their own",
            )),
            None => Ok(None),
        }
    }

    async fn measure(
        &mut self,
        version: &ModelVersionRecord,
        own: &mut OwnMetric,
    ) -> Result<Vec<Metrics>, SimulateError> {
        let failed = |error: &dyn std::fmt::Display| SimulateError::Client(error.to_string());
        let task = self.storage.task_of_any_organisation(self.task).await?;
        let task = task.ok_or_else(|| failed(&"the task is not in the storage"))?;
        let lesson = self.lesson(task.plan, task.model).await?;
        let version = self.models_of(&lesson, version.weights).await?;
        let evaluator =
            own.evaluator.get_or_insert_with(|| Evaluator::new(&lesson.model, lesson.plan.training.loss));
        let mut clients = Vec::new();
        for index in 0..self.clients.len().min(CLIENTS_MAX) {
            let weights = lesson.with_own(&version, newest(&self.clients[index]));
            let examples = self.crowd.examples(index, Work::Evaluation)?;
            clients.push(evaluator.evaluate(&weights, &examples).map_err(|error| failed(&error))?);
        }
        Ok(clients)
    }
}

/// Returns a client's own tensors. If its current training has ended, these are the tensors after that training.
fn newest(client: &VirtualClient) -> &OwnTensors {
    let update = client.work.as_ref().and_then(|work| work.update.as_ref());
    update.map(|update| &update.own).filter(|own| !own.is_empty()).unwrap_or(&client.own)
}
