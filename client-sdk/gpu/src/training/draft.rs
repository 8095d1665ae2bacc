//! A training before it has memory on a device: what it needs is known before anything is taken.

use std::ops::Range;

use folkmoot_graph::Graph;
use folkmoot_graph::step::{LOSS_SCALE, StepGraph, StepRule};
use folkmoot_protocol::Precision;

use super::dispatches::{StepSetting, plan_step};
use super::update::Update;
use super::weights::WeightLayout;
use crate::GpuError;
use crate::device::{Gpu, allocation_bytes};
use crate::plan::{Buffer, Plan};
use crate::uniform::{LOG_COLUMNS, ROW_BYTES};

/// Steps of a submission, at most.
pub(super) const STEPS_MAX: usize = 256;
/// Examples of all steps of a submission, at most, unless one step has more: their numbers are sent with it.
const SUBMITTED_EXAMPLES_MAX: usize = 1 << 20;

/// A training that could run on a device.
pub struct TrainingDraft {
    pub(super) setting: StepSetting,
    /// Of each batch size that an epoch has.
    pub(super) steps: Vec<StepDraft>,
}

/// The step of one batch size.
pub(super) struct StepDraft {
    pub(super) batch_size: usize,
    pub(super) graph: Graph,
    pub(super) plan: Plan,
}

/// A training that a device is to take the steps of.
pub struct TrainingSetting<'a> {
    /// How a gradient becomes new weights.
    pub rule: &'a StepRule,
    /// All examples.
    pub examples: usize,
    /// Numbers of an example's features, and of its labels.
    pub widths: [usize; 2],
    /// True if examples have weights.
    pub has_shares: bool,
    /// Where each parameter lies in a flat vector of weights.
    pub ranges: &'a [Range<usize>],
    /// Whether something is added to every gradient.
    pub is_corrected: bool,
    /// The steps of the whole training.
    pub steps_total: u64,
}

impl TrainingSetting<'_> {
    /// Checks that a device can take the steps: it is asked before graphs are built.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if it cannot.
    pub fn check(&self, gpu: &Gpu) -> Result<(), GpuError> {
        self.update(gpu).map(|_| ())
    }

    /// How weights are updated.
    fn update(&self, gpu: &Gpu) -> Result<Update, GpuError> {
        gpu.check()?;
        let unsupported =
            |why: &str| GpuError::Unsupported { adapter: gpu.report().name.clone(), why: why.to_owned() };
        let is_mixed = self.rule.precision == Precision::Mixed;
        if is_mixed && !gpu.report().half_precision {
            return Err(unsupported("it has no 16-bit numbers, which mixed precision needs"));
        }
        Update::new(self.rule, self.is_corrected, is_mixed).map_err(unsupported)
    }
}

impl TrainingDraft {
    /// Plans the steps of these graphs, of which there is one for each batch size of an epoch: at least one, and all train
    /// the same weights. Right answers are counted in them.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the device cannot take the steps.
    pub fn new(
        gpu: &Gpu,
        training: &TrainingSetting<'_>,
        graphs: Vec<(usize, StepGraph)>,
    ) -> Result<Self, GpuError> {
        let TrainingSetting { rule, examples, widths, has_shares, ranges, steps_total, .. } = *training;
        let update = training.update(gpu)?;
        let trained = graphs.first().map(|(_, step)| step.slopes.iter().map(|(index, _)| *index).collect());
        let batch_size_max = graphs.iter().map(|(batch_size, _)| *batch_size).max().unwrap_or(1);
        let setting = StepSetting {
            layout: WeightLayout::new(ranges, trained.unwrap_or_default(), gpu.traits().alignment),
            examples,
            widths,
            rows_max: steps_of_submission(steps_total, batch_size_max),
            batch_size_max,
            update,
            is_mixed: rule.precision == Precision::Mixed,
            has_shares,
        };
        let plan_one = |(batch_size, step): (usize, StepGraph)| {
            let plan = plan_step(&step, batch_size, &setting, gpu.traits())?;
            Ok(StepDraft { batch_size, graph: step.graph, plan })
        };
        let steps = graphs.into_iter().map(plan_one).collect::<Result<_, GpuError>>()?;
        Ok(Self { setting, steps })
    }

    /// Steps that can be submitted together.
    pub(super) fn steps_max(&self) -> usize {
        self.setting.rows_max
    }

    /// Bytes of each buffer that all steps share.
    pub(super) fn sizes(&self) -> Vec<(Buffer, usize)> {
        let arena = self.steps.iter().map(|step| step.plan.arena).max().unwrap_or(0);
        let mut sizes = self.setting.sizes();
        sizes.push((Buffer::Arena, arena));
        sizes
    }

    /// Bytes of the device's memory that the training needs at most, with what it takes to bring weights back.
    pub fn memory_bytes(&self) -> u64 {
        let shared = self.sizes().into_iter().map(|(_, bytes)| bytes);
        let constants = self.steps.iter().map(|step| step.plan.constant_bytes);
        let held: u64 = shared.chain(constants).map(|bytes| allocation_bytes(bytes as u64)).sum();
        let StepSetting { layout, update, .. } = &self.setting;
        let brought = layout.bytes + update.slots() * layout.trained_bytes + size_of_val(&LOSS_SCALE);
        let log = LOG_COLUMNS * self.steps_max() * size_of::<u32>();
        held + STEPS_MAX as u64 * ROW_BYTES + allocation_bytes(brought.max(log) as u64)
    }
}

/// Steps of a submission of a training with so many steps: of large batches fewer.
fn steps_of_submission(steps_total: u64, batch_size: usize) -> usize {
    let of_numbers = SUBMITTED_EXAMPLES_MAX / batch_size.max(1);
    (STEPS_MAX as u64).min(steps_total).min(of_numbers as u64).max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_is_no_longer_than_its_training_and_holds_no_heap_of_numbers() {
        assert_eq!(steps_of_submission(4, 32), 4);
        assert_eq!(steps_of_submission(62_500, 32), STEPS_MAX);
        assert_eq!(steps_of_submission(u64::from(u32::MAX), 60_000), 17);
        assert_eq!(steps_of_submission(u64::from(u32::MAX), 5_000_000), 1);
        assert_eq!(steps_of_submission(3, 32), 3);
    }
}
