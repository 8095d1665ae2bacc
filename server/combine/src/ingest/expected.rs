use std::sync::Arc;

use folkmoot_aggregation::AggregatorChoice;
use folkmoot_coordinator::{round::Purpose, task::TaskDescription};
use folkmoot_protocol::{
    AssignmentId, ErrorCode, Recipe, RoundId, TensorSchema, ValueGrid, Work,
    saturating::to_length,
    update::{
        HEADER_BYTES, MetricBounds, UpdateHeader, UpdateMetrics,
        sums::{FineTuned, SumShape},
        update_bytes,
    },
};
use folkmoot_secure_aggregation::{Ring, seal_bytes};
use folkmoot_storage::{AssignmentRecord, TaskRecord};
use folkmoot_unmasking::masked_bytes;

use super::tally::Tally;
use crate::{network_class::NetworkClass, parts::PartPlaces, refusal::Refusal};

/// The maximum number of bytes of a payload in addition to its values, for tags and lengths.
const PAYLOAD_ROOM: u64 = 64 << 10;

/// The codec name of uncompressed values.
pub const FLOAT32: &str = "float32";

/// The codec name of a masked update.
pub(super) const MASKED: &str = "masked";

/// The codec name of an update whose tensors use several codecs.
const SEVERAL: &str = "several";

/// Returns whether clients may report metrics of their examples: `false` if the task promises privacy to clients or to
/// examples.
pub fn reports_metrics(description: &TaskDescription) -> bool {
    description.privacy.is_none() && description.plan.example_privacy.is_none()
}

/// The assignment of an update.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// The round that gave the assignment.
    pub round_id: RoundId,
    /// The version that the update is based on.
    pub base_version: u64,
    /// The purpose of the round.
    pub purpose: Purpose,
}

/// The properties that an assignment's update must have.
#[derive(Clone, Debug)]
pub struct ExpectedUpdate {
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// The round that gave the assignment.
    pub round_id: RoundId,
    /// The version that the update is based on.
    pub base_version: u64,
    /// The digest of the model's schema.
    pub schema_digest: [u8; 32],
    /// The number of parameters that clients send.
    pub parameter_count: usize,
    /// The grid on which the update is summed.
    pub grid: ValueGrid,
    /// The model's tensors, and the recipes that the client may use to compress them. `None` if updates travel as
    /// float32.
    pub compression: Option<Arc<(TensorSchema, Vec<Recipe>)>>,
    /// The allowed ranges of the update's metrics.
    pub metrics: MetricBounds,
    /// The largest allowed L2 norm, in steps of the grid. `None` if updates are not clipped.
    pub norm_max: Option<u64>,
    /// The network class under which the metrics count the upload's bytes. `None` for private tasks, whose updates are
    /// not counted.
    pub counted_as: Option<NetworkClass>,
    /// The shapes of sums that may follow the header of an evaluation's update. Empty if no sums may follow.
    pub sum_shapes: Arc<[SumShape]>,
    /// True if the client measures before and after a fine-tuning.
    pub is_fine_tuned: bool,
    /// The ring of a masked update; `None` if updates are not masked.
    pub ring: Option<Ring>,
    /// The number of bytes that follow a masked update for a committee; 0 without one.
    pub seal_bytes: u64,
    /// The places of the task's clusters or widths; `None` if it has neither, and for evaluations.
    pub parts: Option<PartPlaces>,
    /// The aggregator that determines the update's factor in the sum. `None` if updates are not summed on arrival.
    summed_by: Option<AggregatorChoice>,
}

impl ExpectedUpdate {
    /// Derives the properties that the update for `assignment` of `task` must have.
    pub fn of(task: &TaskRecord, assignment: &AssignmentRecord) -> Self {
        let origin = Origin {
            assignment_id: assignment.id,
            round_id: assignment.round_id,
            base_version: assignment.base_version,
            purpose: assignment.purpose,
        };
        let of_network = || NetworkClass::of(&assignment.slices);
        let counted_as = task.description.privacy.is_none().then(of_network);
        Self { counted_as, ..Self::derived(&task.description, &task.schema, origin) }
    }

    /// Derives the properties of an update without the record of its assignment. The metrics do not count it.
    pub fn derived(description: &TaskDescription, schema: &TensorSchema, origin: Origin) -> Self {
        let is_evaluation = origin.purpose == Purpose::Evaluation;
        let is_summed = !is_evaluation && description.sums_on_arrival();
        let recipes: Vec<Recipe> = description.recipes().map(|(_, recipe)| recipe.clone()).collect();
        let is_compressed = !is_evaluation && !recipes.is_empty();
        let compression = is_compressed.then(|| Arc::new((schema.clone(), recipes)));
        let plan = &description.plan;
        let withheld = !reports_metrics(description);
        let work = if is_evaluation { Work::Evaluation } else { Work::Training };
        Self {
            assignment_id: origin.assignment_id,
            round_id: origin.round_id,
            base_version: origin.base_version,
            schema_digest: schema.digest(),
            parameter_count: if is_evaluation { 0 } else { to_length(schema.parameter_count()) },
            grid: description.grid,
            compression,
            metrics: MetricBounds::of(plan, work, withheld),
            norm_max: None,
            counted_as: None,
            sum_shapes: Arc::default(),
            is_fine_tuned: is_evaluation && description.fine_tuning().is_some(),
            ring: description.ring(schema.parameter_count()).filter(|_| !is_evaluation),
            seal_bytes: description.committee_terms().map_or(0, |terms| seal_bytes(&terms) as u64),
            parts: PartPlaces::of(plan, schema).filter(|_| !is_evaluation),
            summed_by: is_summed.then(|| description.aggregator.clone()),
        }
    }

    /// Returns the properties of an update in a summing round, based on version 0 of a model without a schema.
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
            sum_shapes: Arc::default(),
            is_fine_tuned: false,
            ring: None,
            seal_bytes: 0,
            parts: None,
            summed_by: aggregator.is_streaming().then_some(aggregator),
        }
    }

    /// Returns whether an update may have this number of bytes. A compressed update may be slightly longer than an
    /// uncompressed one, because compression does not always shorten it. Sums may follow the header of an evaluation.
    pub fn may_have(&self, bytes: u64) -> bool {
        if let Some(ring) = self.ring {
            return bytes == masked_bytes(ring, self.parameter_count as u64) + self.seal_bytes;
        }
        let dense = update_bytes(self.parameter_count as u64);
        match &self.compression {
            None => dense.is_some_and(|dense| {
                let sums_max =
                    self.sum_shapes.iter().map(|shape| shape.bytes_max()).max().unwrap_or_default();
                let (least, most) = match self.is_fine_tuned {
                    true => (FineTuned::BYTES_MIN, FineTuned::BYTES_MIN + 2 * sums_max),
                    false => (0, sums_max),
                };
                (dense.saturating_add(least)..=dense.saturating_add(most)).contains(&bytes)
            }),
            Some(_) => dense.is_some_and(|dense| {
                bytes >= HEADER_BYTES as u64
                    && bytes <= dense.saturating_add(dense / 4).saturating_add(PAYLOAD_ROOM)
            }),
        }
    }

    /// Returns the codec of an update with these recipes, by its name in a task file: `float32` without recipes,
    /// `several` for a mixture.
    pub fn codec(&self, recipes: &[usize]) -> String {
        let recipe = |place: &usize| self.compression.as_ref()?.1.get(*place).map(|recipe| recipe.codec);
        let mut codecs = recipes.iter().filter_map(recipe);
        match codecs.next() {
            None => FLOAT32.to_owned(),
            Some(first) if codecs.all(|codec| codec == first) => first.to_string(),
            Some(_) => SEVERAL.to_owned(),
        }
    }

    /// Returns whether an update can have a codec of this name.
    pub fn may_have_codec(&self, codec: &str) -> bool {
        let recipes = self.compression.iter().flat_map(|compression| &compression.1);
        match self.ring {
            Some(_) => codec == MASKED,
            None => {
                codec == FLOAT32
                    || (self.compression.is_some() && codec == SEVERAL)
                    || recipes.into_iter().any(|recipe| recipe.codec.to_string() == codec)
            }
        }
    }

    /// Returns the contribution to the metrics of an update with this codec and size; `None` if they must not count it.
    pub fn tally(&self, codec: &str, bytes: u64) -> Option<Tally> {
        let network = self.counted_as?.name();
        let codec = codec.split(':').next().unwrap_or_default().to_owned();
        Some(Tally { codec, network, bytes, float32_bytes: update_bytes(self.parameter_count as u64)? })
    }

    /// Returns the aggregator; `None` if updates are not summed on arrival.
    pub fn summed_by(&self) -> Option<&AggregatorChoice> {
        self.summed_by.as_ref()
    }

    /// Returns the factor by which the values of an update with this weight are multiplied in the sum.
    pub fn factor(&self, weight: u64) -> f64 {
        self.summed_by.as_ref().map_or(1.0, |aggregator| aggregator.arrival_factor(weight))
    }

    /// Checks an update's header.
    ///
    /// # Errors
    /// A refusal for the first invalid field.
    pub fn check(&self, header: &UpdateHeader) -> Result<(), Refusal> {
        let schema = (header.schema_digest, header.element_count);
        self.check_origin(header.assignment_id, schema, header.base_version)?;
        self.check_facts(header.weight, &header.metrics)
    }

    /// Checks the weight and metrics of an update.
    ///
    /// # Errors
    /// A refusal for the first invalid number.
    pub fn check_facts(&self, weight: u64, metrics: &UpdateMetrics) -> Result<(), Refusal> {
        if weight == 0 || weight > self.grid.weight_max {
            let detail = format!("the weight is {weight}; it must be 1 to {}", self.grid.weight_max);
            return Err(Refusal::new(ErrorCode::UpdateWeightOutOfRange, detail));
        }
        self.metrics
            .check(metrics)
            .map_err(|fault| Refusal::new(ErrorCode::UpdateMetricInvalid, fault.to_string()))
    }

    /// Checks that an update belongs to this assignment, schema and version.
    ///
    /// # Errors
    /// A refusal for the first that differs.
    pub fn check_origin(
        &self,
        assignment_id: AssignmentId,
        (schema_digest, element_count): ([u8; 32], u64),
        base_version: u64,
    ) -> Result<(), Refusal> {
        let refuse = |code, detail: String| Err(Refusal::new(code, detail));
        if assignment_id != self.assignment_id {
            let detail = format!(
                "the update's header names assignment {assignment_id}, but the URL names another one; use the same id in both"
            );
            return refuse(ErrorCode::UpdateMalformed, detail);
        }
        if schema_digest != self.schema_digest || element_count != self.parameter_count as u64 {
            let detail = format!(
                "the update has {element_count} values, or values of another schema; the plan's model has {} values",
                self.parameter_count
            );
            return refuse(ErrorCode::UpdateSchemaMismatch, detail);
        }
        if base_version != self.base_version {
            let detail = format!(
                "the update is based on version {base_version}; the assignment is for version {}",
                self.base_version
            );
            return refuse(ErrorCode::UpdateVersionMismatch, detail);
        }
        Ok(())
    }
}
