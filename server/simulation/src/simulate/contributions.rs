//! Computes how much each client of a round has contributed to its version, from the updates that the coordinator has received.

use folkmoot_coordinator::round::{Phase, Purpose};
use folkmoot_engine::Evaluator;
use folkmoot_protocol::update::HEADER_BYTES;
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRepository, ModelVersionRepository, RoundRecord, RoundRepository,
    TaskRepository,
};
use folkmoot_training::parse_weights;
use rand::Rng;

use super::{SimulateError, world::World};
use crate::{
    chance::Stream,
    contributions::{Contributing, Measuring, Reconstruction, RoundUpdates, value_round},
};

/// The purpose of the random orders of a round's clients.
const ORDERS: u64 = 16;
/// The maximum number of values of all updates of a round together, which are in memory at once: 1 GiB.
const VALUES_MAX: usize = 1 << 28;

impl World {
    /// Reads the updates of a round that is about to be combined, because the coordinator deletes them with the commit.
    ///
    /// # Errors
    /// If the storage or the round log fails, or there are too many values.
    pub async fn read_updates(&mut self) -> Result<(), SimulateError> {
        let Some(contributing) = &self.contributing else { return Ok(()) };
        let known = contributing.round.as_ref().map(|round| round.id);
        for record in self.storage.unfinished_rounds(self.task).await? {
            let is_next = matches!(record.round.phase, Phase::Aggregating { .. });
            if !is_next || record.round.purpose != Purpose::Training || known == Some(record.round.id) {
                continue;
            }
            let read = self.updates_of(&record).await?;
            if let Some(contributing) = &mut self.contributing {
                contributing.round = Some(read);
            }
        }
        Ok(())
    }

    async fn updates_of(&self, record: &RoundRecord) -> Result<RoundUpdates, SimulateError> {
        let failed = |error: &dyn std::fmt::Display| SimulateError::Client(error.to_string());
        let id = record.round.id;
        let task = self.storage.task_of_any_organisation(self.task).await?;
        let task = task.ok_or_else(|| failed(&"the task is not in the storage"))?;
        let count = usize::try_from(task.schema.parameter_count()).unwrap_or(usize::MAX);
        let accepted = self.storage.accepted_updates(id).await?;
        if accepted.len().saturating_mul(count) > VALUES_MAX {
            return Err(SimulateError::Data(format!(
                "the contributions of the clients cannot be computed: a round has {} updates of {count} values, and at most \
                 {VALUES_MAX} values are read at once. Lower scheduling.report_goal, or use a smaller model",
                accepted.len()
            )));
        }
        let assignments = self.storage.assignments(id).await?;
        let mut updates = RoundUpdates { id, clients: Vec::new(), rows: Vec::new(), reports: Vec::new() };
        for update in &accepted {
            let assignment = assignments.iter().find(|one| one.id == update.assignment_id);
            let client = assignment.and_then(|assignment| {
                let is_it = |client: &super::client::VirtualClient| {
                    client.record.as_ref().is_some_and(|record| record.id == assignment.client_id)
                };
                self.clients.iter().position(is_it)
            });
            updates.clients.push(client.ok_or_else(|| failed(&"an update has no client"))?);
            updates.rows.push(self.values_of(update, count)?);
            updates.reports.push((update.weight, update.metrics.step_count));
        }
        Ok(updates)
    }

    /// Reads the values of an update from the round log, where codecs are already decoded.
    fn values_of(&self, update: &AcceptedUpdate, count: usize) -> Result<Vec<f32>, SimulateError> {
        let mut reader = self.log.read(update.round_id, update.assignment_id)?;
        reader.seek(HEADER_BYTES as u64)?;
        let mut bytes = vec![0; count * size_of::<f32>()];
        let read = reader.read_tile(&mut bytes)?;
        if read < bytes.len() {
            return Err(SimulateError::Client(format!("an update has {read} bytes of {}", bytes.len())));
        }
        Ok(floats(&bytes))
    }

    /// Computes the contributions to the version of a round that has committed.
    ///
    /// # Errors
    /// If a version cannot be read, or the examples do not fit the model.
    pub async fn value_clients(&mut self, record: &RoundRecord) -> Result<(), SimulateError> {
        let Some(mut contributing) = self.contributing.take() else { return Ok(()) };
        let updates = contributing.round.take().filter(|round| round.id == record.round.id);
        let valued = match updates {
            Some(updates) => self.value_round(record, &updates, &mut contributing).await,
            None => Ok(()),
        };
        self.contributing = Some(contributing);
        valued
    }

    async fn value_round(
        &mut self,
        record: &RoundRecord,
        updates: &RoundUpdates,
        contributing: &mut Contributing,
    ) -> Result<(), SimulateError> {
        let failed = |error: &dyn std::fmt::Display| SimulateError::Client(error.to_string());
        let task = self.storage.task_of_any_organisation(self.task).await?;
        let task = task.ok_or_else(|| failed(&"the task is not in the storage"))?;
        let lesson = self.lesson(task.plan, task.model).await?;
        let base = self.storage.model_version(self.task, record.round.base_version).await?;
        let base = base.ok_or_else(|| failed(&"the round has no version to start from"))?;
        let weights = self.blobs.get(base.weights).await.map_err(|error| failed(&error))?;
        let weights = parse_weights(&weights, &lesson.travelling).map_err(|error| failed(&error.detail))?;
        let state = match base.making.finalizer_state {
            Some(state) => floats(&self.blobs.get(state).await.map_err(|error| failed(&error))?),
            None => Vec::new(),
        };
        let Some(examples) = &self.crowd.held_out else { return Ok(()) };
        let Contributing { settings, metric, threads, evaluators, totals, .. } = contributing;
        let loss = lesson.plan.training.loss;
        evaluators.resize_with(*threads, || Evaluator::new(&lesson.model, loss));
        let round = Reconstruction {
            description: &self.description,
            rows: &updates.rows,
            reports: &updates.reports,
            base: &weights,
            state: &state,
            number: record.round.base_version + 1,
        };
        let mut measuring =
            Measuring { evaluators, examples, travelling: &lesson.travelling, metric: *metric };
        let seed = Stream::new(self.settings.seed, &[ORDERS, record.round.number]).next_u64();
        let values =
            value_round(updates.clients.len(), settings, seed, |sets| measuring.utilities(&round, sets));
        let values = values.map_err(|error| failed(&error))?;
        totals.add(&updates.clients, |client| self.crowd.attack(client).is_some(), values);
        Ok(())
    }
}

/// Reads float32 values, little-endian.
pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
