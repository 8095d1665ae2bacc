//! Training on the GPU: examples and weights are uploaded once, and many steps are submitted at a time.

mod dispatches;
mod draft;
mod update;
mod weights;

use draft::{STEPS_MAX, StepDraft};
pub use draft::{TrainingDraft, TrainingSetting};
use folkmoot_graph::step::{
    Executor, HostState, LOSS_SCALE, Observer, StepData, StepRequest, StepResult, StepRule, append_shares,
    weight_sum,
};
use folkmoot_protocol::Precision;
use update::step_values;
use weights::WeightLayout;

use crate::GpuError;
use crate::device::{Gpu, Memory};
use crate::once::upload_constants;
use crate::plan::Buffer;
use crate::profile::{KernelTime, Timer};
use crate::program::{Memories, Program, allocate};
use crate::uniform::{LOG_COLUMNS, ROW_BYTES, StepValues};

/// The flags in the log's third column.
const WEIGHT_NOT_FINITE: u32 = 1;
const LEFT_OUT: u32 = 2;

/// Training on a GPU.
pub struct GpuTraining {
    gpu: Gpu,
    rule: StepRule,
    layout: WeightLayout,
    slots: usize,
    steps_max: usize,
    /// One program for each batch size of an epoch.
    programs: Vec<(usize, Program)>,
    memories: Memories,
    rows: Memory,
    /// The weight of each example, if the examples are weighted.
    example_weights: Option<Vec<f32>>,
    bytes: u64,
}

impl GpuTraining {
    /// Compiles the kernels of a draft, allocates its memory and uploads examples, weights and state.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the memory does not suffice, a kernel does not compile or the GPU fails.
    pub fn new(
        gpu: &Gpu,
        rule: &StepRule,
        draft: &TrainingDraft,
        data: StepData<'_>,
        host: &HostState,
    ) -> Result<Self, GpuError> {
        let memories = allocate(gpu, &draft.sizes())?;
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let rows = gpu.allocate("step values", STEPS_MAX as u64 * ROW_BYTES, usage)?;
        let mut training = Self {
            gpu: gpu.clone(),
            rule: *rule,
            layout: draft.setting.layout.clone(),
            slots: draft.setting.update.slots(),
            steps_max: draft.steps_max(),
            programs: Vec::new(),
            memories,
            rows,
            example_weights: data.weights.map(<[f32]>::to_vec),
            bytes: 0,
        };
        for step in &draft.steps {
            let program = training.program(step)?;
            training.programs.push((step.batch_size, program));
        }
        let programs: u64 = training.programs.iter().map(|(_, program)| program.memory_bytes()).sum();
        let shared: u64 = training.memories.values().map(Memory::bytes).sum();
        training.bytes = programs + shared + training.rows.bytes();
        training.upload_once(data, host);
        training.upload(host);
        Ok(training)
    }

    /// Compiles a step and allocates its constants. The constants come from the graph and differ between batch sizes.
    fn program(&mut self, draft: &StepDraft) -> Result<Program, GpuError> {
        let constants = allocate(&self.gpu, &[(Buffer::Constants, draft.plan.constant_bytes)])?;
        upload_constants(&self.gpu, &draft.graph, &draft.plan, &constants);
        Program::new(&self.gpu, &draft.plan, &[&self.memories, &constants], &self.rows)
            .map(|program| program.holding(constants))
    }

    /// Uploads the data that does not change.
    fn upload_once(&self, data: StepData<'_>, host: &HostState) {
        self.write(Buffer::Features, &floats(data.features));
        self.write(Buffer::Labels, &floats(data.labels));
        let trained = |flat: &[f32]| {
            let mut bytes = self.layout.weight_bytes(flat);
            bytes.truncate(self.layout.trained_bytes);
            bytes
        };
        if self.memories.contains_key(&Buffer::Start) {
            self.write(Buffer::Start, &trained(&host.starting_weights));
        }
        if let Some(correction) = &host.correction {
            self.write(Buffer::Correction, &trained(correction));
        }
    }

    /// Uploads weights and optimizer state.
    fn upload(&self, host: &HostState) {
        let HostState { weights, optimizer_state: state, .. } = host;
        self.write(Buffer::Weights, &self.layout.weight_bytes(weights));
        for (slot, buffer) in [Buffer::First, Buffer::Second].into_iter().enumerate().take(self.slots) {
            self.write(buffer, &self.layout.slot_bytes(state, slot, self.slots));
        }
        if self.is_mixed() {
            self.write(Buffer::Scale, &floats(&state[state.len() - LOSS_SCALE.len()..]));
        }
    }

    /// Runs one step, and returns the time of each kernel.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the GPU fails or has no timestamps.
    pub async fn run_timed(
        &mut self,
        request: &StepRequest<'_>,
    ) -> Result<(StepResult, Vec<KernelTime>), GpuError> {
        self.prepare(std::slice::from_ref(request))?;
        let program = self.program_of(request.rows.len())?;
        let timer = Timer::new(&self.gpu, program.kernels().count())?;
        let mut encoder = self.gpu.encoder();
        encoder.clear_buffer(self.buffer(Buffer::Log), 0, None);
        program.encode_timed(&mut encoder, 0, timer.set());
        timer.resolve(&mut encoder);
        let results = self.results(encoder, std::slice::from_ref(request)).await?;
        let times = timer.times(&self.gpu, program.kernels()).await?;
        Ok((results[0], times))
    }

    /// Replaces the first of the uploaded examples, for the steps that are submitted next. There may be no more than there are in the data
    /// set. They are weighted if those of the data set are.
    pub fn replace_examples(&mut self, data: StepData<'_>) {
        self.write(Buffer::Features, &floats(data.features));
        self.write(Buffer::Labels, &floats(data.labels));
        self.example_weights = data.weights.map(<[f32]>::to_vec);
    }

    /// Writes the inputs of the steps.
    fn prepare(&mut self, requests: &[StepRequest<'_>]) -> Result<(), GpuError> {
        self.gpu.check()?;
        let (mut rows, mut order, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for (index, request) in requests.iter().enumerate() {
            let values = step_values(self.rule.optimizer, request);
            let first = (order.len() / size_of::<u32>()) as u32;
            rows.extend(StepValues { index: index as u32, first, ..values }.row());
            order.extend(request.rows.iter().flat_map(|row| (*row as u32).to_le_bytes()));
            if let Some(weights) = &self.example_weights {
                append_shares(weights, &request.rows, weight_sum(weights, &request.rows), &mut shares);
            }
        }
        self.gpu.queue.write_buffer(&self.rows.buffer, 0, &rows);
        self.write(Buffer::Order, &order);
        self.write(Buffer::Shares, &floats(&shares));
        Ok(())
    }

    /// Submits the commands, and reads the rows of the log.
    async fn results(
        &self,
        encoder: wgpu::CommandEncoder,
        requests: &[StepRequest<'_>],
    ) -> Result<Vec<StepResult>, GpuError> {
        let log_bytes = (requests.len() * LOG_COLUMNS * size_of::<u32>()) as u64;
        let log = self.gpu.read(encoder, &[(self.buffer(Buffer::Log), 0, log_bytes)]).await?;
        let words: Vec<u32> = log.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let result = |(row, request): (&[u32; LOG_COLUMNS], &StepRequest<'_>)| StepResult {
            loss: f64::from(f32::from_bits(row[0])),
            correct_count: f32::from_bits(row[1]) as u64,
            example_count: request.rows.len() as u64,
            is_finite: row[2] & WEIGHT_NOT_FINITE == 0,
            is_left_out: row[2] & LEFT_OUT != 0,
        };
        Ok(words.as_chunks().0.iter().zip(requests).map(result).collect())
    }

    /// Returns the GPU memory that training holds, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn program_of(&self, batch_size: usize) -> Result<&Program, GpuError> {
        let found = self.programs.iter().find(|(size, _)| *size == batch_size);
        found.map(|(_, program)| program).ok_or_else(|| GpuError::Unsupported {
            adapter: self.gpu.report().name.clone(),
            why: format!("a step has {batch_size} examples, which is not a batch size of an epoch"),
        })
    }

    fn is_mixed(&self) -> bool {
        self.rule.precision == Precision::Mixed
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

impl Executor for GpuTraining {
    type Error = GpuError;

    fn steps_max(&self) -> usize {
        self.steps_max
    }

    /// Runs the steps in one submission. Operators are not observed, because they run together.
    async fn take(
        &mut self,
        requests: &[StepRequest<'_>],
        _: &mut HostState,
        _: Observer<'_>,
    ) -> Result<Vec<StepResult>, GpuError> {
        self.prepare(requests)?;
        let mut encoder = self.gpu.encoder();
        encoder.clear_buffer(self.buffer(Buffer::Log), 0, None);
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for (index, request) in requests.iter().enumerate() {
                self.program_of(request.rows.len())?.encode(&mut pass, index as u32 * ROW_BYTES as u32);
            }
        }
        self.results(encoder, requests).await
    }

    async fn fetch(&mut self, host: &mut HostState) -> Result<(), GpuError> {
        let slots = &[Buffer::First, Buffer::Second][..self.slots];
        let (all, trained) = (self.layout.bytes as u64, self.layout.trained_bytes as u64);
        let mut parts = vec![(self.buffer(Buffer::Weights), 0, all)];
        parts.extend(slots.iter().map(|slot| (self.buffer(*slot), 0, trained)));
        if self.is_mixed() {
            parts.push((self.buffer(Buffer::Scale), 0, size_of_val(&LOSS_SCALE) as u64));
        }
        let bytes = self.gpu.read(self.gpu.encoder(), &parts).await?;
        let (weights, mut rest) = bytes.split_at(self.layout.bytes);
        self.layout.write_weights(weights, &mut host.weights);
        for slot in 0..self.slots {
            let (own, others) = rest.split_at(self.layout.trained_bytes);
            self.layout.write_slot(own, &mut host.optimizer_state, slot, self.slots);
            rest = others;
        }
        let scale = rest.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        let tail = host.optimizer_state.len() - scale.len();
        host.optimizer_state[tail..].iter_mut().zip(scale).for_each(|(own, scale)| *own = scale);
        Ok(())
    }
}

fn floats(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_le_bytes()).collect()
}
