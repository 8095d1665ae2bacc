//! The fine-tuning of an evaluation: a training whose weights are only measured, and then dropped.

use std::time::Duration;

use folkmoot_engine::{Examples, Metrics, Model, TrainError, Trainer, TrainingOutcome, TrainingPlan};
use folkmoot_protocol::{
    FineTuning, Plan, Work,
    messages::AbortReason,
    update::sums::{FineTuned, MetricSums},
};

use crate::{Chunk, Inputs, WorkError, phases, plan::update_metrics};

/// The seed of the order of the examples and of dropout, so that an evaluation that is repeated has the same result.
const SEED: u64 = 0;

/// A fine-tuning between two measurements.
pub(crate) struct Tuning {
    /// `None` once it has trained, so that its memory is free for the second measurement.
    trainer: Option<Box<Trainer>>,
    steps: u64,
    plan: TrainingPlan,
    chunk: Chunk,
    /// `None` while the version is being measured.
    before: Option<Before>,
}

/// The measurement before the fine-tuning.
type Before = (Metrics, Option<MetricSums>);

impl Tuning {
    /// Prepares the fine-tuning of these weights. Returns it with the examples that are held out; `None` if the plan has none.
    ///
    /// # Errors
    /// [`WorkError`] if the plan is invalid, there are too few examples, or they do not fit the model.
    pub fn begin(
        inputs: &Inputs,
        weights: &[f32],
        examples: &Examples,
    ) -> Result<Option<(Self, Examples)>, WorkError> {
        let Some(tuning) = fine_tuning_of(&inputs.plan)? else { return Ok(None) };
        let Some(divided) = tuning.divide(examples.len()) else {
            let detail = "the plan fine-tunes, so a client needs at least 2 examples: one to train with, and one to measure";
            return Err(WorkError::new(AbortReason::TrainingFailed, detail));
        };
        let [trained, held_out] =
            divided.map(|rows| examples.subset(&rows).expect("the rows are below the number of examples"));
        let plan = tuning.training(&inputs.plan.training);
        let trainer = Trainer::new(&inputs.model, weights, plan.clone(), &trained, SEED);
        let trainer = Box::new(trainer.map_err(phases::refused)?);
        let tuning = Self { trainer: Some(trainer), steps: 0, plan, chunk: Chunk::default(), before: None };
        Ok(Some((tuning, held_out)))
    }

    /// Starts after the first measurement, with its result.
    pub fn start(&mut self, metrics: Metrics, sums: Option<MetricSums>) {
        self.before = Some((metrics, sums));
    }

    pub fn is_waiting(&self) -> bool {
        self.before.is_none()
    }

    pub fn is_training(&self) -> bool {
        self.before.is_some() && self.trainer.is_some()
    }

    /// Takes the next steps. Returns the fine-tuned weights after the last one.
    ///
    /// # Errors
    /// [`WorkError`] if a weight or the loss is not finite.
    pub fn advance(&mut self, stopwatch: &dyn Fn() -> Duration) -> Result<Option<Vec<f32>>, WorkError> {
        let begun = stopwatch();
        let Some(trainer) = &mut self.trainer else { return Ok(None) };
        let progress = trainer.advance(self.chunk.steps()).map_err(phases::failed)?;
        self.steps = progress.step;
        self.chunk = self.chunk.next(stopwatch().saturating_sub(begun));
        if !progress.finished {
            return Ok(None);
        }
        let weights = trainer.weights().to_vec();
        self.trainer = None;
        Ok(Some(weights))
    }

    /// Returns the metrics before the fine-tuning; `None` while they are measured.
    pub fn before(&self) -> Option<Metrics> {
        self.before.as_ref().map(|(metrics, _)| *metrics)
    }

    /// Returns the outcome with both measurements, given the second one.
    pub fn outcome(self, after: Metrics, sums: Option<MetricSums>) -> TrainingOutcome {
        let (before, sums_before) = self.before.unwrap_or_else(|| (after, sums.clone()));
        let fine_tuned = Some(measured(&self.plan, after, self.steps, sums_before.zip(sums)));
        TrainingOutcome { fine_tuned, ..TrainingOutcome::of_metrics(before) }
    }
}

/// Returns the measurement after a fine-tuning of this many steps, with the sums before and after it.
pub fn measured(
    plan: &TrainingPlan,
    after: Metrics,
    steps: u64,
    sums: Option<(MetricSums, MetricSums)>,
) -> FineTuned {
    let metrics = update_metrics(Metrics { step_count: steps, ..after }, plan);
    FineTuned { metrics, sums: sums.map(|(before, after)| [before, after]) }
}

/// Fine-tunes these weights at once. Returns the new ones and the number of steps.
///
/// # Errors
/// The errors of [`Trainer::new`] and [`Trainer::advance`].
pub fn fine_tuned_weights(
    model: &Model,
    tuning: &FineTuning,
    plan: &TrainingPlan,
    weights: &[f32],
    examples: &Examples,
) -> Result<(Vec<f32>, u64), TrainError> {
    let mut trainer = Trainer::new(model, weights, tuning.training(plan), examples, SEED)?;
    let steps = trainer.advance(u64::MAX)?.step;
    Ok((trainer.weights().to_vec(), steps))
}

/// Returns the plan's fine-tuning, checked.
fn fine_tuning_of(plan: &Plan) -> Result<Option<FineTuning>, WorkError> {
    let Some(tuning) = plan.fine_tuning else { return Ok(None) };
    let refused = |detail: String| Err(WorkError::new(AbortReason::PlanUnsupported, detail));
    if let Some((field, value, allowed)) = tuning.faults().first() {
        return refused(format!("fine_tuning.{field} is {value}; it must be {allowed}"));
    }
    if plan.work != Work::Evaluation || plan.training.is_personal() || plan.local_noise.is_some() {
        let detail = "fine_tuning is for evaluations without local noise, of a model without parts of the client's own";
        return refused(detail.to_owned());
    }
    Ok(Some(tuning))
}
