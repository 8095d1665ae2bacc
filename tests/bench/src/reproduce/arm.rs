use bytes::Bytes;
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_data::Dataset;
use folkmoot_simulation::simulate::WorldSettings;
use serde_json::{Value, json};

use crate::Failure;

/// One configuration of an experiment. It runs once with every seed.
#[derive(Clone, Debug)]
pub struct Arm {
    /// The group within which the arm is compared with others, for example a data set or a kind of attack.
    pub group: String,
    /// The arm's name within the group.
    pub name: String,
    /// The settings that were chosen by tuning, as text; empty if none were.
    pub tuned: String,
    pub task: TaskDescription,
    pub world: WorldSettings,
    pub onnx: Bytes,
    /// The examples; `None` for the digits.
    pub data: Option<Dataset>,
    /// The number of rounds, including abandoned ones, after which the run ends.
    pub rounds_max: usize,
    /// The interval between evaluations, in versions.
    pub evaluate_every: u64,
}

impl Arm {
    /// Creates an arm. `task` and `world` are the contents of the files of `folkmoot simulate`, as JSON. Adds the
    /// task's name, population, aggregator and stop conditions if they are missing.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn new(
        (group, name): (&str, &str),
        mut task: Value,
        world: Value,
        onnx: &Bytes,
        rounds_max: usize,
    ) -> Result<Self, Failure> {
        let label = format!("{group}, {name}");
        for (field, value) in [
            ("name", json!(label)),
            ("population", json!("simulated")),
            ("stop", json!({ "rounds": rounds_max })),
            // The aggregator that the papers use with honest clients.
            ("aggregator", json!({ "kind": "weighted_mean" })),
        ] {
            if task.get(field).is_none() {
                task[field] = value;
            }
        }
        let task: TaskDescription =
            serde_json::from_value(task).map_err(|error| format!("the task of {label}: {error}"))?;
        if let Some(fault) = task.validate().first() {
            return Err(format!("the task of {label}: {fault}").into());
        }
        let world: WorldSettings =
            serde_json::from_value(world).map_err(|error| format!("the world of {label}: {error}"))?;
        Ok(Self {
            group: group.to_owned(),
            name: name.to_owned(),
            tuned: String::new(),
            task,
            world,
            onnx: onnx.clone(),
            data: None,
            rounds_max,
            evaluate_every: 1,
        })
    }

    /// Sets the examples, which are held out by each client.
    pub fn with_data(self, data: Dataset) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Sets the text about the tuned settings.
    pub fn tuned(self, tuned: String) -> Self {
        Self { tuned, ..self }
    }

    /// Sets the interval between evaluations, in versions.
    pub fn evaluated_every(self, evaluate_every: u64) -> Self {
        Self { evaluate_every, ..self }
    }

    /// Returns the names and values of the settings, for a report.
    pub fn settings(&self) -> Vec<(String, String)> {
        let show = |value: Value| value.to_string();
        let json = |value: Result<Value, serde_json::Error>| show(value.unwrap_or_default());
        vec![
            ("plan".to_owned(), json(serde_json::to_value(&self.task.plan))),
            ("scheduling".to_owned(), json(serde_json::to_value(self.task.scheduling))),
            ("aggregator".to_owned(), json(serde_json::to_value(&self.task.aggregator))),
            ("finalizer".to_owned(), json(serde_json::to_value(&self.task.finalizer))),
            ("clients".to_owned(), self.world.clients.to_string()),
            ("partition".to_owned(), json(serde_json::to_value(&self.world.partition))),
        ]
    }
}
