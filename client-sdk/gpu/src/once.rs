//! Runs a graph on the GPU without training: for comparing executors in tests, and for measuring an adapter.

use folkmoot_graph::op::volume;
use folkmoot_graph::{Graph, Source, ValueId};

use super::GpuError;
use super::accessor::Format;
use super::compile::Compiler;
use super::device::{Gpu, Memory};
use super::plan::{Buffer, Place, Plan};
use super::program::{Memories, Program, allocate};
use super::uniform::{ROW_BYTES, StepValues};

/// A graph with memory for its inputs and outputs. Its parameters are additional inputs, after the others.
pub struct Once {
    gpu: Gpu,
    program: Program,
    memories: Memories,
    steps: Memory,
    /// The place of each input: first those of a batch by number, then the parameters by number.
    inputs: Vec<Place>,
    outputs: Vec<Place>,
}

impl Once {
    /// Compiles everything that the outputs depend on.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the graph does not fit on the GPU.
    pub fn new(gpu: &Gpu, graph: &Graph, outputs: &[ValueId]) -> Result<Self, GpuError> {
        let mut compiler = Compiler::new(graph, gpu.traits());
        let mut sources: Vec<(bool, usize, ValueId)> = Vec::new();
        for (id, value) in graph.values.iter().enumerate() {
            match value.source {
                Source::Input(index) => sources.push((false, index, ValueId(id))),
                Source::Parameter(index) => sources.push((true, index, ValueId(id))),
                _ => {}
            }
        }
        sources.sort_unstable();
        let (mut inputs, mut end) = (Vec::new(), 0);
        for (_, _, id) in sources {
            let length = volume(graph.shape(id));
            let place = Place { buffer: Buffer::Inputs, start: end, length, format: Format::Single };
            end += place.bytes().max(1).next_multiple_of(gpu.traits().alignment);
            compiler.homes.insert(id.into(), place);
            inputs.push(place);
        }
        compiler.add_graph(outputs);
        let plan = compiler.finish()?;
        let sizes =
            [(Buffer::Inputs, end), (Buffer::Arena, plan.arena), (Buffer::Constants, plan.constant_bytes)];
        let memories = allocate(gpu, &sizes)?;
        upload_constants(gpu, graph, &plan, &memories);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let steps = gpu.allocate("step values", ROW_BYTES, usage)?;
        let program = Program::new(gpu, &plan, &[&memories], &steps)?;
        Ok(Self { gpu: gpu.clone(), program, memories, steps, inputs, outputs: plan.kept })
    }

    /// Uploads the inputs, in the order of their places.
    pub fn upload(&self, inputs: &[&[f32]]) {
        for (place, elements) in self.inputs.iter().zip(inputs) {
            let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
            self.gpu.queue.write_buffer(&self.memories[&Buffer::Inputs].buffer, place.start as u64, &bytes);
        }
    }

    /// Returns the number of elements of each input, in the order of their places.
    pub fn input_lengths(&self) -> impl Iterator<Item = usize> {
        self.inputs.iter().map(|place| place.length)
    }

    /// Runs all dispatches `times` times, in one submission.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the GPU fails.
    pub fn run(&self, seed: u64, times: usize) -> Result<wgpu::SubmissionIndex, GpuError> {
        let row = StepValues { seed, ..StepValues::default() }.row();
        self.gpu.queue.write_buffer(&self.steps.buffer, 0, &row);
        let mut encoder = self.gpu.encoder();
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        (0..times).for_each(|_| self.program.encode(&mut pass, 0));
        drop(pass);
        self.gpu.submit(encoder)
    }

    /// Returns the outputs of the last run.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the GPU fails.
    pub async fn outputs(&self) -> Result<Vec<Vec<f32>>, GpuError> {
        let arena = &self.memories[&Buffer::Arena].buffer;
        let part = |place: &Place| (arena, place.start as u64, place.bytes() as u64);
        let parts: Vec<_> = self.outputs.iter().map(part).collect();
        let bytes = self.gpu.read(self.gpu.encoder(), &parts).await?;
        let mut floats = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        Ok(self.outputs.iter().map(|place| floats.by_ref().take(place.length).collect()).collect())
    }
}

/// Writes the constants of a plan to their places.
pub(super) fn upload_constants(gpu: &Gpu, graph: &Graph, plan: &Plan, memories: &Memories) {
    let Some(memory) = memories.get(&Buffer::Constants) else { return };
    for (index, start) in &plan.constants {
        let bytes: Vec<u8> =
            graph.constants[*index].iter().flat_map(|number| (*number as f32).to_le_bytes()).collect();
        gpu.queue.write_buffer(&memory.buffer, *start as u64, &bytes);
    }
}
