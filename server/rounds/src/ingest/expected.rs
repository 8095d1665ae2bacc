use std::sync::Arc;

use folkmoot_coordinator::{aggregation::AggregatorChoice, round::Purpose, task::NetworkClass};
use folkmoot_protocol::{
    AssignmentId, ErrorCode, Recipe, RoundId, TensorSchema, ValueGrid, Work,
    update::{HEADER_BYTES, MetricBounds, UpdateHeader, update_bytes},
};
use folkmoot_storage::{AssignmentRecord, TaskRecord};

use crate::refusal::Refusal;

/// Bytes that a payload's tags and lengths may take beside its values.
const PAYLOAD_ROOM: u64 = 64 << 10;

/// How values travel that are not compressed.
pub const FLOAT32: &str = "float32";

/// Where nothing tells which of the task's codecs it was.
const SEVERAL: &str = "several";

/// What an assignment's update must be.
#[derive(Clone, Debug)]
pub struct ExpectedUpdate {
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// The round in which it was given.
    pub round_id: RoundId,
    /// The version on which it is based.
    pub base_version: u64,
    /// The digest of the model's schema.
    pub schema_digest: [u8; 32],
    /// The model's parameters.
    pub parameter_count: usize,
    /// The grid on which it is summed.
    pub grid: ValueGrid,
    /// The model's tensors, and the recipes by one of which a client may have compressed them; none where updates travel as
    /// float32.
    pub compression: Option<Arc<(TensorSchema, Vec<Recipe>)>>,
    /// What its metrics may be.
    pub metrics: MetricBounds,
    /// The largest L2 norm that it may have, in steps of the grid; none where updates are not clipped.
    pub norm_max: Option<u64>,
    /// By which class of clients what it costs is counted; none where `privacy` guards what is told of one.
    pub counted_as: Option<NetworkClass>,
    /// By what the factor of its values in the sum is told, for an update that is summed while it arrives.
    summed_by: Option<AggregatorChoice>,
}

impl ExpectedUpdate {
    /// Derives what `assignment` of `task` must bring.
    pub fn of(task: &TaskRecord, assignment: &AssignmentRecord) -> Self {
        let is_evaluation = assignment.purpose == Purpose::Evaluation;
        let is_summed = !is_evaluation && task.description.sums_on_arrival();
        let recipes: Vec<Recipe> = task.description.recipes().map(|(_, recipe)| recipe.clone()).collect();
        let is_compressed = !is_evaluation && !recipes.is_empty();
        let compression = is_compressed.then(|| Arc::new((task.schema.clone(), recipes)));
        let plan = &task.description.plan;
        let withheld = !task.description.privacy.is_none() || plan.example_privacy.is_some();
        let work = if is_evaluation { Work::Evaluation } else { Work::Training };
        Self {
            assignment_id: assignment.id,
            round_id: assignment.round_id,
            base_version: assignment.base_version,
            schema_digest: task.schema.digest(),
            parameter_count: if is_evaluation { 0 } else { task.schema.parameter_count() as usize },
            grid: task.description.grid,
            compression,
            metrics: MetricBounds::of(plan, work, withheld),
            norm_max: None,
            counted_as: task.description.privacy.is_none().then(|| NetworkClass::of(&assignment.slices)),
            summed_by: is_summed.then_some(task.description.aggregator),
        }
    }

    /// An update of version 0 for a model without a schema.
    #[cfg(test)]
    pub(crate) fn summed(
        assignment_id: AssignmentId,
        round_id: RoundId,
        (parameter_count, grid): (usize, ValueGrid),
        aggregator: AggregatorChoice,
    ) -> Self {
        Self {
            assignment_id,
            round_id,
            base_version: 0,
            schema_digest: [0; 32],
            parameter_count,
            grid,
            compression: None,
            metrics: MetricBounds { examples_min: 0, examples_max: 1_000_000, steps_max: 1_000_000 },
            norm_max: None,
            counted_as: None,
            summed_by: aggregator.is_streaming().then_some(aggregator),
        }
    }

    /// Says whether an update may have so many bytes. One that is compressed may have any number from a header's up to that
    /// of float32, and a little more where compressing does not pay.
    pub fn may_have(&self, bytes: u64) -> bool {
        let dense = update_bytes(self.parameter_count as u64);
        match &self.compression {
            None => dense == Some(bytes),
            Some(_) => dense.is_some_and(|dense| {
                bytes >= HEADER_BYTES as u64
                    && bytes <= dense.saturating_add(dense / 4).saturating_add(PAYLOAD_ROOM)
            }),
        }
    }

    /// Returns how the values of an update travel, as tasks name it: by one of these recipes, or by none.
    pub fn codec(&self, recipes: &[usize]) -> String {
        let recipe = |place: &usize| self.compression.as_ref()?.1.get(*place).map(|recipe| recipe.codec);
        let mut codecs = recipes.iter().filter_map(recipe);
        match codecs.next() {
            None => FLOAT32.to_owned(),
            Some(first) if codecs.all(|codec| codec == first) => first.to_string(),
            Some(_) => SEVERAL.to_owned(),
        }
    }

    /// Returns how it is combined, if it is summed while it arrives.
    pub fn summed_by(&self) -> Option<AggregatorChoice> {
        self.summed_by
    }

    /// Returns the factor of its values in the sum.
    pub fn factor(&self, weight: u64) -> f64 {
        self.summed_by.map_or(1.0, |aggregator| aggregator.arrival_factor(weight))
    }

    /// Checks a header.
    ///
    /// # Errors
    /// The refusal of the first field that is not as it must be.
    pub fn check(&self, header: &UpdateHeader) -> Result<(), Refusal> {
        let refuse = |code, detail: String| Err(Refusal::new(code, detail));
        if header.assignment_id != self.assignment_id {
            let detail = format!("the update answers assignment {}, not this one", header.assignment_id);
            return refuse(ErrorCode::UpdateMalformed, detail);
        }
        if header.schema_digest != self.schema_digest || header.element_count != self.parameter_count as u64 {
            let detail = format!(
                "the update has {} values of another schema; the plan's model has {}",
                header.element_count, self.parameter_count
            );
            return refuse(ErrorCode::UpdateSchemaMismatch, detail);
        }
        if header.base_version != self.base_version {
            let detail = format!("it is based on version {}, not {}", header.base_version, self.base_version);
            return refuse(ErrorCode::UpdateVersionMismatch, detail);
        }
        if header.weight == 0 || header.weight > self.grid.weight_max {
            let detail = format!("the weight is {}; it must be 1 to {}", header.weight, self.grid.weight_max);
            return refuse(ErrorCode::UpdateWeightOutOfRange, detail);
        }
        self.metrics
            .check(&header.metrics)
            .map_err(|fault| Refusal::new(ErrorCode::UpdateMetricInvalid, fault.to_string()))
    }
}
