//! The app's limits on one assignment.

mod over;

use folkmoot_engine::ImportLimits;
use folkmoot_protocol::{
    Plan, Work,
    messages::{Assignment, ProtectionLevel},
};
use serde::Deserialize;

pub use over::OverBudget;

/// The app's limits on one assignment: its cost on this device, and the smallest cohort and weakest protection that the
/// app accepts.
///
/// Plans come from outside, and even a small plan can ask for a lot of memory or time. A plan can lower these limits
/// but never raise them. The client checks the assignment and its plan before it fetches the model, and answers
/// `declined` without naming the limit. Limits on the model's graph are checked when the model is read, and reported as
/// `plan_unsupported`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// The maximum memory that a training or an evaluation may use, in bytes. Default: 2 GiB. The client checks the
    /// size of the model and the weights before it fetches them. The engine checks all other memory before it allocates
    /// it, and again whenever the batch size changes.
    pub memory_bytes_max: u64,
    /// The maximum number of bytes of model and weights to fetch for one assignment. Default: 1 GiB.
    pub model_bytes_max: u64,
    /// The maximum training time of one assignment in seconds, pauses excluded. Default: one hour. When the time is up,
    /// after at least one step, training ends and the client sends what it has. If an evaluation takes longer, the
    /// client gives up the assignment, because a partial result means nothing.
    pub training_seconds_max: u64,
    /// The maximum number of parameters of a model, frozen ones included. Default: 268,435,456.
    pub parameters_max: u64,
    /// The maximum number of operations in a model's graph. A recurrent operator counts several operations for each
    /// time step. Default: 200,000.
    pub operations_max: u64,
    /// The minimum number of clients whose updates a released version must combine. Default: 0, which accepts any
    /// number. If the limit is above 0, the client declines assignments that do not state a number.
    pub cohort_min: u64,
    /// The weakest protection by noise that the app accepts for this client's update. The default asks for none.
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
    /// Checks that no limit rules out all work.
    ///
    /// # Errors
    /// A message that names the first limit that is 0 but must not be.
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
                "{name} is 0, so every assignment would be declined. Set it to 1 or more, or leave it out."
            )),
            None => Ok(()),
        }
    }

    /// Checks a plan's size before it is fetched, because a plan is held in memory while it is parsed.
    ///
    /// # Errors
    /// [`OverBudget::ModelBytes`] if the plan alone exceeds `model_bytes_max`.
    pub fn allows_plan_of(&self, bytes: u64) -> Result<(), OverBudget> {
        let max = self.model_bytes_max;
        if bytes > max { Err(OverBudget::ModelBytes { bytes, max }) } else { Ok(()) }
    }

    /// Checks an assignment and its plan before the model and weights are fetched.
    ///
    /// # Errors
    /// The first limit that the assignment exceeds. The message is for the app's user and is never sent.
    pub fn allows(&self, assignment: &Assignment, plan: &Plan) -> Result<(), OverBudget> {
        let bytes = fetched_bytes(assignment);
        if bytes > self.model_bytes_max {
            return Err(OverBudget::ModelBytes { bytes, max: self.model_bytes_max });
        }
        // Model and weights are both in memory while they are parsed, even if training needs less memory later.
        if bytes > self.memory_bytes_max {
            return Err(OverBudget::MemoryBytes { bytes, max: self.memory_bytes_max });
        }
        let parameters = plan.schema.parameter_count();
        if parameters > self.parameters_max {
            return Err(OverBudget::Parameters { parameters, max: self.parameters_max });
        }
        // Clients open no sum that is too small. A committee knows only the plan's minimum.
        let told = match plan.protection.committee() {
            Some(terms) => Some(terms.sum.cohort_min),
            None => assignment.cohort_min,
        };
        if told.unwrap_or(0) < self.cohort_min {
            return Err(OverBudget::Cohort { told, min: self.cohort_min });
        }
        let found = protection_of(assignment, plan);
        if found < self.protection_min {
            return Err(OverBudget::Protection { found, min: self.protection_min });
        }
        Ok(())
    }

    /// Lowers the memory and time limits of a plan's training to those of this budget.
    #[must_use]
    pub fn lower(&self, mut plan: Plan) -> Plan {
        let training = &mut plan.training;
        let bytes = training.memory_bytes_max.unwrap_or(u64::MAX);
        training.memory_bytes_max = Some(bytes.min(self.memory_bytes_max));
        let seconds = training.time_limit_seconds.unwrap_or(f32::MAX);
        training.time_limit_seconds = Some(seconds.min(self.training_seconds_max as f32));
        plan
    }

    /// Returns the limits for importing a model: the lower of this budget's and the engine's.
    pub fn import_limits(&self) -> ImportLimits {
        let engine = ImportLimits::default();
        let least = |engine: usize, own: u64| usize::try_from(own).map_or(engine, |own| own.min(engine));
        ImportLimits {
            model_bytes_max: least(engine.model_bytes_max, self.model_bytes_max),
            parameters_max: least(engine.parameters_max, self.parameters_max),
            nodes_max: least(engine.nodes_max, self.operations_max),
            graph_nodes_max: least(engine.graph_nodes_max, self.operations_max),
            // Frozen tensors are unpacked to float32 when the model is read.
            constant_elements_max: least(engine.constant_elements_max, self.memory_bytes_max / 4),
            ..engine
        }
    }
}

/// Returns the download size of the model and the weights, in bytes.
fn fetched_bytes(assignment: &Assignment) -> u64 {
    let weights = assignment.weights_to_fetch().map(|artifact| artifact.bytes);
    weights.fold(assignment.model.bytes, u64::saturating_add)
}

/// Returns the protection that this client applies itself, or that the coordinator promises.
///
/// Local and distributed noise must be in the plan; the coordinator's statement alone is ignored. A promise of central noise is
/// accepted only if the assignment has a clipping norm: without one, noise hides nobody. The metrics of an evaluation carry no
/// noise at all.
fn protection_of(assignment: &Assignment, plan: &Plan) -> ProtectionLevel {
    let is_promised = assignment.protection_level == Some(ProtectionLevel::Central);
    let secure = plan.protection.secure();
    if plan.work == Work::Evaluation {
        ProtectionLevel::None
    } else if secure.is_some_and(|terms| terms.noise.is_some()) {
        ProtectionLevel::Distributed
    } else if plan.local_noise.is_some() && secure.is_none() {
        ProtectionLevel::Local
    } else if is_promised && assignment.clipping_norm.is_some() {
        ProtectionLevel::Central
    } else {
        ProtectionLevel::None
    }
}

#[cfg(test)]
mod tests;
