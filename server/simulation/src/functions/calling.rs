use std::{
    collections::BTreeMap,
    io::{self, BufReader, BufWriter, Read, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use folkmoot_aggregation::{AggregatorChoice, finalizer::FinalizerChoice};
use folkmoot_component::Component;
use folkmoot_coordinator::{selection::SelectionChoice, task::TaskDescription};
use folkmoot_protocol::{BlobDigest, TensorSchema};
use folkmoot_strategy::{
    AggregationCommit, FUNCTIONS, FinalizationCommit, Functions, Role, SelectionDraw, StrategyError,
    UpdateValues, different_places,
};
use serde_json::json;

use super::{
    frame::{PROTOCOL, sent},
    pipe::{Pipe, PipeError, Values},
};

/// The process that runs the simulation and has functions for parts of its task.
pub struct CallingProcess {
    roles: Vec<Role>,
    pipe: Mutex<Pipe>,
    failure: Mutex<Option<String>>,
}

impl CallingProcess {
    /// Connects with a process that has functions for these parts.
    pub fn new(
        roles: Vec<Role>,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Self {
        let pipe = Pipe { input: Box::new(BufReader::new(input)), output: Box::new(BufWriter::new(output)) };
        Self { roles, pipe: Mutex::new(pipe), failure: Mutex::default() }
    }

    /// Connects with the parent process over standard input and output.
    pub fn parent(roles: Vec<Role>) -> Self {
        Self::new(roles, io::stdin(), io::stdout())
    }

    /// Lets functions take the place of parts of the task.
    pub(crate) fn replace(&self, description: &mut TaskDescription) {
        for role in &self.roles {
            let component = Box::new(Component::of(BlobDigest::of(FUNCTIONS)));
            match role {
                Role::Selection => description.selection = SelectionChoice::Component(component),
                Role::Aggregator => description.aggregator = AggregatorChoice::Component(component),
                Role::Finalizer => description.finalizer = FinalizerChoice::Component(component),
            }
        }
    }

    /// Says hello to the process.
    ///
    /// # Errors
    /// The reason why the functions cannot be called.
    pub(crate) fn begin(&self, schema: &TensorSchema) -> Result<(), String> {
        let tensors = schema.tensors.iter().map(|one| json!({ "name": one.name, "shape": one.shape }));
        let parts: Vec<&str> = self.roles.iter().map(|role| role.name()).collect();
        let hello = json!({
            "protocol": PROTOCOL,
            "parts": parts,
            "tensors": tensors.collect::<Vec<_>>(),
        });
        self.pipe().greet(&hello).map_err(|error| error.to_string())
    }

    /// Says that the simulation has ended.
    ///
    /// # Errors
    /// The reason why the process cannot be reached.
    pub(crate) fn end(&self) -> Result<(), String> {
        self.pipe().end().map_err(|error| error.to_string())
    }

    /// Returns the reason why a function failed, once.
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn pipe(&self) -> MutexGuard<'_, Pipe> {
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the reason of a failure, which ends the simulation.
    fn failed(&self, error: &PipeError) -> StrategyError {
        let reason = error.to_string();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason.clone());
        StrategyError::Functions(reason)
    }
}

impl Functions for CallingProcess {
    fn select(&self, draw: &SelectionDraw, number: u64) -> Result<Vec<usize>, StrategyError> {
        let clients = draw.clients.iter().map(|client| {
            let attributes: BTreeMap<_, _> = client.attributes.iter().cloned().collect();
            json!({
                "key": client.key,
                "examples": client.examples,
                "attributes": attributes,
                "starts": client.starts,
                "accepted": client.accepted,
                "failures": client.failures,
                "last_round": client.last_round,
                "loss": client.loss,
                "milliseconds": client.milliseconds,
            })
        });
        let facts = json!({
            "draw": number,
            "round": draw.round,
            "version": draw.version,
            "count": draw.count,
            "seed": draw.seed,
            "clients": clients.collect::<Vec<_>>(),
        });
        let result = self.pipe().ask(&facts, draw.clients.len()).map_err(|error| self.failed(&error))?;
        let places = result.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        different_places(places, draw.clients.len()).map_err(|place| {
            let count = draw.clients.len();
            let wrong = format!("the client {place}; it must send different numbers below {count}");
            self.failed(&PipeError::Protocol(wrong))
        })
    }

    fn aggregate(
        &self,
        commit: &AggregationCommit,
        updates: &mut dyn UpdateValues,
    ) -> Result<Vec<f64>, StrategyError> {
        let facts = commit.updates.iter().map(|update| {
            json!({
                "weight": update.weight,
                "attenuation": update.attenuation,
                "staleness": update.staleness,
                "examples": update.examples,
                "steps": update.steps,
                "loss": update.loss,
            })
        });
        let facts = json!({
            "version": commit.version,
            "seed": commit.seed,
            "updates": facts.collect::<Vec<_>>(),
        });
        let parameters = updates.newest().len() / size_of::<f32>();
        let mut values = Values::Updates { count: commit.updates.len(), values: updates };
        let result = self
            .pipe()
            .call(sent::AGGREGATE, &facts, &mut values, (parameters, size_of::<f64>()))
            .map_err(|error| self.failed(&error))?;
        let result = result.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        finite(result, |value| value.is_finite()).map_err(|error| self.failed(&error))
    }

    fn finalize(
        &self,
        commit: &FinalizationCommit,
        newest: &[u8],
        aggregate: &[f64],
    ) -> Result<Vec<f32>, StrategyError> {
        let facts = json!({
            "version": commit.version,
            "updates": commit.updates,
            "mean_staleness": commit.mean_staleness,
        });
        let parameters = newest.len() / size_of::<f32>();
        let mut values = Values::Aggregate { newest, aggregate };
        let result = self
            .pipe()
            .call(sent::FINALIZE, &facts, &mut values, (parameters, size_of::<f32>()))
            .map_err(|error| self.failed(&error))?;
        let result = result.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        finite(result, |value| value.is_finite()).map_err(|error| self.failed(&error))
    }
}

/// Collects values, all of which must be finite.
fn finite<T: std::fmt::Display>(
    values: impl Iterator<Item = T>,
    is_finite: impl Fn(&T) -> bool,
) -> Result<Vec<T>, PipeError> {
    let values: Vec<T> = values.collect();
    match values.iter().position(|value| !is_finite(value)) {
        Some(at) => Err(PipeError::Protocol(format!("{} for parameter {at}; it must be finite", values[at]))),
        None => Ok(values),
    }
}
