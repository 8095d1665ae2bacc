use bytes::Bytes;
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_data::{Dataset, Groups};
use folkmoot_engine::{Examples, ExamplesError, Labels, Model};
use folkmoot_simulation::{
    device::Trace,
    simulate::{DataSource, Simulation, WorldSettings},
};

use crate::CannotAttack;

/// The task to attack, with its model, its data and its world.
pub struct Inputs {
    /// The task, checked against the model.
    pub description: TaskDescription,
    /// The model.
    pub model: Model,
    /// The model's file.
    pub onnx: Bytes,
    /// The examples of the clients.
    pub training: Dataset,
    /// The examples for measuring versions; `None` to hold out a share of `training`.
    pub held_out: Option<Examples>,
    /// The world of simulated runs.
    pub world: WorldSettings,
    /// The trace of the devices, if the world names a trace file.
    pub trace: Option<Trace>,
    /// The number of threads that compute. Results do not depend on it.
    pub threads: usize,
}

impl Inputs {
    /// Returns the classes of the examples; `None` if their labels are not classes.
    pub(crate) fn classes(&self) -> Option<&[u32]> {
        match self.training.examples.labels() {
            Labels::Classes(classes) => Some(classes),
            Labels::Sequences(..) | Labels::Targets(..) => None,
        }
    }

    /// Returns the number of features of an example.
    pub(crate) fn width(&self) -> usize {
        self.training.examples.feature_shape().iter().product()
    }

    /// Returns the model with the output that the plan trains.
    ///
    /// # Errors
    /// If the model has no such output.
    pub(crate) fn trained_model(&self) -> Result<Model, CannotAttack> {
        let model = self.model.for_plan(&self.description.plan);
        model.map_err(|error| CannotAttack::Model(error.to_string()))
    }

    /// Returns the source of all examples.
    pub(crate) fn source(&self) -> DataSource {
        DataSource::Given { training: self.training.clone(), held_out: self.held_out.clone() }
    }

    /// Returns a run of a task in a world.
    pub(crate) fn simulation(
        &self,
        description: TaskDescription,
        settings: WorldSettings,
        source: DataSource,
    ) -> Simulation {
        Simulation {
            description,
            onnx: self.onnx.clone(),
            settings: WorldSettings { contributions: None, ..settings },
            source,
            trace: self.trace.clone(),
            threads: self.threads,
            kept: None,
            evaluate_every: 1,
            sabotage: None,
            functions: None,
        }
    }
}

/// Returns the examples with these indices, and their groups.
///
/// # Errors
/// If an index is out of range.
pub(crate) fn subset(dataset: &Dataset, indices: &[usize]) -> Result<Dataset, ExamplesError> {
    let groups = dataset.groups.as_ref().map(|groups| Groups {
        of: indices.iter().map(|index| groups.of[*index]).collect(),
        names: groups.names.clone(),
    });
    Ok(Dataset { examples: dataset.examples.subset(indices)?, groups })
}
