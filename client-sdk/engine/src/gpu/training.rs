//! A training on the device: examples and weights go there once, steps are sent many at a time.

use folkmoot_protocol::{Precision, TrainingPlan};

use super::GpuError;
use super::device::{Gpu, Memory};
use super::draft::{STEPS_MAX, StepDraft, TrainingDraft};
use super::once::upload_constants;
use super::plan::Buffer;
use super::precision::LOSS_SCALE;
use super::profile::{KernelTime, Timer};
use super::program::{Memories, Program, allocate};
use super::uniform::{LOG_COLUMNS, ROW_BYTES, StepValues};
use super::update::step_values;
use super::weights::WeightLayout;
use crate::batch::{Batch, weight_sum};
use crate::examples::Examples;

/// Bits of the log's third column.
const WEIGHT_NOT_FINITE: u32 = 1;
const LEFT_OUT: u32 = 2;

/// One step that is to be run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepRequest {
    /// The numbers of the examples.
    pub(crate) rows: Vec<usize>,
    /// The step, counted from 0.
    pub(crate) step: u64,
    /// Decides the random numbers.
    pub(crate) seed: u64,
}

/// What a step measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepResult {
    /// The mean loss, before the update.
    pub(crate) loss: f32,
    /// Right answers.
    pub(crate) correct: u32,
    /// Whether all weights are finite.
    pub(crate) is_finite: bool,
    /// Whether a gradient overflowed, so that weights stayed as they were: only with mixed precision.
    pub(crate) is_left_out: bool,
}

/// The state of a training as the host has it.
pub(crate) struct HostState<'a> {
    /// Flat in schema order.
    pub(crate) weights: &'a mut [f32],
    /// The optimizer's slots of one trained tensor after the other; with mixed precision, the loss scale at the end.
    pub(crate) state: &'a mut [f32],
}

/// A training on a device.
pub(crate) struct GpuTraining {
    gpu: Gpu,
    plan: TrainingPlan,
    layout: WeightLayout,
    slots: usize,
    steps_max: usize,
    /// Of each batch size that an epoch has.
    programs: Vec<(usize, Program)>,
    memories: Memories,
    rows: Memory,
    examples: Examples,
    batch: Batch,
    bytes: u64,
}

impl GpuTraining {
    /// Compiles the kernels of a draft, takes its memory and uploads what stays as it is.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if there is no memory for it, a kernel does not compile or the device fails.
    pub(crate) fn new(
        gpu: &Gpu,
        plan: &TrainingPlan,
        draft: &TrainingDraft,
        examples: &Examples,
        correction: Option<&[f32]>,
        starting_weights: &[f32],
    ) -> Result<Self, GpuError> {
        let memories = allocate(gpu, &draft.sizes())?;
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let rows = gpu.allocate("step values", STEPS_MAX as u64 * ROW_BYTES, usage)?;
        let mut training = Self {
            gpu: gpu.clone(),
            plan: plan.clone(),
            layout: draft.setting.layout.clone(),
            slots: draft.setting.update.slots(),
            steps_max: draft.steps_max(),
            programs: Vec::new(),
            memories,
            rows,
            examples: examples.clone(),
            batch: Batch::default(),
            bytes: 0,
        };
        for step in &draft.steps {
            let program = training.program(step)?;
            training.programs.push((step.batch_size, program));
        }
        let programs: u64 = training.programs.iter().map(|(_, program)| program.memory_bytes()).sum();
        let shared: u64 = training.memories.values().map(Memory::bytes).sum();
        training.bytes = programs + shared + training.rows.bytes();
        training.upload_once(correction, starting_weights);
        Ok(training)
    }

    /// Compiles a step. Frozen tensors are those of the graph, which is another for each batch size.
    fn program(&mut self, draft: &StepDraft) -> Result<Program, GpuError> {
        let constants = allocate(&self.gpu, &[(Buffer::Constants, draft.plan.constant_bytes)])?;
        upload_constants(&self.gpu, &draft.graph, &draft.plan, &constants);
        Program::new(&self.gpu, &draft.plan, &[&self.memories, &constants], &self.rows)
            .map(|program| program.holding(constants))
    }

    /// Uploads what stays as it is.
    fn upload_once(&self, correction: Option<&[f32]>, starting_weights: &[f32]) {
        self.write(Buffer::Features, &floats(self.examples.features()));
        self.write(Buffer::Labels, &floats(&self.examples.labels().numbers()));
        let trained = |flat: &[f32]| {
            let mut bytes = self.layout.weight_bytes(flat);
            bytes.truncate(self.layout.trained_bytes);
            bytes
        };
        if self.memories.contains_key(&Buffer::Start) {
            self.write(Buffer::Start, &trained(starting_weights));
        }
        if let Some(correction) = correction {
            self.write(Buffer::Correction, &trained(correction));
        }
    }

    /// Uploads weights and state.
    pub(crate) fn upload(&self, weights: &[f32], state: &[f32]) {
        self.write(Buffer::Weights, &self.layout.weight_bytes(weights));
        for (slot, buffer) in [Buffer::First, Buffer::Second].into_iter().enumerate().take(self.slots) {
            self.write(buffer, &self.layout.slot_bytes(state, slot, self.slots));
        }
        if self.is_mixed() {
            self.write(Buffer::Scale, &floats(&state[state.len() - LOSS_SCALE.len()..]));
        }
    }

    /// Brings weights and state back.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the device fails; nothing has changed then.
    pub(crate) async fn download(&self, host: HostState<'_>) -> Result<(), GpuError> {
        let slots = &[Buffer::First, Buffer::Second][..self.slots];
        let (all, trained) = (self.layout.bytes as u64, self.layout.trained_bytes as u64);
        let mut parts = vec![(self.buffer(Buffer::Weights), 0, all)];
        parts.extend(slots.iter().map(|slot| (self.buffer(*slot), 0, trained)));
        if self.is_mixed() {
            parts.push((self.buffer(Buffer::Scale), 0, size_of_val(&LOSS_SCALE) as u64));
        }
        let bytes = self.gpu.read(self.gpu.encoder(), &parts).await?;
        let (weights, mut rest) = bytes.split_at(self.layout.bytes);
        self.layout.write_weights(weights, host.weights);
        for slot in 0..self.slots {
            let (own, others) = rest.split_at(self.layout.trained_bytes);
            self.layout.write_slot(own, host.state, slot, self.slots);
            rest = others;
        }
        let scale = rest.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        let tail = host.state.len() - scale.len();
        host.state[tail..].iter_mut().zip(scale).for_each(|(own, scale)| *own = scale);
        Ok(())
    }

    /// Runs up to [`GpuTraining::steps_max`] steps in one submission, and says what each measured.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the device fails; what is on it is lost then.
    pub(crate) async fn run(&mut self, requests: &[StepRequest]) -> Result<Vec<StepResult>, GpuError> {
        self.prepare(requests)?;
        let mut encoder = self.gpu.encoder();
        encoder.clear_buffer(self.buffer(Buffer::Log), 0, None);
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for (index, request) in requests.iter().enumerate() {
                self.program_of(request.rows.len())?.encode(&mut pass, index as u32 * ROW_BYTES as u32);
            }
        }
        self.results(encoder, requests.len()).await
    }

    /// Runs one step, and says how long each kernel took.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the device fails or has no timestamps.
    pub(crate) async fn run_timed(
        &mut self,
        request: &StepRequest,
    ) -> Result<(StepResult, Vec<KernelTime>), GpuError> {
        self.prepare(std::slice::from_ref(request))?;
        let program = self.program_of(request.rows.len())?;
        let timer = Timer::new(&self.gpu, program.kernels().count())?;
        let mut encoder = self.gpu.encoder();
        encoder.clear_buffer(self.buffer(Buffer::Log), 0, None);
        program.encode_timed(&mut encoder, 0, timer.set());
        timer.resolve(&mut encoder);
        let results = self.results(encoder, 1).await?;
        let times = timer.times(&self.gpu, program.kernels()).await?;
        Ok((results[0], times))
    }

    /// Writes what the steps read.
    fn prepare(&mut self, requests: &[StepRequest]) -> Result<(), GpuError> {
        self.gpu.check()?;
        let (mut rows, mut order, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for (index, request) in requests.iter().enumerate() {
            let values = step_values(&self.plan, request.step, request.seed);
            let first = (order.len() / size_of::<u32>()) as u32;
            rows.extend(StepValues { index: index as u32, first, ..values }.row());
            order.extend(request.rows.iter().flat_map(|row| (*row as u32).to_le_bytes()));
            if self.memories.contains_key(&Buffer::Shares) {
                let sum = weight_sum(&self.examples, &request.rows);
                self.batch.fill_shares(&self.examples, &request.rows, sum);
                shares.extend(floats(self.batch.shares()));
            }
        }
        self.gpu.queue.write_buffer(&self.rows.buffer, 0, &rows);
        self.write(Buffer::Order, &order);
        self.write(Buffer::Shares, &shares);
        Ok(())
    }

    /// Submits, and reads the rows of the log.
    async fn results(
        &self,
        encoder: wgpu::CommandEncoder,
        steps: usize,
    ) -> Result<Vec<StepResult>, GpuError> {
        let log_bytes = (steps * LOG_COLUMNS * size_of::<u32>()) as u64;
        let log = self.gpu.read(encoder, &[(self.buffer(Buffer::Log), 0, log_bytes)]).await?;
        let words: Vec<u32> = log.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let result = |row: &[u32; LOG_COLUMNS]| StepResult {
            loss: f32::from_bits(row[0]),
            correct: f32::from_bits(row[1]) as u32,
            is_finite: row[2] & WEIGHT_NOT_FINITE == 0,
            is_left_out: row[2] & LEFT_OUT != 0,
        };
        Ok(words.as_chunks().0.iter().map(result).collect())
    }

    /// Steps that can be run together.
    pub(crate) fn steps_max(&self) -> usize {
        self.steps_max
    }

    /// Bytes of the device's memory that the training holds.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    /// The device.
    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn program_of(&self, batch_size: usize) -> Result<&Program, GpuError> {
        let found = self.programs.iter().find(|(size, _)| *size == batch_size);
        found.map(|(_, program)| program).ok_or_else(|| GpuError::Unsupported {
            adapter: self.gpu.report().name.clone(),
            why: format!("a step of {batch_size} examples is none of an epoch"),
        })
    }

    fn is_mixed(&self) -> bool {
        self.plan.precision == Precision::Mixed
    }

    fn buffer(&self, buffer: Buffer) -> &wgpu::Buffer {
        &self.memories[&buffer].buffer
    }

    fn write(&self, buffer: Buffer, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.gpu.queue.write_buffer(self.buffer(buffer), 0, bytes);
        }
    }
}

fn floats(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_le_bytes()).collect()
}
