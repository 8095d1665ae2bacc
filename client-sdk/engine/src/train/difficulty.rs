//! Measures how hard examples are, for the order of a curriculum and the selection of small losses.

use folkmoot_protocol::TrainingPlan;

use super::TrainError;
use crate::evaluate::Evaluator;
use crate::examples::Examples;
use crate::model::Model;
use folkmoot_loss::loss::Layout;

/// Measures the losses of single examples for a plan that needs them.
pub(crate) struct Difficulty {
    evaluator: Evaluator,
}

impl Difficulty {
    /// Returns `None` if the plan does not need losses of examples. `model` is the model that the plan trains, and
    /// `held` the memory of its training in bytes. Measuring may use the rest of the memory that the plan allows.
    pub(crate) fn of(plan: &TrainingPlan, model: &Model, held: usize) -> Option<Self> {
        if plan.curriculum.is_none() && plan.small_loss_selection.is_none() {
            return None;
        }
        let mut evaluator = Evaluator::new(model, plan.loss);
        if let Some(bytes_max) = plan.memory_bytes_max {
            // The training holds the weights already, and the evaluator counts them.
            let weights = 4 * model.parameter_count() as u64;
            evaluator.limit_memory(bytes_max.saturating_sub(held as u64) + weights);
        }
        Some(Self { evaluator })
    }

    /// Returns all examples from easy to hard by their losses at these weights; equal ones in their order.
    ///
    /// # Errors
    /// Returns [`TrainError::Memory`] if the plan does not allow as much memory as the losses need.
    pub(crate) fn ranking(
        &mut self,
        weights: &[f32],
        layout: &Layout,
        examples: &Examples,
    ) -> Result<Vec<usize>, TrainError> {
        let mut rows: Vec<usize> = (0..examples.len()).collect();
        let losses = self.evaluator.example_losses(weights, layout, examples, &rows)?;
        rows.sort_by(|one, other| losses[*one].total_cmp(&losses[*other]));
        Ok(rows)
    }

    /// Returns the `count` of these examples with the smallest losses at these weights, in the order of `rows`; of equal ones, the first.
    ///
    /// # Errors
    /// As [`Difficulty::ranking`].
    pub(crate) fn easiest(
        &mut self,
        weights: &[f32],
        (layout, examples): (&Layout, &Examples),
        rows: &[usize],
        count: usize,
    ) -> Result<Vec<usize>, TrainError> {
        let losses = self.evaluator.example_losses(weights, layout, examples, rows)?;
        let mut places: Vec<usize> = (0..rows.len()).collect();
        places.sort_by(|one, other| losses[*one].total_cmp(&losses[*other]));
        places.truncate(count);
        places.sort_unstable();
        Ok(places.into_iter().map(|place| rows[place]).collect())
    }
}
