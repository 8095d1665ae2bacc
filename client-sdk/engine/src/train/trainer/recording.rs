//! Which outer products a training records, and what becomes of them.

use folkmoot_protocol::OuterProducts;

use super::{Trainer, step_rule};
use crate::processor::Recorded;
use crate::train::TrainedPart;

impl Trainer {
    /// Records the outer products that add up to the change of dense layers: `wanted` says for each tensor of the
    /// [`TrainedPart`] whether it is to be.
    ///
    /// Only steps of plain SGD are sums of outer products: without momentum, weight decay, a proximal term, a gradient
    /// correction, clipping by value or of single examples, and with single precision. Of other plans nothing is recorded, nor
    /// of a tensor that is no weight of a dense layer or of which the training's examples have more products than pay, nor of a
    /// training of which a step ran on a device or before a checkpoint. Training gives the same bits, recorded or not.
    ///
    /// It is to be called before the first step, and stays over [`Trainer::restart`]. Where the plan allows too little memory for it,
    /// nothing is recorded.
    pub fn record_outer_products(&mut self, wanted: &[bool]) {
        if self.metrics.step_count > 0 || !step_rule(&self.plan).is_sum_of_gradients() {
            return;
        }
        let source = self.processor.source();
        let part = TrainedPart::new(&source.model, &source.parameters, self.plan.statistics);
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

    /// The recorded products of every tensor of the part; nothing if none were asked for.
    pub(crate) fn recorded_products(&self) -> Vec<Option<OuterProducts>> {
        let Some(recorder) = self.processor.recorder() else { return Vec::new() };
        let source = self.processor.source();
        let part = TrainedPart::new(&source.model, &source.parameters, self.plan.statistics);
        let is_corrected = self.host.correction.is_some();
        let products =
            |position| recorder.products(position, self.metrics.step_count).filter(|_| !is_corrected);
        part.positions().map(|position| products(position).cloned()).collect()
    }
}
