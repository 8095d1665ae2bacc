//! An open GPU: its memory, its kernels, and its errors.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::GpuError;
use super::adapter::{Adapter, AdapterReport};
use super::tile::Tile;
use super::traits::Traits;

/// The maximum time for a submission. After that, the GPU counts as hung.
const WATCHDOG: Duration = Duration::from_secs(60);
/// The smallest subgroup size that kernels can use.
const SUBGROUP_MIN: u32 = 8;
/// The size of the smallest buffer in bytes: bindings must not be empty.
const BUFFER_BYTES_MIN: u64 = 256;

/// An open GPU. Cloning is cheap: clones share it.
#[derive(Clone)]
pub struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    report: AdapterReport,
    traits: Traits,
    faults: Arc<Mutex<Option<GpuError>>>,
    allocated: Arc<AtomicU64>,
    allocated_peak: Arc<AtomicU64>,
    pipelines: Arc<Mutex<BTreeMap<String, wgpu::ComputePipeline>>>,
    watchdog: Duration,
}

/// A buffer in GPU memory. Dropping it releases the memory.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) buffer: wgpu::Buffer,
    allocated: Arc<AtomicU64>,
}

impl Memory {
    /// Returns the size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.buffer.size()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.allocated.fetch_sub(self.buffer.size(), Ordering::Relaxed);
        self.buffer.destroy();
    }
}

impl Gpu {
    /// Opens an adapter.
    ///
    /// # Errors
    /// Returns [`GpuError::Refused`] if the driver refuses to open the adapter.
    pub async fn open(adapter: &Adapter) -> Result<Self, GpuError> {
        let report = adapter.report().clone();
        let (required_features, required_limits) = adapter.requirements();
        let alignment = required_limits.min_storage_buffer_offset_alignment as usize;
        let descriptor = wgpu::DeviceDescriptor { required_features, required_limits, ..Default::default() };
        let opened = adapter.inner.request_device(&descriptor).await;
        let (device, queue) = opened
            .map_err(|error| GpuError::Refused { adapter: report.name.clone(), why: error.to_string() })?;
        let subgroups = report.subgroups && adapter.inner.get_info().subgroup_min_size >= SUBGROUP_MIN;
        let traits = Traits {
            adapter: report.name.clone(),
            subgroups,
            binding_bytes_max: report.binding_bytes_max.min(u64::from(u32::MAX)),
            buffer_bytes_max: report.buffer_bytes_max,
            alignment,
            tile: tile(&report, subgroups),
        };
        let faults = Arc::new(Mutex::new(None));
        watch(&device, &report.name, &faults);
        Ok(Self {
            device,
            queue,
            report,
            traits,
            faults,
            allocated: Arc::default(),
            allocated_peak: Arc::default(),
            pipelines: Arc::default(),
            watchdog: WATCHDOG,
        })
    }

    /// Finds and opens an adapter synchronously, which native drivers allow. See [`Adapter::find`].
    ///
    /// # Errors
    /// Returns the errors of [`Adapter::find`] and [`Gpu::open`].
    #[cfg(not(target_family = "wasm"))]
    pub fn find(wanted: Option<&str>) -> Result<Self, GpuError> {
        let pending = || GpuError::NoAdapter;
        let adapter = now(Adapter::find(wanted)).ok_or_else(pending)??;
        now(Self::open(&adapter)).ok_or_else(pending)?
    }

    /// Returns the adapter's capabilities.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// Returns the GPU memory currently held, in bytes.
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// Returns the peak of the GPU memory held, in bytes.
    pub fn allocated_bytes_peak(&self) -> u64 {
        self.allocated_peak.load(Ordering::Relaxed)
    }

    /// Returns the allocated bytes as reported by the driver, if it reports them.
    pub fn reported_bytes(&self) -> Option<u64> {
        self.device.generate_allocator_report().map(|report| report.total_allocated_bytes)
    }

    /// Releases the GPU, as if it had been unplugged. Training on the GPU continues on the CPU.
    pub fn destroy(&self) {
        self.device.destroy();
        self.fail(self.lost("the app released it"));
    }

    /// Sets the maximum time for a submission. After that, the GPU counts as hung. The default is one minute.
    pub fn set_watchdog(&mut self, watchdog: Duration) {
        self.watchdog = watchdog;
    }

    pub(super) fn traits(&self) -> &Traits {
        &self.traits
    }

    /// Returns the same GPU with a lower limit on the bytes of a binding. For tests of split tensors.
    pub fn with_bindings_of(&self, bytes: u64) -> Self {
        let traits = Traits { binding_bytes_max: bytes, ..self.traits.clone() };
        Self { traits, ..self.clone() }
    }

    pub(super) fn set_tile(&mut self, tile: Tile) {
        self.traits.tile = tile;
    }

    /// Returns the first error of the GPU, if there is one.
    pub(super) fn check(&self) -> Result<(), GpuError> {
        let fault = self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone();
        fault.map_or(Ok(()), Err)
    }

    fn fail(&self, error: GpuError) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Allocates memory, filled with zeros.
    ///
    /// # Errors
    /// Returns [`GpuError::TooLarge`] or [`GpuError::OutOfMemory`].
    pub(super) fn allocate(
        &self,
        what: &str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<Memory, GpuError> {
        let (adapter, allowed) = (self.report.name.clone(), self.traits.buffer_bytes_max);
        let size = allocation_bytes(bytes);
        if size > allowed {
            return Err(GpuError::TooLarge { adapter, what: "a buffer", needed: size, allowed });
        }
        self.check()?;
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let descriptor = wgpu::BufferDescriptor { label: Some(what), size, usage, mapped_at_creation: false };
        let buffer = self.device.create_buffer(&descriptor);
        if now(scope.pop()).flatten().is_some() {
            return Err(GpuError::OutOfMemory { adapter, what: what.to_owned(), bytes });
        }
        self.check()?;
        let allocated = self.allocated.fetch_add(size, Ordering::Relaxed) + size;
        self.allocated_peak.fetch_max(allocated, Ordering::Relaxed);
        Ok(Memory { buffer, allocated: Arc::clone(&self.allocated) })
    }

    /// Returns the compiled kernel of this source. Each source is compiled once per GPU.
    ///
    /// # Errors
    /// Returns [`GpuError::Kernel`] if the source does not compile.
    pub(super) fn pipeline(
        &self,
        name: &'static str,
        source: &str,
        layout: &wgpu::PipelineLayout,
    ) -> Result<wgpu::ComputePipeline, GpuError> {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = pipelines.get(source) {
            return Ok(pipeline.clone());
        }
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(name),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        });
        if let Some(error) = now(scope.pop()).flatten() {
            let (adapter, why) = (self.report.name.clone(), error.to_string());
            return Err(GpuError::Kernel { adapter, kernel: name, why });
        }
        self.check()?;
        pipelines.insert(source.to_owned(), pipeline.clone());
        Ok(pipeline)
    }

    /// Returns an empty command encoder.
    pub(super) fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Submits commands.
    ///
    /// # Errors
    /// Returns the GPU's error, if it has failed.
    pub(super) fn submit(&self, commands: wgpu::CommandEncoder) -> Result<wgpu::SubmissionIndex, GpuError> {
        self.check()?;
        let index = self.queue.submit([commands.finish()]);
        self.check()?;
        Ok(index)
    }

    /// Submits commands, waits for them, and reads parts of buffers, given as (buffer, first byte, number of bytes).
    ///
    /// # Errors
    /// Returns the GPU's error if it has failed, or [`GpuError::Hung`] if it does not answer in time.
    pub(super) async fn read(
        &self,
        mut commands: wgpu::CommandEncoder,
        parts: &[(&wgpu::Buffer, u64, u64)],
    ) -> Result<Vec<u8>, GpuError> {
        let bytes: u64 = parts.iter().map(|(_, _, bytes)| bytes).sum();
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = self.allocate("a readback buffer", bytes, usage)?;
        let mut at = 0;
        for (buffer, start, length) in parts {
            commands.copy_buffer_to_buffer(buffer, *start, &staging.buffer, at, *length);
            at += length;
        }
        let index = self.submit(commands)?;
        let (sender, receiver) = futures::channel::oneshot::channel();
        staging.buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            // Sending fails if the training was dropped meanwhile, because the receiver is then gone.
            let _ = sender.send(result);
        });
        self.wait(index)?;
        let mapped = receiver.await.map_err(|_| self.lost("the device was closed"))?;
        self.check()?;
        mapped.map_err(|error| self.lost(error))?;
        let view = staging.buffer.get_mapped_range(..bytes).map_err(|error| self.lost(error))?;
        Ok(view.to_vec())
    }

    /// Waits until all submitted commands have run.
    ///
    /// # Errors
    /// Returns the GPU's error, if it has failed.
    pub(super) async fn finished(&self, index: wgpu::SubmissionIndex) -> Result<(), GpuError> {
        let (sender, receiver) = futures::channel::oneshot::channel();
        self.queue.on_submitted_work_done(move || {
            // Sending fails if the measurement was dropped meanwhile, because the receiver is then gone.
            let _ = sender.send(());
        });
        self.wait(index)?;
        receiver.await.map_err(|_| self.lost("the device was closed"))
    }

    /// Creates the error for a GPU that does not answer correctly.
    fn lost(&self, why: impl ToString) -> GpuError {
        GpuError::Lost { adapter: self.report.name.clone(), why: why.to_string() }
    }

    /// Waits until a submission has run. In a browser this does nothing: the page's event loop sends the notification.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn wait(&self, index: wgpu::SubmissionIndex) -> Result<(), GpuError> {
        let poll = wgpu::PollType::Wait { submission_index: Some(index), timeout: Some(self.watchdog) };
        match self.device.poll(poll) {
            Ok(_) => {}
            Err(wgpu::PollError::Timeout) => {
                let adapter = self.report.name.clone();
                self.fail(GpuError::Hung { adapter, seconds: self.watchdog.as_secs() });
            }
            Err(error) => self.fail(self.lost(error)),
        }
        self.check()
    }

    #[cfg(target_family = "wasm")]
    pub(super) fn wait(&self, _: wgpu::SubmissionIndex) -> Result<(), GpuError> {
        self.check()
    }
}

/// Returns the number of bytes to allocate for a buffer of this size.
pub(super) fn allocation_bytes(bytes: u64) -> u64 {
    bytes.max(BUFFER_BYTES_MIN).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT)
}

/// Returns the default tiling of matrix products, which is used until a tuning run has measured the fastest one.
fn tile(report: &AdapterReport, subgroups: bool) -> Tile {
    if report.kind == "software" && subgroups { Tile::Subgroup } else { Tile::Large }
}

/// Records the first error that the GPU reports asynchronously.
fn watch(device: &wgpu::Device, adapter: &str, faults: &Arc<Mutex<Option<GpuError>>>) {
    let keep = {
        let (adapter, faults) = (adapter.to_owned(), Arc::clone(faults));
        move |why: String| {
            let error = GpuError::Lost { adapter: adapter.clone(), why };
            faults.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    };
    let keep_error = keep.clone();
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| keep_error(error.to_string())));
    device.set_device_lost_callback(move |_, why| keep(why));
}

/// Returns the result of a future that is ready at once, as the futures of native drivers are.
pub(super) fn now<F: Future>(future: F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}
