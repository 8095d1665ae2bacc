//! The app's limits on one assignment.

mod over;

use folkmoot_engine::ImportLimits;
use folkmoot_protocol::{
    Plan,
    messages::{Assignment, ProtectionLevel},
};
use serde::Deserialize;

pub use over::OverBudget;

/// The app's limits on one assignment: what it may cost this device, and the smallest cohort and weakest protection that the app
/// accepts.
///
/// A plan comes from outside, and a small file can ask for very much. Plans can lower these limits, and never raise them.
/// The coordinator is not told which limit an assignment passed: it hears `declined` where the assignment and its plan show
/// it, before the model is fetched; limits of the model's own graph are met when it is read (`plan_unsupported`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Bytes that a training or an evaluation may hold: 2 GiB. Model and weights count before they are fetched; the engine
    /// counts the rest before it takes it, again whenever the size of a batch changes.
    pub memory_bytes_max: u64,
    /// Bytes of the model and the weights that an assignment may have fetched: 1 GiB.
    pub model_bytes_max: u64,
    /// Seconds of training in one assignment, pauses not counted: an hour. What was trained until then is sent, after one step at
    /// least. An evaluation that takes longer is given up, because a part of it says nothing.
    pub training_seconds_max: u64,
    /// Parameters of a model, frozen ones too: 268,435,456.
    pub parameters_max: u64,
    /// Operations of a model's graph, of which a recurrent operator becomes some for each time step: 200,000.
    pub operations_max: u64,
    /// How many clients' updates a released version has to combine: 0, which is any. A coordinator that does not say how many
    /// is declined if this is above 0.
    pub cohort_min: u64,
    /// Where noise has to be added that hides this client's update: nowhere, unless the app asks for more.
    pub protection_min: ProtectionLevel,
}

impl Default for Budget {
    fn default() -> Self {
        let engine = ImportLimits::default();
        Self {
            memory_bytes_max: 2 << 30,
            model_bytes_max: 1 << 30,
            training_seconds_max: 3600,
            parameters_max: engine.parameters_max as u64,
            operations_max: engine.graph_nodes_max as u64,
            cohort_min: 0,
            protection_min: ProtectionLevel::None,
        }
    }
}

impl Budget {
    /// Checks that work is possible within the limits.
    ///
    /// # Errors
    /// Names the first limit that is 0 where nothing could be done with 0.
    pub fn validate(&self) -> Result<(), String> {
        let limits = [
            ("memory_bytes_max", self.memory_bytes_max),
            ("model_bytes_max", self.model_bytes_max),
            ("training_seconds_max", self.training_seconds_max),
            ("parameters_max", self.parameters_max),
            ("operations_max", self.operations_max),
        ];
        match limits.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(format!(
                "{name} is 0, with which no assignment could be taken. Set it to 1 or more, or leave it out."
            )),
            None => Ok(()),
        }
    }

    /// Checks a plan before it is fetched: it is held in memory while it is read.
    ///
    /// # Errors
    /// [`OverBudget::ModelBytes`] if it alone is larger than model and weights may be.
    pub fn allows_plan_of(&self, bytes: u64) -> Result<(), OverBudget> {
        let max = self.model_bytes_max;
        if bytes > max { Err(OverBudget::ModelBytes { bytes, max }) } else { Ok(()) }
    }

    /// Checks what an assignment and its plan say, before model and weights are fetched.
    ///
    /// # Errors
    /// The first limit that the assignment passes. The words are for the app's user and go nowhere.
    pub fn allows(&self, assignment: &Assignment, plan: &Plan) -> Result<(), OverBudget> {
        let bytes = fetched_bytes(assignment);
        if bytes > self.model_bytes_max {
            return Err(OverBudget::ModelBytes { bytes, max: self.model_bytes_max });
        }
        // Both are held while they are read, whatever training holds.
        if bytes > self.memory_bytes_max {
            return Err(OverBudget::MemoryBytes { bytes, max: self.memory_bytes_max });
        }
        let parameters = plan.schema.parameter_count();
        if parameters > self.parameters_max {
            return Err(OverBudget::Parameters { parameters, max: self.parameters_max });
        }
        let told = assignment.cohort_min;
        if told.unwrap_or(0) < self.cohort_min {
            return Err(OverBudget::Cohort { told, min: self.cohort_min });
        }
        let found = protection_of(assignment, plan);
        if found < self.protection_min {
            return Err(OverBudget::Protection { found, min: self.protection_min });
        }
        Ok(())
    }

    /// Lowers what a plan lets its training hold and how long it may take to what this budget allows.
    #[must_use]
    pub fn lower(&self, mut plan: Plan) -> Plan {
        let training = &mut plan.training;
        let bytes = training.memory_bytes_max.unwrap_or(u64::MAX);
        training.memory_bytes_max = Some(bytes.min(self.memory_bytes_max));
        let seconds = training.time_limit_seconds.unwrap_or(f32::MAX);
        training.time_limit_seconds = Some(seconds.min(self.training_seconds_max as f32));
        plan
    }

    /// The limits under which a model is read: the engine's own where they are lower.
    pub fn import_limits(&self) -> ImportLimits {
        let engine = ImportLimits::default();
        let least = |engine: usize, own: u64| usize::try_from(own).map_or(engine, |own| own.min(engine));
        ImportLimits {
            model_bytes_max: least(engine.model_bytes_max, self.model_bytes_max),
            parameters_max: least(engine.parameters_max, self.parameters_max),
            nodes_max: least(engine.nodes_max, self.operations_max),
            graph_nodes_max: least(engine.graph_nodes_max, self.operations_max),
            // Frozen tensors are unpacked as float32 while the model is read.
            constant_elements_max: least(engine.constant_elements_max, self.memory_bytes_max / 4),
            ..engine
        }
    }
}

/// Bytes of the model and of the weights in the form that is fetched.
fn fetched_bytes(assignment: &Assignment) -> u64 {
    let weights = assignment.weights_to_fetch().iter().map(|artifact| artifact.bytes);
    weights.fold(assignment.model.bytes, u64::saturating_add)
}

/// The protection that this client sees to, or is promised.
///
/// Local noise counts because the plan has it, not because the coordinator says so. A promise of central noise counts only with
/// a clipping norm, without which noise hides nobody.
fn protection_of(assignment: &Assignment, plan: &Plan) -> ProtectionLevel {
    let is_promised = assignment.protection_level == Some(ProtectionLevel::Central);
    if plan.local_noise.is_some() {
        ProtectionLevel::Local
    } else if is_promised && assignment.clipping_norm.is_some() {
        ProtectionLevel::Central
    } else {
        ProtectionLevel::None
    }
}

#[cfg(test)]
mod tests;
