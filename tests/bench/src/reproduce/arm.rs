use bytes::Bytes;
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_simulation::simulate::WorldSettings;
use serde_json::{Value, json};

use crate::Failure;

/// One configuration of an experiment; it is run with every seed.
#[derive(Clone, Debug)]
pub struct Arm {
    /// What it is compared within: a data set, a kind of attack.
    pub group: String,
    /// What tells it from the others of its group.
    pub name: String,
    /// What was tuned, in words; empty where nothing was.
    pub tuned: String,
    pub task: TaskDescription,
    pub world: WorldSettings,
    pub onnx: Bytes,
    /// Rounds after which it ends, those that were abandoned counted too.
    pub rounds_max: usize,
    /// Measure every so many versions.
    pub evaluate_every: u64,
}

impl Arm {
    /// Makes an arm. `task` and `world` are what the files of `folkmoot simulate` say, as JSON; the task's name,
    /// population, aggregator and stop conditions are added unless they are there.
    ///
    /// # Errors
    /// Names the field that is wrong.
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
            // The papers', in which every client is honest.
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
            rounds_max,
            evaluate_every: 1,
        })
    }

    /// Says what was tuned.
    pub fn tuned(self, tuned: String) -> Self {
        Self { tuned, ..self }
    }

    /// Measures only every so many versions.
    pub fn evaluated_every(self, evaluate_every: u64) -> Self {
        Self { evaluate_every, ..self }
    }

    /// Returns the settings that a report shows.
    pub fn settings(&self) -> Vec<(String, String)> {
        let show = |value: Value| value.to_string();
        let json = |value: Result<Value, serde_json::Error>| show(value.unwrap_or_default());
        vec![
            ("plan".to_owned(), json(serde_json::to_value(&self.task.plan))),
            ("scheduling".to_owned(), json(serde_json::to_value(self.task.scheduling))),
            ("aggregator".to_owned(), json(serde_json::to_value(self.task.aggregator))),
            ("finalizer".to_owned(), json(serde_json::to_value(self.task.finalizer))),
            ("clients".to_owned(), self.world.clients.to_string()),
            ("partition".to_owned(), json(serde_json::to_value(&self.world.partition))),
        ]
    }
}
