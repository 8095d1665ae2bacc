//! A plan with allocated memory and compiled kernels, ready to submit.

use std::collections::BTreeMap;

use super::GpuError;
use super::device::{Gpu, Memory};
use super::plan::{Buffer, Dispatch, Plan};
use super::uniform::STEP_BYTES;

/// The memory of a program's buffers.
pub(super) type Memories = BTreeMap<Buffer, Memory>;

/// The usage flags of every buffer that kernels access.
pub(super) const STORAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

/// A compiled dispatch.
struct Launch {
    name: &'static str,
    flops: u64,
    pipeline: wgpu::ComputePipeline,
    tensors: wgpu::BindGroup,
    workgroups: [u32; 3],
    reads_step: bool,
}

/// The fixed list of dispatches of one step.
pub(super) struct Program {
    launches: Vec<Launch>,
    /// The rows of step values; each step chooses its offset.
    steps: wgpu::BindGroup,
    /// Memory owned by this program alone.
    held: Memories,
}

impl Program {
    /// Compiles every kernel of a plan. `steps` contains the rows of step values.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if a kernel does not compile or the GPU fails.
    pub(super) fn new(
        gpu: &Gpu,
        plan: &Plan,
        memories: &[&Memories],
        steps: &Memory,
    ) -> Result<Self, GpuError> {
        let step_layout = step_layout(gpu);
        let rows =
            wgpu::BufferBinding { buffer: &steps.buffer, offset: 0, size: wgpu::BufferSize::new(STEP_BYTES) };
        let entry = wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::Buffer(rows) };
        let steps = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("step values"),
            layout: &step_layout,
            entries: &[entry],
        });
        let launches = plan.dispatches.iter().map(|dispatch| launch(gpu, dispatch, memories, &step_layout));
        Ok(Self { launches: launches.collect::<Result<_, _>>()?, steps, held: Memories::new() })
    }

    /// Keeps memory alive as long as the program.
    pub(super) fn holding(self, held: Memories) -> Self {
        Self { held, ..self }
    }

    /// Encodes all dispatches of a step whose values are at this offset.
    pub(super) fn encode(&self, pass: &mut wgpu::ComputePass<'_>, offset: u32) {
        for launch in &self.launches {
            self.dispatch(pass, launch, offset);
        }
    }

    /// Encodes all dispatches, each between two timestamps of the query set.
    pub(super) fn encode_timed(&self, encoder: &mut wgpu::CommandEncoder, offset: u32, set: &wgpu::QuerySet) {
        for (index, launch) in self.launches.iter().enumerate() {
            let begin = 2 * index as u32;
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(launch.name),
                timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                    query_set: set,
                    beginning_of_pass_write_index: Some(begin),
                    end_of_pass_write_index: Some(begin + 1),
                }),
            });
            self.dispatch(&mut pass, launch, offset);
        }
    }

    /// Returns the number of bytes of memory that this program alone owns.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.held.values().map(Memory::bytes).sum()
    }

    /// Returns the name and the floating-point operations of each dispatch, in order.
    pub(super) fn kernels(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.launches.iter().map(|launch| (launch.name, launch.flops))
    }

    fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>, launch: &Launch, offset: u32) {
        pass.set_pipeline(&launch.pipeline);
        pass.set_bind_group(0, &launch.tensors, &[]);
        if launch.reads_step {
            pass.set_bind_group(1, &self.steps, &[offset]);
        }
        let [x, y, z] = launch.workgroups;
        pass.dispatch_workgroups(x, y, z);
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Program").field("launches", &self.launches.len()).finish_non_exhaustive()
    }
}

/// Allocates a zeroed buffer for each given size.
///
/// # Errors
/// Returns a [`GpuError`] if the memory does not suffice.
pub(super) fn allocate(gpu: &Gpu, sizes: &[(Buffer, usize)]) -> Result<Memories, GpuError> {
    let take = |(buffer, bytes): &(Buffer, usize)| {
        Ok((*buffer, gpu.allocate(&format!("{buffer:?}"), *bytes as u64, STORAGE)?))
    };
    sizes.iter().map(take).collect()
}

fn launch(
    gpu: &Gpu,
    dispatch: &Dispatch,
    memories: &[&Memories],
    step_layout: &wgpu::BindGroupLayout,
) -> Result<Launch, GpuError> {
    let layout_entries: Vec<_> = dispatch
        .bindings
        .iter()
        .enumerate()
        .map(|(index, binding)| {
            layout_entry(index, wgpu::BufferBindingType::Storage { read_only: !binding.is_written }, false)
        })
        .collect();
    let layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(dispatch.name),
        entries: &layout_entries,
    });
    let mut layouts = vec![Some(&layout)];
    layouts.extend(dispatch.reads_step.then_some(Some(step_layout)));
    let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(dispatch.name),
        bind_group_layouts: &layouts,
        immediate_size: 0,
    });
    let pipeline = gpu.pipeline(dispatch.name, &dispatch.source, &pipeline_layout)?;
    let entries: Vec<_> = dispatch
        .bindings
        .iter()
        .enumerate()
        .map(|(index, binding)| wgpu::BindGroupEntry {
            binding: index as u32,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: find(memories, binding.buffer),
                offset: binding.start,
                size: wgpu::BufferSize::new(binding.bytes),
            }),
        })
        .collect();
    let tensors = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some(dispatch.name),
        layout: &layout,
        entries: &entries,
    });
    let Dispatch { name, flops, workgroups, reads_step, .. } = *dispatch;
    Ok(Launch { name, flops, pipeline, tensors, workgroups, reads_step })
}

fn find<'a>(memories: &[&'a Memories], buffer: Buffer) -> &'a wgpu::Buffer {
    let found = memories.iter().find_map(|memories| memories.get(&buffer));
    &found.expect("every buffer of a plan has memory").buffer
}

fn step_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("step values"),
        entries: &[layout_entry(0, wgpu::BufferBindingType::Uniform, true)],
    })
}

fn layout_entry(
    binding: usize,
    ty: wgpu::BufferBindingType,
    has_dynamic_offset: bool,
) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding: binding as u32,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
        count: None,
    }
}
