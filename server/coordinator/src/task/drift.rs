//! Corrections of local gradients against the drift of clients whose data differ.

use folkmoot_aggregation::AggregatorChoice;
use folkmoot_protocol::{DriftCorrection, LearningRateSchedule, LocalOptimizer, Precision, TrainingPlan};

use super::{Fault, TaskDescription};

impl TaskDescription {
    /// Returns the local training of clients: the plan, with the proximal term or the learning rate that the finalizer needs.
    pub fn client_training(&self) -> TrainingPlan {
        let plan = self.plan.clone();
        match self.finalizer.drift_correction() {
            Some(DriftCorrection::FedDyn { alpha } | DriftCorrection::FedDc { alpha }) => {
                TrainingPlan { proximal_term: alpha, ..plan }
            }
            Some(DriftCorrection::FedCm { alpha }) => {
                let LocalOptimizer::Sgd { learning_rate, momentum, nesterov, weight_decay } = plan.optimizer
                else {
                    return plan;
                };
                let learning_rate = alpha * learning_rate;
                let optimizer = LocalOptimizer::Sgd { learning_rate, momentum, nesterov, weight_decay };
                TrainingPlan { optimizer, ..plan }
            }
            Some(DriftCorrection::Scaffold) | None => plan,
        }
    }

    /// Returns the mean over clients of the local learning rate, summed over the steps of a client's training. `reports` has the
    /// weight and the number of local steps of each update, unless all clients must make the same number. Returns 0 unless
    /// the finalizer is `scaffold`, `fed_dc` or `fed_cm`.
    pub fn local_rate_sum(&self, reports: impl Iterator<Item = (u64, u64)>) -> f64 {
        let drift = self.finalizer.drift_correction();
        let LocalOptimizer::Sgd { learning_rate, .. } = self.plan.optimizer else { return 0.0 };
        let Some(drift) = drift.filter(|drift| drift.downloads_control_variate()) else { return 0.0 };
        let steps = match self.plan.steps_max.filter(|_| reports_do_not_count(self, drift)) {
            Some(steps) => steps.into(),
            None => self.mean_steps(reports),
        };
        steps.max(1.0) * f64::from(learning_rate)
    }

    /// Returns the mean number of steps, in which an update counts as much as in the aggregate.
    fn mean_steps(&self, reports: impl Iterator<Item = (u64, u64)>) -> f64 {
        let is_weighted = self.aggregator == AggregatorChoice::WeightedMean;
        let counted =
            reports.map(|(weight, steps)| (if is_weighted { weight } else { 1 } as f64, steps as f64));
        let (total, sum) =
            counted.fold((0.0, 0.0), |(total, sum), (weight, steps)| (total + weight, sum + weight * steps));
        if total > 0.0 { sum / total } else { 0.0 }
    }
}

/// Records faults if the clients' correction could differ from the algorithm's.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let Some(drift) = description.finalizer.drift_correction() else { return };
    let (kind, plan) = (name(drift), &description.plan);
    let mut refuse = |is_wrong: bool, field: &str, message: &str, remedy: &str| {
        if is_wrong {
            faults.push(Fault::new(field, format!("{kind} {message}"), remedy));
        }
    };
    let policy = description.scheduling.policy();
    refuse(
        policy.flow().is_some(),
        "finalizer.kind",
        "needs rounds, but with this scheduling.kind updates start from several versions, and so from several control variates",
        "choose scheduling.kind = \"synchronous\", or finalizer.kind = \"fed_avg\"",
    );
    refuse(
        plan.proximal_term != 0.0,
        "plan.proximal_term",
        match drift {
            DriftCorrection::FedDyn { .. } | DriftCorrection::FedDc { .. } => {
                "sets the proximal term to finalizer.alpha itself"
            }
            DriftCorrection::Scaffold | DriftCorrection::FedCm { .. } => {
                "estimates the gradient of the loss, to which a proximal term would be added"
            }
        },
        "set proximal_term = 0.0",
    );
    refuse(
        plan.optimizer.is_newton(),
        "plan.optimizer",
        "corrects the gradients of steps, but a step of newton goes along another direction",
        "choose sgd, or finalizer.kind = \"fed_avg\"",
    );
    match drift {
        DriftCorrection::Scaffold | DriftCorrection::FedDyn { .. } | DriftCorrection::FedDc { .. } => {
            validate_kept(description, &mut refuse);
        }
        DriftCorrection::FedCm { .. } => {
            refuse(
                matches!(description.aggregator, AggregatorChoice::FedNova),
                "aggregator.kind",
                "divides the aggregate by the number of local steps, which this rule has done already",
                "choose another aggregator.kind, such as \"weighted_mean\"",
            );
            let field = if plan.personal.is_empty() { "plan.personal_training" } else { "plan.personal" };
            refuse(
                !plan.personal.is_empty() || plan.personal_training.is_some(),
                field,
                "lowers the local learning rate and adds the direction of all clients instead, but tensors that only the client keeps \
                 get no such direction",
                "remove it, or choose finalizer.kind = \"fed_avg\"",
            );
        }
    }
    if drift.downloads_control_variate() {
        validate_steps(plan, &mut refuse);
        if reports_do_not_count(description, drift) {
            validate_equal_steps(plan, policy.asks(), &mut refuse);
        }
    }
}

/// Returns whether every client must make the number of local steps in the plan. The coordinator cannot use the numbers
/// that clients report if masks hide them, if the noise does not protect them, or if the aggregator does not average
/// them.
fn reports_do_not_count(description: &TaskDescription, drift: DriftCorrection) -> bool {
    let is_private = !description.privacy.is_none() || description.plan.example_privacy.is_some();
    let is_plain_mean =
        matches!(description.aggregator, AggregatorChoice::WeightedMean | AggregatorChoice::UniformMean);
    let is_fed_cm = matches!(drift, DriftCorrection::FedCm { .. });
    description.protection.is_masked() || is_fed_cm && (is_private || !is_plain_mean)
}

/// Checks that the coordinator's sum of control variates stays equal to the sum of those that clients keep.
fn validate_kept(description: &TaskDescription, refuse: &mut dyn FnMut(bool, &str, &str, &str)) {
    refuse(
        !description.privacy.is_none() || description.plan.example_privacy.is_some(),
        "finalizer.kind",
        "keeps a control variate of all clients, in which clipping and noise would add up from round to round",
        "choose finalizer.kind = \"fed_avg\" or \"fed_cm\", or remove [privacy] and plan.example_privacy",
    );
    refuse(
        description.plan.personal_training.is_some_and(|one| one.first_epochs().is_none()),
        "plan.personal_training",
        "corrects the gradients of one model, but p_fed_me and apfl train two in the same steps",
        "choose ditto, or finalizer.kind = \"fed_avg\"",
    );
    refuse(
        description.compression.is_some() || !description.compression_choices.is_empty(),
        "compression",
        "compares what clients keep with what they send, but a codec sends something else",
        "remove [compression] and [[compression_choices]]; [downstream] is allowed",
    );
    refuse(
        !matches!(description.aggregator, AggregatorChoice::WeightedMean | AggregatorChoice::UniformMean),
        "finalizer.kind",
        "sums up the clients' changes, but this aggregator.kind shortens, scales or drops some",
        "choose aggregator.kind = \"weighted_mean\" or \"uniform_mean\"",
    );
    refuse(
        description.evaluation.as_ref().is_some_and(|one| one.rollback_margin.is_some()),
        "evaluation.rollback_margin",
        "cannot go back to an earlier version, because clients have already changed their control variates",
        "remove rollback_margin",
    );
}

/// Checks that the coordinator can compute a client's mean gradient from its update.
fn validate_steps(plan: &TrainingPlan, refuse: &mut dyn FnMut(bool, &str, &str, &str)) {
    refuse(
        !matches!(plan.optimizer, LocalOptimizer::Sgd { momentum: 0.0, nesterov: false, .. }),
        "plan.optimizer",
        "takes the mean gradient of a client from its update, which only plain SGD allows",
        "choose sgd without momentum",
    );
    let is_constant = plan.learning_rate_schedule == LearningRateSchedule::Constant;
    refuse(
        !is_constant || plan.warmup_steps > 0 || !plan.learning_rate_factors.is_empty(),
        "plan.learning_rate_schedule",
        "divides updates by the local learning rate, which must be the same in each step",
        "remove the local schedule and set finalizer.schedule instead",
    );
    refuse(
        plan.precision == Precision::Mixed,
        "plan.precision",
        "divides updates by the number of local steps, but mixed precision skips some",
        "set precision = \"single\"",
    );
}

/// Checks that the coordinator knows the number of local steps without reports.
fn validate_equal_steps(plan: &TrainingPlan, asks: bool, refuse: &mut dyn FnMut(bool, &str, &str, &str)) {
    refuse(
        plan.steps_max.is_none_or(|steps| steps > plan.epochs),
        "plan.steps_max",
        "divides updates by the number of local steps. With masks, and for fed_cm also with privacy or an aggregator other than a \
         plain mean, this number must be the same on each client",
        "set plan.steps_max to the number of steps, and plan.epochs to at least as many, so that a client with a single batch \
         also reaches it; for fed_cm without masks and privacy, aggregator.kind = \"weighted_mean\" is enough",
    );
    refuse(
        plan.time_limit_seconds.is_some() || asks,
        if asks { "scheduling.kind" } else { "plan.time_limit_seconds" },
        "needs the same number of local steps on each client, so no training may end early",
        if asks { "choose scheduling.kind = \"synchronous\"" } else { "remove time_limit_seconds" },
    );
}

fn name(drift: DriftCorrection) -> &'static str {
    match drift {
        DriftCorrection::Scaffold => "scaffold",
        DriftCorrection::FedDyn { .. } => "fed_dyn",
        DriftCorrection::FedDc { .. } => "fed_dc",
        DriftCorrection::FedCm { .. } => "fed_cm",
    }
}
