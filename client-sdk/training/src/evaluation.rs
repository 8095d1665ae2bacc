//! Measures the assignment's weights on the local examples, without training steps or gradients.

use std::time::Duration;

use folkmoot_engine::{
    self as engine, EvaluateError, Evaluator, Examples, Inspection, LocalOptimizer, Loss, Metrics, Model,
    TrainingOutcome, TrainingPlan,
};
use folkmoot_protocol::messages::AbortReason;

use crate::{Budget, Inputs, OverBudget, WorkError, misfit, tuning::Tuning};

/// The maximum number of examples in a batch. The stop flag is checked between batches.
const BATCH_EXAMPLES_MAX: usize = 256;
/// The maximum number of floating-point operations in a batch, unless a single example needs more. They take about a
/// tenth of a second on a slow CPU. A stop must be noticed within 250 ms.
const BATCH_FLOPS_MAX: u64 = 500_000_000;

/// Sums the loss and the correct predictions over all examples, and all other metrics if the coordinator asks for them.
/// Each example counts once. One call measures one batch.
///
/// The batch size depends only on the model and the memory limit, and not on the clock. The sums are therefore identical to the bit if they
/// are computed again.
///
/// If the plan fine-tunes, it measures held-out examples, trains on the others, and measures the held-out ones again.
pub struct Evaluation {
    evaluator: Evaluator,
    weights: Vec<f32>,
    examples: Examples,
    batch: usize,
    metrics: Metrics,
    /// All metrics, if the coordinator asked for their sums.
    detail: Option<engine::Evaluation>,
    /// The fine-tuning between two measurements, if the plan has one.
    tuning: Option<Tuning>,
    spent: Duration,
    seconds_max: u64,
}

impl Evaluation {
    /// Starts an evaluation within the budget's time and the plan's memory limit.
    ///
    /// # Errors
    /// [`WorkError`] if the plan is invalid or forbids an evaluation, or there are too few examples.
    pub fn begin(inputs: &Inputs, examples: &Examples, budget: &Budget) -> Result<Self, WorkError> {
        let weights = inputs.own_or_starting_weights().to_vec();
        let detail = inputs.metric_sums.then(engine::Evaluation::default);
        let evaluation = Self { detail, ..Self::of(inputs, weights, examples, budget)? };
        let Some((tuning, examples)) = Tuning::begin(inputs, &evaluation.weights, examples)? else {
            return Ok(evaluation);
        };
        Ok(Self { tuning: Some(tuning), examples, ..evaluation })
    }

    /// Starts an evaluation of these weights, which sums the loss and the correct predictions.
    pub(crate) fn of(
        inputs: &Inputs,
        weights: Vec<f32>,
        examples: &Examples,
        budget: &Budget,
    ) -> Result<Self, WorkError> {
        let plan = &inputs.plan.training;
        plan.validate().map_err(|error| WorkError::new(AbortReason::PlanUnsupported, error))?;
        if plan.example_privacy.is_some() {
            let detail = "an evaluation reports sums over the examples, which plan.example_privacy forbids";
            return Err(WorkError::new(AbortReason::PlanUnsupported, detail));
        }
        if examples.is_empty() {
            return Err(WorkError::new(AbortReason::TrainingFailed, "there are no examples"));
        }
        let mut evaluator = Evaluator::new(&inputs.model, plan.loss);
        evaluator.limit_memory(plan.memory_bytes_max.unwrap_or(u64::MAX));
        Ok(Self {
            evaluator,
            weights,
            examples: examples.clone(),
            batch: batch_size(&inputs.model, plan.loss),
            metrics: Metrics::default(),
            detail: None,
            tuning: None,
            spent: Duration::ZERO,
            seconds_max: budget.training_seconds_max,
        })
    }

    /// Begins again with other weights. The time so far counts.
    pub(crate) fn restart(&mut self, weights: Vec<f32>) {
        self.weights = weights;
        self.metrics = Metrics::default();
        self.detail = self.detail.take().map(|_| engine::Evaluation::default());
    }

    /// Measures the next batch, or takes the next steps of a fine-tuning. Returns whether this was the last batch. The time between
    /// two calls is not counted.
    ///
    /// # Errors
    /// [`WorkError`] if the examples do not fit the model, the evaluation needs too much memory, a fine-tuning diverges, or the time is
    /// up before the last batch.
    pub fn advance(&mut self, stopwatch: &dyn Fn() -> Duration) -> Result<bool, WorkError> {
        let begun = stopwatch();
        let is_over = match self.tuning.as_mut().filter(|tuning| tuning.is_training()) {
            Some(tuning) => {
                if let Some(weights) = tuning.advance(stopwatch)? {
                    self.restart(weights);
                }
                false
            }
            None => self.measure()? && !self.begins_tuning()?,
        };
        self.spent = self.spent.saturating_add(stopwatch().saturating_sub(begun));
        if !is_over && self.spent >= Duration::from_secs(self.seconds_max) {
            return Err(OverBudget::Evaluation { max: self.seconds_max }.into());
        }
        Ok(is_over)
    }

    /// Returns whether a fine-tuning begins, now that the version is measured.
    fn begins_tuning(&mut self) -> Result<bool, WorkError> {
        let Some(tuning) = self.tuning.as_mut().filter(|tuning| tuning.is_waiting()) else {
            return Ok(false);
        };
        check_loss(&self.metrics, "the loss of these weights is not finite")?;
        tuning.start(self.metrics, self.detail.as_ref().and_then(engine::Evaluation::sums));
        Ok(true)
    }

    fn measure(&mut self) -> Result<bool, WorkError> {
        loop {
            match self.measure_some() {
                // It depends on the model and the limit only, so the batches are the same if the sums are computed again.
                Err(EvaluateError::Memory { .. }) if self.batch > 1 => self.batch /= 2,
                measured => break measured.map_err(failed)?,
            }
        }
        Ok(self.metrics.example_count == self.examples.len() as u64)
    }

    fn measure_some(&mut self) -> Result<(), EvaluateError> {
        let start = self.metrics.example_count as usize;
        let rows: Vec<usize> = (start..self.examples.len().min(start + self.batch)).collect();
        let some = self.examples.subset(&rows).expect("the rows are below the number of examples");
        self.metrics += match &mut self.detail {
            Some(detail) => {
                let measured = self.evaluator.evaluate_in_detail(&self.weights, &some)?;
                *detail += &measured;
                measured.metrics
            }
            None => self.evaluator.evaluate(&self.weights, &some)?,
        };
        Ok(())
    }

    /// Returns the sums so far. Once a fine-tuning has begun, these are the sums before it.
    pub fn metrics(&self) -> Metrics {
        self.tuning.as_ref().and_then(Tuning::before).unwrap_or(self.metrics)
    }

    /// Returns the number of examples that are measured.
    pub fn example_count(&self) -> usize {
        self.examples.len()
    }

    /// Ends the evaluation.
    ///
    /// # Errors
    /// [`WorkError`] if the loss is not finite.
    pub fn finish(self) -> Result<TrainingOutcome, WorkError> {
        let sums = self.detail.and_then(|detail| detail.sums());
        if let Some(tuning) = self.tuning {
            check_loss(&self.metrics, "the loss of the fine-tuned weights is not finite")?;
            return Ok(tuning.outcome(self.metrics, sums));
        }
        check_loss(&self.metrics, "the loss of these weights is not finite")?;
        Ok(TrainingOutcome { sums, ..TrainingOutcome::of_metrics(self.metrics) })
    }
}

fn check_loss(metrics: &Metrics, detail: &str) -> Result<(), WorkError> {
    match metrics.loss_sum.is_finite() {
        true => Ok(()),
        false => Err(WorkError::new(AbortReason::TrainingFailed, detail)),
    }
}

/// Returns how many examples to compute between two checks of the stop flag, at least 1.
fn batch_size(model: &Model, loss: Loss) -> usize {
    // Only the forward cost of one example is needed, so the optimizer does not matter.
    let output = Some(model.output_name().to_owned());
    let plan = TrainingPlan { batch_size: 1, output, ..TrainingPlan::new(loss, LocalOptimizer::sgd(1.0)) };
    let cost = Inspection::for_examples(model, &plan, 1).map(|inspection| inspection.forward.flops);
    // The cost of a model that cannot be trained is unknown, but such a model can still be evaluated. An evaluation
    // needs at least two operations per parameter.
    let flops = cost.unwrap_or(2 * model.parameter_count() as u64);
    usize::try_from(BATCH_FLOPS_MAX / flops.max(1)).unwrap_or(usize::MAX).clamp(1, BATCH_EXAMPLES_MAX)
}

fn failed(error: EvaluateError) -> WorkError {
    match error {
        EvaluateError::Fit(error) => misfit(&error),
        EvaluateError::Memory { .. } => WorkError::new(AbortReason::PlanUnsupported, error),
        error => WorkError::new(AbortReason::TrainingFailed, error),
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{ImportLimits, onnx::build::mlp};

    use super::*;

    #[test]
    fn the_size_of_a_batch_is_what_the_model_allows() {
        let size = |layers: &[usize]| {
            let model = Model::from_onnx(&mlp(layers, 1), &ImportLimits::default()).unwrap();
            batch_size(&model, Loss::SoftmaxCrossEntropy)
        };
        assert_eq!(size(&[2, 2]), 256);
        // 2 · (1000 · 2000 + 2000 · 10) operations and a few for the biases.
        assert!((120..=123).contains(&size(&[1000, 2000, 10])), "{}", size(&[1000, 2000, 10]));
    }
}
