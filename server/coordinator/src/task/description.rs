use folkmoot_protocol::{PopulationName, Protection, Recipe, Timestamp, TrainingPlan, ValueGrid};
use serde::{Deserialize, Serialize};

use super::{
    CompressionChoice, Downstream, Eligibility, Evaluation, Fault, Ineligible, StopConditions, Traffic,
};
use crate::{
    aggregation::AggregatorChoice,
    finalizer::FinalizerChoice,
    participation::{Waiting, leave_one_device_per_user},
    privacy::{PrivacyChoice, PrivacyContext, Terms},
    round::Round,
    scheduling::{Sampled, SchedulingChoice},
    selection::SelectionChoice,
};

/// What a task is: the composition of independent parts, each one choice of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskDescription {
    /// A name for humans.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128), extend("examples" = ["digits"])))]
    pub name: String,
    /// Whose clients train it.
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,63}$"), extend("examples" = ["digits"])))]
    pub population: PopulationName,
    /// What a client computes.
    pub plan: TrainingPlan,
    /// Which clients may take part.
    #[serde(default)]
    pub eligibility: Eligibility,
    /// Which of the eligible clients take part in a round.
    #[serde(default)]
    pub selection: SelectionChoice,
    /// Which share of a round's clients may come by one enrolment token, above 0 and at most 1: so many of the clients that are
    /// drawn, rounded down, and at least one. In a flow it is a share of the updates of a commit (or of `concurrency`, where
    /// that is less or each update makes a commit), and what trains counts with what has come. By default there is no bound:
    /// all clients of a round may come by one token, and whoever has it can be the whole cohort. Clients whose token is not
    /// known are one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "examples" = [0.1])))]
    pub token_share_max: Option<f64>,
    /// When clients start and versions are committed.
    pub scheduling: SchedulingChoice,
    /// How updates are compressed; by default they travel as float32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Recipe>,
    /// How clients compress that say certain things of themselves, in order: the first that holds, and whose codecs the
    /// client knows, is the client's, else `compression`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 16), extend("default" = [], "examples" = [[]])))]
    pub compression_choices: Vec<CompressionChoice>,
    /// How versions travel to the clients; by default as float32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downstream: Option<Downstream>,
    /// Offers each new version to clients that wait, so that those which train from it need not fetch it first. It costs
    /// a download for everyone who waits, drawn or not, and makes no update less stale.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = false)))]
    pub prefetch: bool,
    /// What tasks of before said in the place of `compression`.
    #[serde(default, rename = "codec", skip_serializing, deserialize_with = "former_codec")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub former_codec: (),
    /// Who may see an update.
    #[serde(default)]
    pub protection: Protection,
    /// What the released versions may reveal of a client.
    #[serde(default, skip_serializing_if = "PrivacyChoice::is_none")]
    pub privacy: PrivacyChoice,
    /// The grid on which updates are summed.
    #[serde(default)]
    pub grid: ValueGrid,
    /// How updates are combined.
    #[serde(default)]
    pub aggregator: AggregatorChoice,
    /// How the aggregate changes the model.
    #[serde(default)]
    pub finalizer: FinalizerChoice,
    /// How the versions are measured; without it only training itself is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// What it gets of the clients, beside other tasks of the population.
    #[serde(default)]
    pub traffic: Traffic,
    /// After how many rounds in a row that were abandoned because too few updates came, or because they could not be combined,
    /// the task is paused. Rounds for which too few clients came do not count. Where clients start one by one, it is so many
    /// times `concurrency` assignments without one update.
    #[serde(
        default = "default_abandoned_rounds_max",
        skip_serializing_if = "is_default_abandoned_rounds_max"
    )]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000), extend("default" = 20)))]
    pub abandoned_rounds_max: u64,
    /// When it is over: give at least one condition.
    pub stop: StopConditions,
}

impl TaskDescription {
    /// Makes the description of a task whose other parts are the defaults.
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
            finalizer: FinalizerChoice::default(),
            evaluation: None,
            traffic: Traffic::default(),
            stop,
        }
    }

    /// Writes down what follows from the rest and takes long to derive, so that it is derived once: the noise multiplier.
    ///
    /// A description with faults stays as it is.
    pub fn settle(&mut self) {
        let Ok(Some(terms)) = Terms::of(self) else { return };
        let multiplier = Some(terms.charge.noise_multiplier.standard_deviation_per_clipping_norm());
        match &mut self.privacy {
            PrivacyChoice::None => {}
            PrivacyChoice::Central(central) => central.noise_multiplier = multiplier,
            PrivacyChoice::Local(local) => local.noise_multiplier = multiplier,
        }
    }

    /// Checks that a client may take part in a round.
    ///
    /// # Errors
    /// The first reason for which it may not.
    pub fn admits(&self, waiting: &Waiting, round: &Round, now: Timestamp) -> Result<(), Ineligible> {
        let is_busy = !self.privacy.is_none() && waiting.user.is_some_and(|user| user.is_busy);
        if is_busy || !self.privacy.allows(waiting.participated(), round.base_version, self.stop.rounds) {
            return Err(Ineligible::PrivacyLimit);
        }
        self.eligibility.admits(waiting, round.number, now)
    }

    /// Returns those who may take part in a round; where privacy is promised, one device of each user.
    pub fn eligible(&self, mut pool: Vec<Waiting>, round: &Round, now: Timestamp) -> Vec<Waiting> {
        pool.retain(|client| self.admits(client, round, now).is_ok());
        if !self.privacy.is_none() {
            leave_one_device_per_user(&mut pool);
        }
        pool
    }

    /// Returns the parts on which the task's privacy rests.
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

    /// Returns the policy of the rounds of a task whose privacy rests on how they are drawn; none for any other.
    pub fn sampled(&self) -> Option<Sampled> {
        self.privacy_context().sampled()
    }

    /// Says whether nobody may be told how many clients its rounds drew, and how many have reported: whoever knows which of the
    /// others were drawn would read from it whether one client was.
    pub fn hides_counts(&self) -> bool {
        self.sampled().is_some()
    }

    /// Says whether updates are summed while they arrive. In a flow what an update is worth is not known before its
    /// round commits.
    pub fn sums_on_arrival(&self) -> bool {
        self.aggregator.is_streaming() && self.scheduling.policy().flow().is_none()
    }
}

impl Terms {
    /// Derives the terms of a description; none for one that promises nothing.
    ///
    /// # Errors
    /// The fault of numbers that do not go together, or with which nothing can be reached.
    pub fn of(description: &TaskDescription) -> Result<Option<Self>, Box<Fault>> {
        Self::derive(&description.privacy_context())
    }
}

/// Enough for a bad hour, and few enough for a task that diverges.
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
            "a task's codec is written as `compression = {{ codec = \"{other}\" }}`"
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
        assert_eq!(faults[0].remedy, "lower it to 32");
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
