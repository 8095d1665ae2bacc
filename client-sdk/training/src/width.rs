//! The width of the model that a client trains.

use std::borrow::Cow;

use folkmoot_engine::{Examples, Inspection, TrainError, Trainer, TrainingPlan, Travelling};
use folkmoot_protocol::{AssignmentId, Work};

use crate::{Inputs, WorkError, phases::refused};

/// Returns the widest width, counted from 0, whose training fits the plan's memory. Returns `None` if the plan has no widths.
/// `whole` are all weights of the whole model.
///
/// # Errors
/// Returns the error of the narrowest width if none fits, and any other error of the first one.
pub fn widest_fitting(
    travelling: &Travelling,
    plan: &TrainingPlan,
    whole: &[f32],
    examples: &Examples,
) -> Result<Option<usize>, TrainError> {
    let Some(count) = travelling.width_count() else { return Ok(None) };
    let mut refusal = None;
    for width in 0..count {
        let Some((model, _)) = travelling.narrow(width) else { break };
        // A model that cannot fit whatever the layout of its memory is left out before anything is allocated for it.
        if let Some(most) = plan.memory_bytes_max.filter(|_| width + 1 < count) {
            let least = Inspection::for_examples(model, plan, examples.len())?.memory.indispensable();
            if least as u64 > most {
                continue;
            }
        }
        let start = match width {
            0 => Cow::Borrowed(whole),
            _ => Cow::Owned(travelling.leading_weights(width, whole)),
        };
        match Trainer::new(model, &start, plan.clone(), examples, 0) {
            Ok(_) => return Ok(Some(width)),
            Err(error @ TrainError::Memory { .. }) => refusal = Some(error),
            Err(error) => return Err(error),
        }
    }
    refusal.map_or(Ok(None), Err)
}

/// Returns the width that a client trains, given the widest one that fits: this one, or with `widths.sampled` a random
/// one of the widths that fit, with equal probabilities. It depends only on the assignment, so a restarted training has
/// the same width.
pub fn width_of(plan: &TrainingPlan, widest: usize, id: AssignmentId) -> usize {
    plan.widths.as_ref().map_or(widest, |widths| widths.drawn(widest, id.seed()))
}

impl Inputs {
    /// Changes the inputs of a training to the widest model whose training fits the plan's memory, if the plan has widths, or to a
    /// drawn narrower one. Call it before [`Training::begin`](crate::Training::begin).
    ///
    /// # Errors
    /// [`WorkError`] if no width fits, or the examples do not fit the model.
    pub fn choose_width(&mut self, id: AssignmentId, examples: &Examples) -> Result<(), WorkError> {
        if self.plan.work != Work::Training || self.width.is_some() {
            return Ok(());
        }
        let plan = &self.plan.training;
        let widest = widest_fitting(&self.travelling, plan, &self.starting_weights, examples);
        let Some(widest) = widest.map_err(refused)? else { return Ok(()) };
        let width = width_of(plan, widest, id);
        if let Some((model, _)) = self.travelling.narrow(width) {
            self.model = model.clone();
            self.starting_weights = self.travelling.leading_weights(width, &self.starting_weights);
            self.width = Some(width);
            tracing::info!(
                ratio = plan.widths.as_ref().map(|widths| widths.ratios[width]),
                "the width that is trained"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{ImportLimits, Labels, Model, onnx::build::mlp};
    use folkmoot_protocol::{LocalOptimizer, Loss, Widths};

    use super::*;

    fn plan(sampled: bool) -> TrainingPlan {
        let widths = Some(Box::new(Widths { ratios: vec![1.0, 0.5, 0.25], sampled }));
        TrainingPlan {
            widths,
            batch_size: 4,
            ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1))
        }
    }

    #[test]
    fn the_widest_model_that_fits_the_memory_is_trained() {
        let model = Model::from_onnx(&mlp(&[4, 64, 2], 1), &ImportLimits::default()).unwrap();
        let examples = Examples::new(vec![0.5; 16], vec![4], Labels::Classes(vec![0, 1, 0, 1])).unwrap();
        let whole = model.initial_weights();
        let travelling = Travelling::of(&model, &plan(false)).unwrap();
        let widest = |memory_bytes_max| {
            let plan = TrainingPlan { memory_bytes_max, ..plan(false) };
            widest_fitting(&travelling, &plan, &whole, &examples)
        };
        assert_eq!(widest(None).unwrap(), Some(0));
        let needed = |bytes| widest(Some(bytes)).ok().flatten();
        // The numbers of parameters of the three models are 450, 226 and 114.
        let fitting: Vec<Option<usize>> = (0..200).map(|step| needed(step * 100)).collect();
        let changes: Vec<Option<usize>> =
            fitting.chunk_by(|one, other| one == other).map(|run| run[0]).collect();
        assert_eq!(changes, [None, Some(2), Some(1), Some(0)]);
        assert!(matches!(widest(Some(1)), Err(TrainError::Memory { .. })));
        let none = TrainingPlan { widths: None, ..plan(false) };
        let one = Travelling::of(&model, &none).unwrap();
        assert_eq!(widest_fitting(&one, &none, &whole, &examples).unwrap(), None);
    }
}
