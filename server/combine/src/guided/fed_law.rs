use folkmoot_aggregation::{BLOCK, Combination, FedLaw, Mixture, Projections};
use folkmoot_engine::{LocalOptimizer, ParameterKind, Trainer};
use folkmoot_protocol::{TrainingPlan, saturating::to_float32};

use super::{Guide, Visit};
use crate::{GuideError, MakeError, Rows};

/// The learning rate of the step from which a gradient is computed. A power of two scales the gradient exactly. The
/// rate is large, so that the change of the weights keeps the digits of the gradient.
const GRADIENT_SCALE: f32 = 1024.0;

/// FedLAW: learns the shares and the scale of the clients' models on the coordinator's examples, and mixes the models.
pub(super) fn means(
    rows: &mut Rows<'_>,
    guide: &Guide<'_>,
    rule: &FedLaw,
    visit: &mut Visit<'_>,
) -> Result<(), MakeError> {
    let mut law = Law::begin(guide)?;
    for step in 0..u64::from(rule.steps) {
        let slope = law.slope(rows, guide, step)?;
        let mut projections = Projections::new(rows.updates.len());
        rows.for_each_tile(|first, tile| {
            let length = tile.first().map_or(0, |row| row.len());
            projections.add_tile(tile, &slope[first..first + length]);
        })?;
        let base = product(&law.newest, &slope, &law.is_scaled);
        law.mixture.step(rule.learning_rate, base, projections.products());
        if !law.mixture.scale().is_finite() || law.mixture.shares().iter().any(|share| !share.is_finite()) {
            return Err(GuideError::Diverged.into());
        }
    }
    tracing::debug!(scale = law.mixture.scale(), shares = ?law.mixture.shares(), "fed_law: mixture learned");
    law.for_each_tile(rows, |_, tile, means| visit(tile, means))
}

/// The mixture while it is learned.
struct Law {
    mixture: Mixture,
    newest: Vec<f32>,
    /// For each value of the newest version, whether the scale applies to it: not to running statistics.
    is_scaled: Vec<bool>,
    trainer: Trainer,
}

impl Law {
    fn begin(guide: &Guide<'_>) -> Result<Self, GuideError> {
        let tensors = guide.own.part.tensors();
        let is_scaled = tensors.flat_map(|tensor| {
            std::iter::repeat_n(tensor.kind != ParameterKind::Statistic, tensor.element_count())
        });
        Ok(Self {
            mixture: Mixture::of_weights(guide.weights),
            newest: guide.newest()?,
            is_scaled: is_scaled.collect(),
            trainer: guide.trainer(&guide.own.weights, gradient_plan(guide), &guide.own.examples)?,
        })
    }

    /// Passes each tile of the updates, and of the mixture minus the newest version, to `visit`.
    fn for_each_tile(
        &self,
        rows: &mut Rows<'_>,
        mut visit: impl FnMut(usize, &[&[f32]], &[f64]),
    ) -> Result<(), MakeError> {
        let combination = Combination::Mean { factors: self.mixture.shares(), divisor: 1.0 };
        let scale = self.mixture.scale();
        rows.for_each_mean(&combination, |first, tile, means| {
            let places = self.newest[first..].iter().zip(&self.is_scaled[first..]);
            for (mean, (newest, is_scaled)) in means.iter_mut().zip(places) {
                if *is_scaled {
                    *mean = scale * *mean + (scale - 1.0) * f64::from(*newest);
                }
            }
            visit(first, tile, means);
        })?;
        Ok(())
    }

    /// Returns the gradient of the loss on the examples at the mixture. At running statistics it is 0.
    fn slope(&mut self, rows: &mut Rows<'_>, guide: &Guide<'_>, step: u64) -> Result<Vec<f32>, MakeError> {
        let mut mixed = self.newest.clone();
        self.for_each_tile(rows, |first, _, means| {
            for (value, mean) in mixed[first..].iter_mut().zip(means) {
                *value = to_float32(f64::from(*value) + mean);
            }
        })?;
        let mut slope = self.slope_at(guide, mixed, step)?;
        for (value, is_scaled) in slope.iter_mut().zip(&self.is_scaled) {
            *value = if *is_scaled { *value / -GRADIENT_SCALE } else { 0.0 };
        }
        Ok(slope)
    }

    /// Returns the change by one step of plain SGD from these weights.
    fn slope_at(&mut self, guide: &Guide<'_>, mixed: Vec<f32>, step: u64) -> Result<Vec<f32>, GuideError> {
        let whole = guide.own.part.fill(mixed)?;
        self.trainer.restart(&whole, &guide.own.examples, guide.seed.wrapping_add(step))?;
        self.trainer.advance(u64::MAX)?;
        Ok(self.trainer.outcome().delta)
    }
}

/// Returns a plan of one step of plain SGD over all of the examples, in batches of the clients' size.
fn gradient_plan(guide: &Guide<'_>) -> TrainingPlan {
    let plan = guide.plain_plan();
    let batches = guide.own.examples.len().div_ceil(plan.batch_size.max(1) as usize);
    TrainingPlan {
        optimizer: LocalOptimizer::sgd(GRADIENT_SCALE),
        epochs: 1,
        steps_max: None,
        accumulation_steps: u32::try_from(batches).unwrap_or(u32::MAX).max(1),
        ..plan
    }
}

/// Returns the inner product of the scaled values, in a fixed order.
fn product(newest: &[f32], slope: &[f32], is_scaled: &[bool]) -> f64 {
    let blocks = newest.chunks(BLOCK).zip(slope.chunks(BLOCK)).zip(is_scaled.chunks(BLOCK));
    blocks
        .map(|((newest, slope), is_scaled)| {
            let products = newest.iter().zip(slope).zip(is_scaled);
            products
                .filter(|(_, is_scaled)| **is_scaled)
                .map(|((one, other), _)| f64::from(*one) * f64::from(*other))
                .sum::<f64>()
        })
        .sum()
}
