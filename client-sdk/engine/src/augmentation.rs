//! Random changes of the examples of a step, as functions of the training's seed, the step and the example.

use std::ops::Range;

use folkmoot_graph::random::{below, permute, standard_normal, step_seed, symmetric_beta};
use folkmoot_protocol::{Augmentation, Loss, TrainingPlan};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::examples::{Examples, Labels};
use crate::fit::{FitError, fitted};
use crate::model::Model;
use folkmoot_loss::loss::Layout;

/// Separates the random numbers of augmentation from those of dropout, which have the same seed.
const STREAM: u64 = 0x6175_676d_656e_7421;

/// The examples of a whole step, and its seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AugmentedStep<'a> {
    pub(crate) examples: &'a Examples,
    pub(crate) rows: &'a [usize],
    pub(crate) seed: u64,
}

/// Changes examples as a plan says.
#[derive(Debug, Clone)]
pub(crate) struct Augmenter {
    plan: Augmentation,
    /// The dimensions of an example.
    shape: Vec<usize>,
    /// Mixup's order of the examples of a step.
    order: Vec<usize>,
    /// Mixup's other example.
    features: Vec<f32>,
    labels: Vec<f32>,
}

impl Augmenter {
    /// Returns the augmenter of a plan, if it changes anything. `model` has the length of sequences of the examples.
    ///
    /// # Errors
    /// Returns [`FitError::Augmentation`] if it does not fit the examples of the model.
    pub(crate) fn of(plan: &TrainingPlan, model: &Model) -> Result<Option<Self>, FitError> {
        let Some(plan) = plan.augmentation.as_deref().filter(|one| **one != Augmentation::default()) else {
            return Ok(None);
        };
        let shape = shape(plan, model);
        check(plan, &shape, model)?;
        let (order, features, labels) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Some(Self { plan: plan.clone(), shape, order, features, labels }))
    }

    /// Makes room for steps of this many examples.
    pub(crate) fn with_room_for(mut self, step_examples: usize, examples: &Examples) -> Self {
        if self.plan.mixup.is_some() {
            self.order.reserve_exact(step_examples);
            self.features.reserve_exact(examples.feature_count());
            self.labels.reserve_exact(examples.labels().per_example());
        }
        self
    }

    /// Returns the number of bytes that mixup needs beside the batch.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.order.capacity() * size_of::<usize>()
            + (self.features.capacity() + self.labels.capacity()) * size_of::<f32>()
    }

    /// Changes some of a step's examples: `features` and `labels` have the rows at `part`, row-major.
    pub(crate) fn alter(
        &mut self,
        step: AugmentedStep<'_>,
        part: Range<usize>,
        features: &mut [f32],
        labels: &mut [f32],
    ) {
        let width = step.examples.feature_count();
        for (row, features) in step.rows[part.clone()].iter().zip(features.chunks_exact_mut(width)) {
            self.alter_example(*row, step.seed, features);
        }
        let Some(alpha) = self.plan.mixup else { return };
        let seed = step_seed(step.seed ^ STREAM, 0);
        // The batches of a step come in order, and all have the same pairs.
        if part.start == 0 {
            permute(&mut self.order, step.rows.len(), seed, 1);
        }
        let share = symmetric_beta(&mut ChaCha20Rng::seed_from_u64(seed), alpha.into()) as f32;
        let label_width = step.examples.labels().per_example();
        let examples = features.chunks_exact_mut(width).zip(labels.chunks_exact_mut(label_width));
        for (position, (features, labels)) in part.zip(examples) {
            let other = step.rows[self.order[position]];
            let mut mixed = std::mem::take(&mut self.features);
            mixed.clear();
            mixed.extend_from_slice(&step.examples.features()[other * width..(other + 1) * width]);
            self.alter_example(other, step.seed, &mut mixed);
            step.examples.labels().numbers_of(other..other + 1, &mut self.labels);
            mix(share, features, &mixed);
            mix(share, labels, &self.labels);
            self.features = mixed;
        }
    }

    /// Applies all changes except mixup to one example.
    fn alter_example(&self, row: usize, seed: u64, features: &mut [f32]) {
        let mut rng = ChaCha20Rng::seed_from_u64(step_seed(seed ^ STREAM, row as u64 + 1));
        if self.plan.noise > 0.0 {
            let deviation = f64::from(self.plan.noise);
            for feature in &mut *features {
                *feature += (deviation * standard_normal(&mut rng)) as f32;
            }
        }
        if let (Some(side), [_, height, width]) = (self.plan.cutout, &self.shape[..]) {
            let [rows, columns] = [*height, *width].map(|size| {
                let centre = draw(&mut rng, size);
                let start = (centre + 1).saturating_sub((side as usize).div_ceil(2));
                start..(centre + 1 + side as usize / 2).min(size)
            });
            for (index, feature) in features.iter_mut().enumerate() {
                if rows.contains(&(index / width % height)) && columns.contains(&(index % width)) {
                    *feature = 0.0;
                }
            }
        }
        for mask in &self.plan.stretch_masks {
            let size = self.shape[mask.axis as usize];
            let inner: usize = self.shape[mask.axis as usize + 1..].iter().product();
            for _ in 0..mask.count {
                let length = draw(&mut rng, size.min(mask.length_max as usize) + 1);
                let start = draw(&mut rng, size - length + 1);
                for (index, feature) in features.iter_mut().enumerate() {
                    if (start..start + length).contains(&(index / inner % size)) {
                        *feature = 0.0;
                    }
                }
            }
        }
    }
}

/// Returns the examples of a plan with their layout, as [`fitted`]. With mixup, class numbers become distributions.
///
/// # Errors
/// Returns a [`FitError`] that names the mismatch.
pub(crate) fn fitted_for(
    plan: &TrainingPlan,
    model: &Model,
    examples: &Examples,
) -> Result<(Model, Layout, Examples), FitError> {
    let (model, layout) = fitted(model, examples, plan.loss)?;
    // Class numbers of a model that cannot be augmented must not become distributions first.
    model.check_augmentation(plan)?;
    let is_mixed = plan.augmentation.as_ref().is_some_and(|one| one.mixup.is_some());
    let (Labels::Classes(classes) | Labels::Sequences(classes, _)) = examples.labels() else {
        return Ok((model, layout, examples.clone()));
    };
    if !is_mixed || plan.loss != Loss::SoftmaxCrossEntropy {
        return Ok((model, layout, examples.clone()));
    }
    let mut targets = vec![0.0; classes.len() * layout.classes];
    for (targets, class) in targets.chunks_exact_mut(layout.classes).zip(classes) {
        targets[*class as usize] = 1.0;
    }
    let width = examples.labels().per_example() * layout.classes;
    let examples = examples.with_labels(Labels::Targets(targets, width));
    let (model, layout) = fitted(&model, &examples, plan.loss)?;
    Ok((model, layout, examples))
}

/// Returns the dimensions of an example.
fn shape(plan: &Augmentation, model: &Model) -> Vec<usize> {
    match plan.shape.is_empty() {
        true => model.input_shape().to_vec(),
        false => plan.shape.iter().map(|size| *size as usize).collect(),
    }
}

/// Checks that a plan's augmentation fits the examples of a model.
///
/// # Errors
/// Returns [`FitError::Augmentation`].
fn check(plan: &Augmentation, shape: &[usize], model: &Model) -> Result<(), FitError> {
    let refuse = |key, detail: String| Err(FitError::Augmentation { key, detail });
    let input = model.input_shape();
    if shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size))
        != Some(input.iter().product())
    {
        let detail =
            format!("the model's input has the shape {input:?}. Give dimensions with as many features");
        return refuse("shape", detail);
    }
    if !model.lookups().checked.is_empty() {
        let key = if plan.noise > 0.0 {
            "noise"
        } else if !plan.stretch_masks.is_empty() {
            "stretch_masks"
        } else if plan.cutout.is_some() {
            "cutout"
        } else {
            "mixup"
        };
        let detail = "it looks up rows of tables with its features, such as token ids, which must stay whole numbers. Remove it";
        return refuse(key, detail.into());
    }
    if plan.cutout.is_some() && shape.len() != 3 {
        let detail = format!(
            "it needs images, but the examples have the shape {shape:?}. Give augmentation.shape as [channels, height, width]"
        );
        return refuse("cutout", detail);
    }
    match plan.stretch_masks.iter().find(|mask| mask.axis as usize >= shape.len()) {
        Some(mask) => {
            let (axis, count) = (mask.axis, shape.len());
            let detail = format!(
                "there is no axis {axis} in examples of the shape {shape:?}. Choose an axis below {count}"
            );
            refuse("stretch_masks", detail)
        }
        None => Ok(()),
    }
}

/// Returns a uniform integer below `bound`.
fn draw(rng: &mut ChaCha20Rng, bound: usize) -> usize {
    below(|| rng.next_u64(), bound as u64) as usize
}

/// Replaces `own` by share·own + (1 − share)·other.
fn mix(share: f32, own: &mut [f32], other: &[f32]) {
    own.iter_mut().zip(other).for_each(|(own, other)| *own = share * *own + (1.0 - share) * other);
}

impl Model {
    /// Checks that a plan's augmentation fits the examples of this model.
    ///
    /// # Errors
    /// Returns [`FitError::Augmentation`].
    pub fn check_augmentation(&self, plan: &TrainingPlan) -> Result<(), FitError> {
        Augmenter::of(plan, self).map(|_| ())
    }
}

#[cfg(test)]
mod tests;
