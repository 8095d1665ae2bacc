//! Records the outer products of a training run.

use folkmoot_protocol::OuterProducts;

use super::{Trainer, step_rule};
use crate::processor::Recorded;
use crate::train::TrainedPart;

impl Trainer {
    /// Records the outer products that add up to the change of dense layers. `wanted` says for each tensor of the
    /// [`TrainedPart`] whether to record it.
    ///
    /// Only steps of plain SGD are sums of outer products. Nothing is recorded for plans with momentum, weight decay, a
    /// proximal term, an own model in the same steps, a second gradient, constraints of values, a gradient correction, clipping by value
    /// or per example, or mixed precision. Nothing is recorded
    /// for tensors other than the weights of dense layers, or if the products would need more numbers than the tensor.
    /// Nothing is recorded if a step ran on a GPU or before a checkpoint. Recording does not change the result of
    /// training, to the bit.
    ///
    /// Call this before the first step. The setting persists over [`Trainer::restart`]. If the plan's memory limit is
    /// too low for recording, nothing is recorded.
    pub fn record_outer_products(&mut self, wanted: &[bool]) {
        if self.metrics.step_count > 0
            || self.companion.is_some()
            || !step_rule(&self.plan).is_sum_of_gradients()
        {
            return;
        }
        let source = self.processor.source();
        let part = TrainedPart::new(&source.model, &source.parameters);
        let tensors = part.positions().zip(wanted).filter(|(_, wanted)| **wanted);
        let examples = self.batches.examples_total();
        let recorded = tensors.filter_map(|(position, _)| {
            let (rows, others) = source.model.parameters()[position].shape.split_first()?;
            let matrix = Recorded { parameter: position, rows: *rows, columns: others.iter().product() };
            (!others.is_empty() && matrix.pays(examples)).then_some(matrix)
        });
        let (recorded, full_batch) = (recorded.collect(), self.batches.full_batch());
        self.processor.record_matrices(recorded, examples, full_batch, &self.host);
    }

    /// Returns the recorded products of every tensor of the part; empty if none were requested.
    pub(crate) fn recorded_products(&self) -> Vec<Option<OuterProducts>> {
        let Some(recorder) = self.processor.recorder() else { return Vec::new() };
        let source = self.processor.source();
        let part = TrainedPart::new(&source.model, &source.parameters);
        let is_corrected = self.host.correction.is_some();
        let products =
            |position| recorder.products(position, self.metrics.step_count).filter(|_| !is_corrected);
        part.positions().map(|position| products(position).cloned()).collect()
    }
}
