//! Chooses the examples of steps by their losses: a curriculum, and the selection of small losses.

use std::borrow::Cow;

use super::Trainer;
use crate::train::TrainError;
use crate::train::difficulty::Difficulty;

impl Trainer {
    /// Sorts the examples by their losses at the starting weights, if the plan has a curriculum, and prepares to measure those of
    /// steps.
    ///
    /// # Errors
    /// Returns [`TrainError::Memory`] if the plan does not allow as much memory as the losses need.
    pub(super) fn measure_difficulty(&mut self) -> Result<(), TrainError> {
        let held = self.memory_bytes();
        self.difficulty = Difficulty::of(&self.plan, &self.processor.source().model, held);
        if let (Some(curriculum), Some(difficulty)) = (self.plan.curriculum, &mut self.difficulty) {
            let ranking = difficulty.ranking(
                &self.host.starting_weights,
                &self.processor.source().layout,
                &self.examples,
            )?;
            self.batches.follow(curriculum, ranking);
        }
        // A curriculum measures once.
        self.difficulty.take_if(|_| self.plan.small_loss_selection.is_none());
        Ok(())
    }

    /// Returns the examples of a step that the plan selects for training.
    ///
    /// # Errors
    /// As [`Trainer::measure_difficulty`].
    pub(super) fn selected<'a>(&mut self, rows: Cow<'a, [usize]>) -> Result<Cow<'a, [usize]>, TrainError> {
        let (Some(selection), Some(difficulty)) = (self.plan.small_loss_selection, &mut self.difficulty)
        else {
            return Ok(rows);
        };
        let kept = selection.kept(self.metrics.step_count, rows.len());
        if kept == rows.len() {
            return Ok(rows);
        }
        let of = (&self.processor.source().layout, &self.examples);
        Ok(difficulty.easiest(&self.host.weights, of, &rows, kept)?.into())
    }
}
