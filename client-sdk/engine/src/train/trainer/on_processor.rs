//! Steps on the CPU, which can be profiled.

use std::borrow::Cow;
use std::slice;

use folkmoot_graph::step::{Executor, Observer, block_on};
use folkmoot_protocol::Precision;

use super::{Progress, Trainer, step_request};
use crate::train::TrainError;

impl Trainer {
    /// Runs the next step on the CPU. Calls `observe` after each operator with its name and its number of
    /// floating-point operations (0 if they are not counted). Use the times between the calls to profile a step.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::step`].
    pub fn step_observed(
        &mut self,
        observe: &mut dyn FnMut(&'static str, u64),
    ) -> Result<Progress, TrainError> {
        if !self.progress().finished {
            block_on(self.step_on_processor(observe))?;
        }
        Ok(self.progress())
    }

    /// Runs the next step, which must exist. With example privacy it samples the examples.
    pub(super) async fn step_on_processor(&mut self, observe: Observer<'_>) -> Result<(), TrainError> {
        self.expect_single_precision()?;
        let number = self.metrics.step_count;
        let rows = match self.plan.example_privacy {
            Some(_) => {
                let chance = self.processor.chance().ok_or(TrainError::NoSecretChance)?;
                let rows = self.batches.draw(chance);
                observe("draw examples", 0);
                rows
            }
            None if self.plan.small_loss_selection.is_some() => {
                let rows = self.batches.batch(number).to_vec();
                return self.train_on_selected(rows.into(), observe).await;
            }
            None => self.batches.batch(number),
        };
        let request = step_request(&self.plan, self.seed, number, Cow::Borrowed(rows));
        let results = match &mut self.companion {
            Some(companion) => companion.take(&mut self.processor, &request, &mut self.host, observe).await?,
            None => self.processor.take(slice::from_ref(&request), &mut self.host, observe).await?,
        };
        self.count(&results)
    }

    /// Trains for one step on these examples, all of which must exist.
    pub(super) async fn train_on(&mut self, rows: &[usize]) -> Result<(), TrainError> {
        self.expect_single_precision()?;
        self.train_on_selected(rows.into(), &mut |_, _| {}).await
    }

    /// Trains for one step on the examples in `rows` that the plan selects.
    async fn train_on_selected(
        &mut self,
        rows: Cow<'_, [usize]>,
        observe: Observer<'_>,
    ) -> Result<(), TrainError> {
        let rows = self.selected(rows)?;
        observe("select examples", 0);
        let request = step_request(&self.plan, self.seed, self.metrics.step_count, rows);
        let results = match &mut self.companion {
            Some(companion) => companion.take(&mut self.processor, &request, &mut self.host, observe).await?,
            None => self.processor.take(slice::from_ref(&request), &mut self.host, observe).await?,
        };
        self.count(&results)
    }

    fn expect_single_precision(&self) -> Result<(), TrainError> {
        match self.plan.precision {
            Precision::Single => Ok(()),
            Precision::Mixed => Err(self.no_half_precision()),
        }
    }
}
