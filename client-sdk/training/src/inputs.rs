use folkmoot_engine::{Model, TrainedPart, TrainingOutcome, Travelling};
use folkmoot_protocol::{
    Codec, DEVICE_RULES_MAX, DeviceRule, DriftCorrection, Plan, Work,
    messages::{AbortReason, Artifact, Assignment},
};

use folkmoot_update::codec::decode_parts;

use crate::{Budget, FinishedWork, OwnTensors, WorkError, with_model, with_own, with_personal};

/// The verified inputs of an assignment.
#[derive(Debug)]
pub struct Inputs {
    /// The plan.
    pub plan: Plan,
    /// The model.
    pub model: Model,
    /// The values that travel: the tensors of the plan's schema.
    pub travelling: Travelling,
    /// The weights to start from: all weights of the model, flat. Personal tensors have this client's own values. With
    /// clusters, the weights of [`Self::cluster`].
    pub starting_weights: Vec<f32>,
    /// All weights of the client's own model, flat. In an evaluation, the weights with which the client predicts.
    /// `None` if the client has no own model, or none yet.
    pub own_weights: Option<Vec<f32>>,
    /// The share of the client's own model in its predictions (APFL). `None` if the client has no own model, or none
    /// yet.
    pub own_share: Option<f32>,
    /// All weights of the client's replica, flat. With elastic averaging, a training begins with them instead of the
    /// starting weights. With model contrast, they are the result of the client's previous training. `None` if the
    /// client has no replica, or none yet.
    pub replica: Option<Vec<f32>>,
    /// The parts of the constant that is added to each gradient. Each part has one number for each element of the
    /// plan's schema. `None` if all numbers are 0.
    pub correction: Option<Vec<f32>>,
    /// The cluster of the starting weights, counted from 0. Before a [`ClusterChoice`](crate::ClusterChoice), it is the
    /// cluster of the client's last training, or else the cluster with the largest share. `None` if the plan has no
    /// clusters.
    pub cluster: Option<usize>,
    /// The values of all clusters, until one is chosen. Empty if there is nothing to choose: without clusters, and for an evaluation by a
    /// client that has a cluster.
    pub(crate) cluster_values: Vec<f32>,
    /// The width of the model and its starting weights, counted from 0; see [`Inputs::choose_width`]. `None` for the whole model.
    pub width: Option<usize>,
    /// True if an evaluation sums every metric, and not only the loss and the correct predictions.
    pub metric_sums: bool,
}

impl Inputs {
    /// Checks that the plan, model and weights belong to the assignment and are within the budget. The budget is
    /// checked before anything is read. Lowers the plan's limits to the budget's. `read` must return verified blobs.
    /// `own` is the [`FinishedWork::own`] of this client's last training of the task; if it cannot be used, it is
    /// ignored.
    ///
    /// # Errors
    /// [`AbortReason::Declined`] if the assignment exceeds the budget,
    /// [`AbortReason::FetchFailed`] if the number of weights differs from the number of parameters,
    /// [`AbortReason::PlanUnsupported`] if this build cannot do what the plan asks,
    /// and errors of `read`.
    pub fn of(
        assignment: &Assignment,
        plan: Plan,
        own: Option<&[u8]>,
        budget: &Budget,
        read: impl Fn(Artifact) -> Result<Vec<u8>, WorkError>,
    ) -> Result<Self, WorkError> {
        budget.allows(assignment, &plan)?;
        let plan = budget.lower(plan);
        // Without the feature, `parse_plan` refuses a plan with masks.
        #[cfg(feature = "secure-aggregation")]
        check_masked(assignment, &plan)?;
        if plan.model != assignment.model.digest {
            return Err(WorkError::new(AbortReason::PlanUnsupported, "the plan is for another model"));
        }
        let model = Model::from_onnx(&read(assignment.model)?, &budget.import_limits());
        let model = model.map_err(|error| WorkError::new(AbortReason::PlanUnsupported, error))?;
        let model = with_output(&plan, &model)?;
        let travelling = travelling(&plan, &model)?;
        let part = travelling.part();
        let values = read_weights(assignment.weights, &assignment.weights_parts, &travelling, &read)?;
        let own = own.map(|stored| OwnTensors::decode(part, stored)).unwrap_or_default();
        let cluster = travelling.cluster_of(&values, own.cluster);
        let (mut starting_weights, cluster_values) = match cluster {
            Some(cluster) if plan.work == Work::Training || own.cluster.is_none() => {
                (whole_of(&travelling, &values, cluster)?, values)
            }
            _ => (whole(&travelling, values, cluster)?, Vec::new()),
        };
        with_personal(part, &own, &mut starting_weights);
        let own_weights = (!own.model.is_empty()).then(|| {
            let mut whole = starting_weights.clone();
            match plan.work {
                Work::Training => with_model(part, &own, &mut whole),
                Work::Evaluation => with_own(part, &own, &mut whole),
            }
            whole
        });
        let slots = plan.drift_correction.map_or(1, DriftCorrection::downloaded_values) as usize;
        let count = slots.max(1) * travelling.value_count();
        let shared =
            assignment.control_variate.map(|artifact| parse_values(&read(artifact)?, count)).transpose()?;
        let correction = plan.drift_correction.and_then(|drift| own.correction(drift, shared));
        let replica = match plan.work {
            Work::Training => own.replica_from(part, &starting_weights),
            Work::Evaluation => None,
        };
        let metric_sums = assignment.metric_sums;
        Ok(Self {
            plan,
            model,
            travelling,
            starting_weights,
            own_weights,
            own_share: own.share,
            replica,
            correction,
            cluster,
            cluster_values,
            width: None,
            metric_sums,
        })
    }

    /// Returns the weights with which this client predicts.
    pub fn own_or_starting_weights(&self) -> &[f32] {
        self.own_weights.as_ref().unwrap_or(&self.starting_weights)
    }

    /// Returns the trained part of the model.
    pub fn part(&self) -> &TrainedPart {
        let narrow = self.width.and_then(|width| self.travelling.narrow(width));
        narrow.map_or_else(|| self.travelling.part(), |(_, part)| part)
    }

    /// Returns the work with this outcome, as the coordinator and the client's next training need it.
    pub fn finished(
        &self,
        assignment: Assignment,
        mut outcome: TrainingOutcome,
        held_example_count: u64,
    ) -> FinishedWork {
        let own = self.own_after(&outcome);
        outcome.delta = sent(&self.plan, outcome.delta);
        let of_widths = self.travelling.width_count().map(|_| self.width.unwrap_or(0));
        if let Some(part) = self.cluster.or(of_widths).filter(|_| !outcome.delta.is_empty()) {
            outcome.delta = self.travelling.update(outcome.delta, part);
        }
        FinishedWork { assignment, plan: self.plan.clone(), outcome, held_example_count, own }
    }

    /// Returns the bytes to keep for the client's next training of the task: its [`OwnTensors`]. Returns `None` after an
    /// evaluation, and if there are none.
    fn own_after(&self, outcome: &TrainingOutcome) -> Option<Vec<u8>> {
        // The number of weights differs only after an evaluation, which has none.
        let own = OwnTensors::after(self.part(), &self.plan, self.correction.as_deref(), outcome);
        OwnTensors { cluster: self.cluster, ..own.ok()? }.encode(self.part())
    }
}

/// Returns the part of a training's change that is sent: all of it, unless the client keeps a replica.
pub fn sent(plan: &Plan, mut change: Vec<f32>) -> Vec<f32> {
    if let Some(elastic) = plan.training.elastic_averaging {
        elastic.scale(&mut change);
    }
    change
}

/// Checks that the assignment asks for an exchange of messages exactly if the plan does. A coordinator must not be able to
/// switch masks off. Masks for a committee are in the plan alone.
#[cfg(feature = "secure-aggregation")]
fn check_masked(assignment: &Assignment, plan: &Plan) -> Result<(), WorkError> {
    let is_masked = plan.work == Work::Training && plan.protection.exchange().is_some();
    if assignment.is_masked == is_masked {
        return Ok(());
    }
    let detail = "the assignment and the plan contradict each other about masked updates";
    Err(WorkError::new(AbortReason::PlanUnsupported, detail))
}

/// Parses a plan.
///
/// # Errors
/// [`AbortReason::PlanUnsupported`] if this build cannot do what the plan asks.
pub fn parse_plan(bytes: &[u8]) -> Result<Plan, WorkError> {
    let unsupported = |detail: String| WorkError::new(AbortReason::PlanUnsupported, detail);
    let plan: Plan = serde_json::from_slice(bytes).map_err(|error| unsupported(format!("plan: {error}")))?;
    plan.schema.validate().map_err(|error| unsupported(error.to_string()))?;
    plan.training.validate().map_err(|error| unsupported(error.to_string()))?;
    check_device_rules(&plan.device_rules).map_err(unsupported)?;
    #[cfg(not(target_family = "wasm"))]
    if let Some(schema) = plan.data_schema().map_err(|fault| unsupported(fault.to_owned()))? {
        schema.check_for_plan().map_err(|fault| unsupported(format!("schema of the data: {fault}")))?;
        if !schema.has_labels() && plan.training.loss != folkmoot_protocol::Loss::ModelOutput {
            return Err(unsupported("the schema of the data has no label for the loss".into()));
        }
    }
    if plan.codec != Codec::None {
        return Err(unsupported(format!("this build does not support the plan's codec {}", plan.codec)));
    }
    if let Some(terms) = plan.protection.exchange() {
        terms.check().map_err(|fault| unsupported(fault.to_string()))?;
    }
    if let Some(terms) = plan.protection.committee() {
        terms.check().map_err(|fault| unsupported(fault.to_string()))?;
    }
    Ok(plan)
}

/// Refuses invalid rules as the plan's fault, before they are evaluated on this device.
fn check_device_rules(rules: &[DeviceRule]) -> Result<(), String> {
    if rules.len() > DEVICE_RULES_MAX {
        return Err(format!("the plan has more than {DEVICE_RULES_MAX} device rules, the maximum"));
    }
    let faults = rules.iter().enumerate().filter_map(|(index, rule)| Some((index, rule.validate().err()?)));
    faults.map(|(index, fault)| format!("device rule {index}: {fault}")).next().map_or(Ok(()), Err)
}

/// Returns the model with the output that the plan trains.
///
/// # Errors
/// [`AbortReason::PlanUnsupported`] if the model has no such output.
pub fn with_output(plan: &Plan, model: &Model) -> Result<Model, WorkError> {
    model.for_plan(&plan.training).map_err(|error| WorkError::new(AbortReason::PlanUnsupported, error))
}

/// Finds the values that travel under the plan. They must match the plan's schema.
///
/// # Errors
/// [`AbortReason::PlanUnsupported`] if names, shapes or order differ.
pub fn travelling(plan: &Plan, model: &Model) -> Result<Travelling, WorkError> {
    let unsupported = |detail: String| WorkError::new(AbortReason::PlanUnsupported, detail);
    let travelling = Travelling::of(model, &plan.training).map_err(|error| unsupported(error.to_string()))?;
    match travelling.difference_from(&plan.schema) {
        None => Ok(travelling),
        // Versions may differ in what they train, for example in constants that an exporter wrote as weights.
        Some(difference) => Err(unsupported(format!(
            "the plan's schema does not match the tensors that this version of the client would train: {difference}; \
             update the client or create the task again"
        ))),
    }
}

/// Reads the values that travel, or the parts that replace them.
///
/// # Errors
/// As [`Inputs::of`].
pub fn read_weights(
    exact: Artifact,
    parts: &[Artifact],
    travelling: &Travelling,
    read: impl Fn(Artifact) -> Result<Vec<u8>, WorkError>,
) -> Result<Vec<f32>, WorkError> {
    if parts.is_empty() {
        return parse_weights(&read(exact)?, travelling);
    }
    let parts = parts.iter().map(|part| read(*part)).collect::<Result<Vec<_>, _>>()?;
    parse_parts(parts.iter().map(Vec::as_slice), travelling)
}

/// Parses the values of a version that travel: one float32 value for each element of the plan's schema.
///
/// # Errors
/// [`AbortReason::FetchFailed`] if their number differs from the number of the schema's elements.
pub fn parse_weights(bytes: &[u8], travelling: &Travelling) -> Result<Vec<f32>, WorkError> {
    parse_values(bytes, travelling.value_count())
}

fn parse_values(bytes: &[u8], count: usize) -> Result<Vec<f32>, WorkError> {
    let (values, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() || values.len() != count {
        let detail = format!("the weights have {} bytes, which is not {count} float32 values", bytes.len());
        return Err(WorkError::new(AbortReason::FetchFailed, detail));
    }
    Ok(values.iter().map(|value| f32::from_le_bytes(*value)).collect())
}

/// Adds up the values of a version that comes in parts. The first part is a whole version, the others are changes.
///
/// # Errors
/// [`AbortReason::FetchFailed`] if a part does not match the schema.
pub fn parse_parts<'a>(
    parts: impl IntoIterator<Item = &'a [u8]>,
    travelling: &Travelling,
) -> Result<Vec<f32>, WorkError> {
    let values = decode_parts(&travelling.schema(), parts);
    values.map_err(|error| WorkError::new(AbortReason::FetchFailed, error))
}

/// Returns the weights with which a client predicts, given a version's shared weights, and the [`FinishedWork::own`] of
/// the client's last training of the task.
///
/// # Errors
/// [`AbortReason::FetchFailed`] if the values do not fit the schema.
pub fn predicting_weights(
    travelling: &Travelling,
    values: Vec<f32>,
    own: Option<&[u8]>,
) -> Result<Vec<f32>, WorkError> {
    let own = own.map(|stored| OwnTensors::decode(travelling.part(), stored)).unwrap_or_default();
    let cluster = travelling.cluster_of(&values, own.cluster);
    let mut weights = whole(travelling, values, cluster)?;
    with_own(travelling.part(), &own, &mut weights);
    Ok(weights)
}

fn whole(travelling: &Travelling, values: Vec<f32>, cluster: Option<usize>) -> Result<Vec<f32>, WorkError> {
    travelling.fill(values, cluster).map_err(|error| WorkError::new(AbortReason::FetchFailed, error))
}

/// Returns all weights of one cluster's model.
///
/// # Errors
/// [`AbortReason::FetchFailed`] if the values do not fit the schema.
pub(crate) fn whole_of(
    travelling: &Travelling,
    values: &[f32],
    cluster: usize,
) -> Result<Vec<f32>, WorkError> {
    let filled = travelling.fill_cluster(values, Some(cluster));
    filled.map_err(|error| WorkError::new(AbortReason::FetchFailed, error))
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{ImportLimits, onnx::build::mlp};
    use folkmoot_protocol::{DeviceCondition, Protection, Work, secure::Threat};
    use folkmoot_work::samples;

    use super::*;

    #[test]
    fn weights_have_to_be_whole_and_as_many_as_parameters() {
        let (plan, model) =
            (samples::plan().training, Model::from_onnx(&mlp(&[1, 1], 1), &ImportLimits::default()));
        let part = Travelling::of(&model.unwrap(), &plan).unwrap();
        let bytes = [1.0f32, -2.0, 3.0].map(f32::to_le_bytes).concat();
        assert_eq!(parse_weights(&bytes[..8], &part), Ok(vec![1.0, -2.0]));
        assert!(parse_weights(&bytes, &part).is_err());
        assert!(parse_weights(&bytes[..7], &part).is_err());
    }

    #[test]
    fn device_rules_that_make_no_sense_are_the_plans_fault() {
        let rule = |condition| DeviceRule { attribute: "age".into(), condition };
        let plan = |device_rules| serde_json::to_vec(&Plan { device_rules, ..samples::plan() }).unwrap();
        let fine = rule(DeviceCondition::AtLeast(18.0));
        assert!(parse_plan(&plan(vec![fine.clone(); DEVICE_RULES_MAX])).is_ok());
        let faulty = vec![fine.clone(), rule(DeviceCondition::OneOf(vec![]))];
        for (rules, word) in [(vec![fine; DEVICE_RULES_MAX + 1], "more than 32"), (faulty, "device rule 1")] {
            let error = parse_plan(&plan(rules)).unwrap_err();
            assert_eq!(error.reason, AbortReason::PlanUnsupported);
            assert!(error.detail.contains(word), "{}", error.detail);
        }
    }

    #[test]
    fn a_plan_with_a_word_of_the_future_is_unsupported() {
        let error = parse_plan(br#"{"codec":"from_the_future"}"#).unwrap_err();
        assert_eq!(error.reason, AbortReason::PlanUnsupported);
    }

    #[test]
    fn a_coordinator_cannot_switch_masks_off_or_on() {
        let terms = samples::secure_terms(Threat::HonestButCurious);
        let plain = samples::plan();
        let secure = Plan { protection: Protection::SecureAggregation(terms), ..samples::plan() };
        let evaluation = Plan { work: Work::Evaluation, ..secure.clone() };
        for (plan, is_masked, is_right) in [
            (&plain, false, true),
            (&plain, true, false),
            (&secure, true, true),
            (&secure, false, false),
            (&evaluation, false, true),
            (&evaluation, true, false),
        ] {
            let assignment = Assignment { is_masked, ..samples::assignment() };
            let checked = check_masked(&assignment, plan);
            assert_eq!(checked.is_ok(), is_right, "{:?} {is_masked}", plan.protection);
        }
    }
}
