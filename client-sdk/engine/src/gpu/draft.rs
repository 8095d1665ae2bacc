//! A training before it has memory on a device: what it needs is known before anything is taken.

use folkmoot_protocol::{Precision, TrainingPlan};

use super::GpuError;
use super::device::{Gpu, allocation_bytes};
use super::dispatches::{StepSetting, plan_step};
use super::plan::{Buffer, Plan};
use super::precision::LOSS_SCALE;
use super::uniform::{LOG_COLUMNS, ROW_BYTES};
use super::update::Update;
use super::weights::WeightLayout;
use crate::examples::Examples;
use crate::graph::{Graph, ValueId};
use crate::loss::right_answers;
use crate::processor::StepSource;
use crate::step::StepForm;
use crate::step::StepGraph;
use crate::train::TrainError;

/// Steps of a submission, at most.
pub(super) const STEPS_MAX: usize = 256;
/// Examples of all steps of a submission, at most, unless one step has more: their numbers are sent with it.
const SUBMITTED_EXAMPLES_MAX: usize = 1 << 20;

/// A training that could run on a device.
pub(crate) struct TrainingDraft {
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

impl TrainingDraft {
    /// Plans the steps of these batch sizes.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the model does not allow a batch size, or the device cannot run the plan.
    pub(crate) fn new(
        gpu: &Gpu,
        source: &StepSource,
        plan: &TrainingPlan,
        batch_sizes: &[usize],
        examples: &Examples,
        is_corrected: bool,
    ) -> Result<Self, TrainError> {
        gpu.check()?;
        let is_mixed = plan.precision == Precision::Mixed;
        let unsupported =
            |why: &str| GpuError::Unsupported { adapter: gpu.report().name.clone(), why: why.to_owned() };
        if is_mixed && !gpu.report().half_precision {
            return Err(unsupported("it has no 16-bit numbers, which mixed precision needs").into());
        }
        let update = Update::new(plan, is_corrected, is_mixed).map_err(unsupported)?;
        let mut graphs = Vec::new();
        for batch_size in batch_sizes.iter().copied() {
            let form = StepForm { batch_size, has_shares: source.has_shares, has_scale: is_mixed };
            let mut step = StepGraph::new(source, form)?;
            let right =
                right_answers(&mut step.graph, source.loss, &source.layout, step.output, step.labels)?;
            graphs.push((batch_size, step, right));
        }
        // Every batch size trains the same weights.
        let (_, first, _) = graphs.first().ok_or(TrainError::NoExamples)?;
        let trained = first.slopes.iter().map(|(index, _)| *index).collect();
        let batch_size_max = batch_sizes.iter().copied().max().unwrap_or(1);
        let setting = StepSetting {
            layout: WeightLayout::new(&source.parameters.ranges, trained, gpu.traits().alignment),
            examples: examples.len(),
            widths: [examples.feature_count(), examples.labels().per_example()],
            rows_max: steps_of_submission(plan, examples.len(), batch_size_max),
            batch_size_max,
            update,
            is_mixed,
            has_shares: source.has_shares,
        };
        let plan_one = |(batch_size, step, right): (usize, StepGraph, ValueId)| {
            let plan = plan_step(&step, right, batch_size, &setting, gpu.traits())?;
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
    pub(crate) fn memory_bytes(&self) -> u64 {
        let shared = self.sizes().into_iter().map(|(_, bytes)| bytes);
        let constants = self.steps.iter().map(|step| step.plan.constant_bytes);
        let held: u64 = shared.chain(constants).map(|bytes| allocation_bytes(bytes as u64)).sum();
        let StepSetting { layout, update, .. } = &self.setting;
        let brought = layout.bytes + update.slots() * layout.trained_bytes + size_of_val(&LOSS_SCALE);
        let log = LOG_COLUMNS * self.steps_max() * size_of::<u32>();
        held + STEPS_MAX as u64 * ROW_BYTES + allocation_bytes(brought.max(log) as u64)
    }
}

/// Steps of a submission of this training: not more than it has, and of large batches fewer.
fn steps_of_submission(plan: &TrainingPlan, examples: usize, batch_size: usize) -> usize {
    let of_epoch = examples.div_ceil(batch_size.max(1)) as u64;
    let steps_max = plan.steps_max.map_or(u64::MAX, u64::from);
    let of_training = of_epoch.saturating_mul(u64::from(plan.epochs)).min(steps_max);
    let of_numbers = SUBMITTED_EXAMPLES_MAX / batch_size.max(1);
    (STEPS_MAX as u64).min(of_training).min(of_numbers as u64).max(1) as usize
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{LocalOptimizer, Loss};

    use super::*;

    #[test]
    fn a_submission_is_no_longer_than_its_training_and_holds_no_heap_of_numbers() {
        let plan = TrainingPlan { epochs: 2, ..TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5)) };
        assert_eq!(steps_of_submission(&plan, 64, 32), 4);
        assert_eq!(steps_of_submission(&plan, 1_000_000, 32), STEPS_MAX);
        let endless = TrainingPlan { epochs: u32::MAX, ..plan.clone() };
        assert_eq!(steps_of_submission(&endless, 60_000, 60_000), 17);
        assert_eq!(steps_of_submission(&endless, 5_000_000, 5_000_000), 1);
        assert_eq!(steps_of_submission(&TrainingPlan { steps_max: Some(3), ..plan }, 1_000_000, 32), 3);
    }
}
