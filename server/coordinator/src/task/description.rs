use folkmoot_aggregation::{AggregatorChoice, Bucketing, Mixing, Preparation, finalizer::FinalizerChoice};
use folkmoot_protocol::{DataSchema, PopulationName, Recipe, Timestamp, TrainingPlan, ValueGrid};
use serde::{Deserialize, Serialize};

use super::{
    CompressionChoice, Downstream, Eligibility, Evaluation, Fault, Ineligible, Protection, StopConditions,
    TaskData, Traffic,
};
use crate::{
    participation::{Waiting, leave_one_device_per_user},
    privacy::{PrivacyChoice, PrivacyContext, Terms},
    round::Round,
    scheduling::{Sampled, SchedulingChoice},
    selection::SelectionChoice,
};

/// The description of a task. It combines independent choices, such as selection, scheduling and aggregator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskDescription {
    /// The display name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128), extend("examples" = ["digits"])))]
    pub name: String,
    /// The population whose clients train the task.
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,63}$"), extend("examples" = ["digits"])))]
    pub population: PopulationName,
    /// The work of a client in a round.
    pub plan: TrainingPlan,
    /// The data that clients train on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<TaskData>>,
    /// The requirements on clients that take part.
    #[serde(default)]
    pub eligibility: Eligibility,
    /// The method that draws clients for a round from the eligible ones.
    #[serde(default)]
    pub selection: SelectionChoice,
    /// The largest share of a round's clients from one enrolment token: above 0, at most 1. It limits each token to
    /// this share of the drawn clients, rounded down, but at least one. By default there is no limit, and the holder of
    /// one token can be the whole cohort. All clients with an unknown token form one group.
    ///
    /// In a flow it is a share of the updates of a commit. If `concurrency` is smaller, or if each update makes a
    /// commit, it is a share of `concurrency`. Both training clients and received updates are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "examples" = [0.1])))]
    pub token_share_max: Option<f64>,
    /// The scheduling policy, which decides when clients start and when versions are committed.
    pub scheduling: SchedulingChoice,
    /// The compression of updates. The default is uncompressed float32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Recipe>,
    /// Compression rules by client attribute. The first rule that matches a client, and whose codecs it supports,
    /// applies. Otherwise `compression` applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 16), extend("default" = [], "examples" = [[]])))]
    pub compression_choices: Vec<CompressionChoice>,
    /// The compression of model versions for download. The default is uncompressed float32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downstream: Option<Downstream>,
    /// Offers each new version to waiting clients, so that they have it before they train. Every waiting client
    /// downloads it, drawn or not. It does not reduce the staleness of updates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = false)))]
    pub prefetch: bool,
    /// The former field `codec`, now replaced by `compression`. Only `"none"` is accepted.
    #[serde(default, rename = "codec", skip_serializing, deserialize_with = "former_codec")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub former_codec: (),
    /// The protection of single updates: who may see them.
    #[serde(default)]
    pub protection: Protection,
    /// Limits on what the released versions may reveal about a client.
    #[serde(default, skip_serializing_if = "PrivacyChoice::is_none")]
    pub privacy: PrivacyChoice,
    /// The fixed-point grid on which updates are summed.
    #[serde(default)]
    pub grid: ValueGrid,
    /// The rule that combines updates.
    #[serde(default)]
    pub aggregator: AggregatorChoice,
    /// Mixes each update with its nearest neighbours before a robust rule combines them. Without it, updates are not mixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixing: Option<Mixing>,
    /// Averages random buckets of updates before a robust rule combines them. Without it, the rule gets single updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucketing: Option<Bucketing>,
    /// Scores how unusual each update of a commit is, by its length and direction. By default, the coordinator scores updates that it
    /// reads back from the round log anyway. `true` makes it read them back for every rule, and `false` switches scores off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [true])))]
    pub anomaly_scores: Option<bool>,
    /// The server optimizer that changes the model by the aggregate.
    #[serde(default)]
    pub finalizer: FinalizerChoice,
    /// The evaluation of the versions. Without it, only training metrics are available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// The task's priority and share of the clients, relative to other tasks of the population.
    #[serde(default)]
    pub traffic: Traffic,
    /// The number of consecutive abandoned rounds after which the task is paused. A round is counted if too few updates
    /// were accepted, or if its updates could not be combined. A round with too few clients is not counted. In a flow,
    /// the task is paused after this number times `concurrency` assignments without an update.
    #[serde(
        default = "default_abandoned_rounds_max",
        skip_serializing_if = "is_default_abandoned_rounds_max"
    )]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000), extend("default" = 20)))]
    pub abandoned_rounds_max: u64,
    /// The conditions that end the task. Set at least one.
    pub stop: StopConditions,
}

impl TaskDescription {
    /// Returns whether the coordinator measures versions on the operator's examples.
    pub fn measures_centrally(&self) -> bool {
        self.evaluation.as_ref().is_some_and(|one| one.central)
    }

    /// Creates the description of a task with defaults for everything else.
    pub fn new(
        name: impl Into<String>,
        population: PopulationName,
        plan: TrainingPlan,
        scheduling: SchedulingChoice,
        stop: StopConditions,
    ) -> Self {
        Self {
            name: name.into(),
            population,
            plan,
            data: None,
            eligibility: Eligibility::default(),
            selection: SelectionChoice::default(),
            token_share_max: None,
            scheduling,
            compression: None,
            compression_choices: Vec::new(),
            downstream: None,
            prefetch: false,
            abandoned_rounds_max: default_abandoned_rounds_max(),
            former_codec: (),
            protection: Protection::default(),
            privacy: PrivacyChoice::default(),
            grid: ValueGrid::default(),
            aggregator: AggregatorChoice::default(),
            mixing: None,
            bucketing: None,
            anomaly_scores: None,
            finalizer: FinalizerChoice::default(),
            evaluation: None,
            traffic: Traffic::default(),
            stop,
        }
    }

    /// Returns the preparation of the updates before the aggregator combines them.
    pub fn preparation(&self) -> Preparation {
        match (self.mixing, self.bucketing) {
            (None, None) => Preparation::None,
            (Some(mixing), _) => Preparation::Mixing(mixing),
            (None, Some(bucketing)) => Preparation::Bucketing(bucketing),
        }
    }

    /// Stores the derived noise multiplier in the description, because it is expensive to derive.
    ///
    /// A description with faults is left unchanged.
    pub fn settle(&mut self) {
        let Ok(Some(terms)) = Terms::of(self) else { return };
        let multiplier = Some(terms.charge.noise_multiplier.standard_deviation_per_clipping_norm());
        match &mut self.privacy {
            PrivacyChoice::None => {}
            PrivacyChoice::Central(central) => central.noise_multiplier = multiplier,
            PrivacyChoice::Local(local) => local.noise_multiplier = multiplier,
            PrivacyChoice::Distributed(distributed) => distributed.noise_multiplier = multiplier,
        }
    }

    /// Checks that a client may take part in a round.
    ///
    /// # Errors
    /// The first reason why the client may not take part.
    pub fn admits(&self, waiting: &Waiting, round: &Round, now: Timestamp) -> Result<(), Ineligible> {
        let is_busy = !self.privacy.is_none() && waiting.user.is_some_and(|user| user.is_busy);
        if is_busy || !self.privacy.allows(waiting.participated(), round.base_version, self.stop.rounds) {
            return Err(Ineligible::PrivacyLimit);
        }
        if self.protection.is_masked() && waiting.history.is_suspended(now) {
            return Err(Ineligible::Suspended);
        }
        self.eligibility.admits(waiting, round.number, now)
    }

    /// Returns the clients that may take part in a round. If the task promises privacy, the result has at most one
    /// device per user.
    pub fn eligible(&self, mut pool: Vec<Waiting>, round: &Round, now: Timestamp) -> Vec<Waiting> {
        pool.retain(|client| self.admits(client, round, now).is_ok());
        if !self.privacy.is_none() {
            leave_one_device_per_user(&mut pool);
        }
        pool
    }

    /// Returns the parts of the task that its privacy depends on.
    pub(super) fn privacy_context(&self) -> PrivacyContext<'_> {
        PrivacyContext {
            privacy: &self.privacy,
            scheduling: &self.scheduling,
            selection: &self.selection,
            rounds: self.stop.rounds,
            value_max: f64::from(self.grid.value_max),
            rolls_back: self.evaluation.as_ref().is_some_and(|one| one.rollback_margin.is_some()),
        }
    }

    /// Returns the round policy of a task whose privacy depends on the draw, or `None` for other tasks.
    pub fn sampled(&self) -> Option<Sampled> {
        self.privacy_context().sampled()
    }

    /// Returns the schema by which clients turn their tables or images into numbers. `None` if clients bring numbers, or if the description
    /// still names the schema's file.
    pub fn data_schema(&self) -> Option<&DataSchema> {
        self.data.as_ref()?.schema()
    }

    /// Returns whether the numbers of drawn and reporting clients must stay hidden. With them, anyone who knows
    /// who else was drawn could tell whether one client was.
    pub fn hides_counts(&self) -> bool {
        self.sampled().is_some()
    }

    /// Returns whether updates are summed while they arrive. In a flow, an update's weight is only known when its
    /// round commits. Masked updates are summed when their masks can be removed. FedExP reads single updates, and so do scores.
    pub fn sums_on_arrival(&self) -> bool {
        self.aggregator.is_streaming()
            && self.scheduling.policy().flow().is_none()
            && !self.protection.is_masked()
            && !self.finalizer.extrapolates()
            && self.anomaly_scores != Some(true)
    }
}

impl Terms {
    /// Derives the terms of a description, or `None` if it promises no privacy.
    ///
    /// # Errors
    /// A fault if the numbers contradict each other or cannot reach the budget.
    pub fn of(description: &TaskDescription) -> Result<Option<Self>, Box<Fault>> {
        Self::derive(&description.privacy_context())
    }
}

/// The default tolerates a bad hour, but still stops a task that diverges.
fn default_abandoned_rounds_max() -> u64 {
    20
}

fn is_default_abandoned_rounds_max(rounds: &u64) -> bool {
    *rounds == default_abandoned_rounds_max()
}

fn former_codec<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "none" => Ok(()),
        other => Err(serde::de::Error::custom(format!(
            "`codec` is no longer a field; write `compression = {{ codec = \"{other}\" }}`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::LocalOptimizer;

    use super::*;
    use crate::task::samples::described;

    fn description() -> TaskDescription {
        described(serde_json::json!({}))
    }

    #[test]
    fn a_short_description_is_enough() {
        assert_eq!(description().validate(), []);
    }

    #[test]
    fn every_fault_is_listed_at_once() {
        let mut bad = description();
        bad.name = " ".into();
        bad.plan.batch_size = 0;
        bad.plan.optimizer = LocalOptimizer::Sgd {
            learning_rate: f32::NAN,
            momentum: 1.0,
            nesterov: false,
            weight_decay: -1.0,
        };
        bad.stop.rounds = Some(0);
        let fields: Vec<String> = bad.validate().into_iter().map(|fault| fault.field).collect();
        assert_eq!(
            fields,
            [
                "name",
                "plan.batch_size",
                "plan.optimizer.sgd.learning_rate",
                "plan.optimizer.sgd.momentum",
                "plan.optimizer.sgd.weight_decay",
                "stop.rounds"
            ]
        );
    }

    #[test]
    fn a_cohort_that_could_overflow_is_refused() {
        let mut bad = description();
        bad.grid = ValueGrid { fraction_bits: 40, ..ValueGrid::default() };
        let faults = bad.validate();
        assert_eq!(faults[0].field, "grid.fraction_bits");
        assert_eq!(faults[0].remedy, "lower fraction_bits to 32");
        let mut large = description();
        large.grid = ValueGrid { fraction_bits: 32, ..ValueGrid::default() };
        assert_eq!(large.validate(), []);
        large.scheduling = serde_json::from_value(
            serde_json::json!({ "kind": "synchronous", "report_goal": 9000, "over_selection_factor": 1.3 }),
        )
        .unwrap();
        assert_eq!(large.validate()[0].field, "scheduling.report_goal");
    }
}
