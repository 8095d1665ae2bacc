//! Products with the Hessian of a step's loss, as differences of its gradient.

use std::ops::Range;

use folkmoot_graph::step::{Observer, StepRequest};
use folkmoot_protocol::LocalOptimizer;

use super::curvature::Curvature;
use super::gradients::{Beside, Gradients, StepInput};
use super::newton::Newton;
use super::optimizer::MatrixShape;
use super::probe::Probe;
use crate::batch::Batch;
use crate::step::StepError;

/// The share by which the loss may rise: it is rounded to single precision.
const LOSS_TOLERANCE: f64 = 1e-6;

/// A step whose gradients at other weights are computed. The last gradient belongs to the step itself.
pub(crate) struct Products<'a> {
    pub(crate) gradients: &'a mut Gradients,
    pub(crate) batch: &'a mut Batch,
    pub(crate) input: StepInput<'a>,
    pub(crate) beside: &'a mut Beside<'a>,
    /// The probe, which has kept the weights of the step.
    pub(crate) probe: &'a Probe,
}

impl Products<'_> {
    /// Returns the gradient that replaces the step's: Newton's direction, shortened. `weights` is left at other weights.
    ///
    /// # Errors
    /// As [`Products::direction`].
    pub(crate) fn newton_step(
        &mut self,
        newton: &Newton,
        request: &StepRequest<'_>,
        loss: f64,
        weights: &mut [f32],
        observe: Observer<'_>,
    ) -> Result<Vec<f64>, StepError> {
        let mut direction = self.direction(newton, weights, observe)?;
        self.shorten(&mut direction, request.learning_rate.into(), loss, weights, observe)?;
        Ok(direction)
    }

    /// Adds an estimate of the curvature to the optimizer's state for tensors of these shapes, and returns the step's gradient. An estimate that is
    /// not finite is left out. `weights` is left at other weights.
    ///
    /// # Errors
    /// As [`Products::direction`].
    pub(crate) fn note_curvature(
        &mut self,
        curvature: Curvature,
        seed: u64,
        (shapes, state): (&[MatrixShape], &mut [f32]),
        weights: &mut [f32],
        observe: Observer<'_>,
    ) -> Result<Vec<f64>, StepError> {
        let gradient = self.gradient();
        let direction = curvature.direction(seed, gradient.len());
        let product = self.product(&direction, weights, observe)?;
        if product.iter().all(|element| element.is_finite()) {
            curvature.note(&direction, &product, shapes, state);
        }
        Ok(gradient)
    }

    /// Returns Newton's direction for all trained weights, one tensor after another. `weights` is left at other weights.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step is not compiled yet and cannot be compiled within the limit.
    fn direction(
        &mut self,
        newton: &Newton,
        weights: &mut [f32],
        observe: Observer<'_>,
    ) -> Result<Vec<f64>, StepError> {
        let gradient = self.gradient();
        newton.direction(&gradient, |vector| self.product(vector, weights, observe))
    }

    /// Returns the product of the Hessian with a vector, which is NaN if the vector has no direction. `weights` is left at other weights.
    ///
    /// # Errors
    /// As [`Products::direction`].
    fn product(
        &mut self,
        vector: &[f64],
        weights: &mut [f32],
        observe: Observer<'_>,
    ) -> Result<Vec<f64>, StepError> {
        let Some(factor) = self.probe.distance_factor(vector) else {
            return Ok(vec![f64::NAN; vector.len()]);
        };
        let ahead = self.gradient_at(vector, factor, weights, observe)?;
        let mut product = self.gradient_at(vector, -factor, weights, observe)?;
        product.iter_mut().zip(ahead).for_each(|(back, ahead)| *back = (ahead - *back) / (2.0 * factor));
        observe("hessian", 0);
        Ok(product)
    }

    /// Halves the direction until a step along it does not raise the loss of the step (Nocedal and Wright 2006, section 3.1), at most
    /// [`LocalOptimizer::NEWTON_HALVINGS_MAX`] times. `length` is the step's learning rate. `weights` is left at other weights.
    ///
    /// # Errors
    /// The errors of [`Products::direction`].
    fn shorten(
        &mut self,
        direction: &mut [f64],
        length: f64,
        loss: f64,
        weights: &mut [f32],
        observe: Observer<'_>,
    ) -> Result<(), StepError> {
        let most = loss + LOSS_TOLERANCE * loss.abs();
        for _ in 0..LocalOptimizer::NEWTON_HALVINGS_MAX {
            let reached = self.run_at(direction, -length, weights, observe)?;
            if reached <= most {
                break;
            }
            direction.iter_mut().for_each(|element| *element *= 0.5);
        }
        Ok(())
    }

    /// Returns the gradient at the weights of the step plus `factor` times the vector.
    fn gradient_at(
        &mut self,
        vector: &[f64],
        factor: f64,
        weights: &mut [f32],
        observe: Observer<'_>,
    ) -> Result<Vec<f64>, StepError> {
        self.run_at(vector, factor, weights, observe)?;
        Ok(self.gradient())
    }

    /// Computes the gradient at the weights of the step plus `factor` times the vector, and returns the loss there.
    fn run_at(
        &mut self,
        vector: &[f64],
        factor: f64,
        weights: &mut [f32],
        observe: Observer<'_>,
    ) -> Result<f64, StepError> {
        weights.copy_from_slice(self.probe.kept());
        let mut rest = vector;
        let ranges: Vec<Range<usize>> = self.gradients.gradients().map(|(range, _)| range).collect();
        for range in ranges {
            let (own, others) = rest.split_at(range.len());
            rest = others;
            for (weight, element) in weights[range].iter_mut().zip(own) {
                *weight = (f64::from(*weight) + factor * element) as f32;
            }
        }
        let measured = self.gradients.run(&self.input, self.batch, self.beside, weights, observe)?;
        Ok(measured.loss)
    }

    /// Returns the last gradient.
    fn gradient(&self) -> Vec<f64> {
        let mut flat = Vec::with_capacity(self.gradients.trained_count());
        self.gradients.gradients().for_each(|(_, one)| flat.extend(one.iter().copied().map(f64::from)));
        flat
    }
}
