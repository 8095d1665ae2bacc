//! A training before it has memory on a device: what it needs is known before anything is taken.

use super::GpuError;
use super::device::{Gpu, allocation_bytes};
use super::plan::{Buffer, Plan};
use super::precision::LOSS_SCALE;
use super::step::ROW_BYTES;
use super::step_plan::{StepSetting, plan_step};
use super::update::Update;
use super::weights::WeightLayout;
use crate::examples::Examples;
use crate::graph::Graph;
use crate::loss::right_answers;
use crate::train::{Precision, StepForm, StepGraph, StepSource, TrainError, TrainingPlan};

/// Steps of a submission, at most.
pub(crate) const STEPS_MAX: usize = 256;

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
        let mut setting = StepSetting {
            layout: WeightLayout::new(&source.parameters.ranges, Vec::new(), gpu.traits().alignment),
            examples: examples.len(),
            widths: [examples.feature_count(), examples.labels().per_example()],
            rows_max: STEPS_MAX,
            batch_size_max: batch_sizes.iter().copied().max().unwrap_or(1),
            update: Update::new(plan, is_corrected, is_mixed).map_err(unsupported)?,
            is_mixed,
            has_shares: source.has_shares,
        };
        let mut steps = Vec::new();
        for batch_size in batch_sizes.iter().copied() {
            let form = StepForm { batch_size, has_shares: source.has_shares, has_scale: is_mixed };
            let mut step = StepGraph::new(source, form)?;
            let right =
                right_answers(&mut step.graph, source.loss, &source.layout, step.output, step.labels)?;
            let trained = step.slopes.iter().map(|(index, _)| *index).collect();
            setting.layout = WeightLayout::new(&source.parameters.ranges, trained, gpu.traits().alignment);
            let plan = plan_step(&step, right, batch_size, &setting, gpu.traits())?;
            steps.push(StepDraft { batch_size, graph: step.graph, plan });
        }
        Ok(Self { setting, steps })
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
        let log = 4 * STEPS_MAX * size_of::<u32>();
        held + STEPS_MAX as u64 * ROW_BYTES + allocation_bytes(brought.max(log) as u64)
    }
}
