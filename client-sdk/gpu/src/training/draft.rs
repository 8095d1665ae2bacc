//! Plans training on a GPU, and its memory, before anything is allocated.

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

/// The maximum number of steps in a submission.
pub(super) const STEPS_MAX: usize = 256;
/// The maximum number of examples in all steps of a submission, unless a single step has more. The indexes of the
/// examples are sent with the submission.
const SUBMITTED_EXAMPLES_MAX: usize = 1 << 20;

/// A plan for training on a GPU, before any memory is allocated.
pub struct TrainingDraft {
    pub(super) setting: StepSetting,
    /// One step for each batch size of an epoch.
    pub(super) steps: Vec<StepDraft>,
}

/// The step of one batch size.
pub(super) struct StepDraft {
    pub(super) batch_size: usize,
    pub(super) graph: Graph,
    pub(super) plan: Plan,
}

/// The parameters of training on a GPU.
pub struct TrainingSetting<'a> {
    /// The rule by which a gradient becomes new weights.
    pub rule: &'a StepRule,
    /// The number of examples in the data set.
    pub examples: usize,
    /// The numbers of features and labels per example.
    pub widths: [usize; 2],
    /// True if examples are weighted.
    pub has_shares: bool,
    /// The range of each parameter in a flat vector of weights.
    pub ranges: &'a [Range<usize>],
    /// True if a correction is added to every gradient.
    pub is_corrected: bool,
    /// The number of steps in the whole training run.
    pub steps_total: u64,
}

impl TrainingSetting<'_> {
    /// Checks whether a GPU can run the steps. Call this before you build graphs.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the GPU cannot run them.
    pub fn check(&self, gpu: &Gpu) -> Result<(), GpuError> {
        self.update(gpu).map(|_| ())
    }

    /// Returns the weight update.
    fn update(&self, gpu: &Gpu) -> Result<Update, GpuError> {
        gpu.check()?;
        let unsupported =
            |why: &str| GpuError::Unsupported { adapter: gpu.report().name.clone(), why: why.to_owned() };
        let is_mixed = self.rule.precision == Precision::Mixed;
        if is_mixed && !gpu.report().half_precision {
            return Err(unsupported("it has no 16-bit floats, which mixed precision needs"));
        }
        Update::new(self.rule, self.is_corrected, is_mixed).map_err(unsupported)
    }
}

impl TrainingDraft {
    /// Plans the steps of these graphs, one for each batch size of an epoch. There must be at least one, all must train
    /// the same weights, and all must count correct predictions.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the GPU cannot run the steps.
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

    /// Returns the maximum number of steps that can be submitted together.
    pub(super) fn steps_max(&self) -> usize {
        self.setting.rows_max
    }

    /// Returns the size in bytes of each buffer that all steps share.
    pub(super) fn sizes(&self) -> Vec<(Buffer, usize)> {
        let arena = self.steps.iter().map(|step| step.plan.arena).max().unwrap_or(0);
        let mut sizes = self.setting.sizes();
        sizes.push((Buffer::Arena, arena));
        sizes
    }

    /// Returns the maximum GPU memory that training needs, in bytes, including the memory to download weights.
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

/// Returns the number of steps per submission for this training run; fewer if batches are large.
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
