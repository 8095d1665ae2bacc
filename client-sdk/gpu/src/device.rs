//! An open graphics device: its memory, its kernels, and what went wrong with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::GpuError;
use super::adapter::{Adapter, AdapterReport};
use super::tile::Tile;
use super::traits::Traits;

/// How long a submission may take before the device counts as hung.
const WATCHDOG: Duration = Duration::from_secs(60);
/// Invocations of a subgroup that kernels count on.
const SUBGROUP_MIN: u32 = 8;
/// Bytes of the smallest buffer: bindings must not be empty.
const BUFFER_BYTES_MIN: u64 = 256;

/// An open graphics device. Copies share it.
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

/// A buffer on the device, whose memory is given back when this is dropped.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) buffer: wgpu::Buffer,
    allocated: Arc<AtomicU64>,
}

impl Memory {
    /// Its size.
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
    /// Returns [`GpuError::Refused`] if the driver does not let us.
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

    /// Finds and opens an adapter at once, as the drivers of operating systems allow: see [`Adapter::find`].
    ///
    /// # Errors
    /// Those of [`Adapter::find`] and [`Gpu::open`].
    #[cfg(not(target_family = "wasm"))]
    pub fn find(wanted: Option<&str>) -> Result<Self, GpuError> {
        let pending = || GpuError::NoAdapter;
        let adapter = now(Adapter::find(wanted)).ok_or_else(pending)??;
        now(Self::open(&adapter)).ok_or_else(pending)?
    }

    /// What the adapter can do.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// Bytes of the device's memory that are held now.
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// The most bytes that were held at one time.
    pub fn allocated_bytes_peak(&self) -> u64 {
        self.allocated_peak.load(Ordering::Relaxed)
    }

    /// Bytes that the driver says are allocated, where it says so.
    pub fn reported_bytes(&self) -> Option<u64> {
        self.device.generate_allocator_report().map(|report| report.total_allocated_bytes)
    }

    /// Gives the device up, as if it had been unplugged: every training on it goes on on the CPU.
    pub fn destroy(&self) {
        self.device.destroy();
        self.fail(self.lost("it was given up"));
    }

    /// How long a submission may take before the device counts as hung; a minute unless this says otherwise.
    pub fn set_watchdog(&mut self, watchdog: Duration) {
        self.watchdog = watchdog;
    }

    pub(super) fn traits(&self) -> &Traits {
        &self.traits
    }

    /// The same device, as if it bound no more than so many bytes at once: for tests of what is split.
    pub fn with_bindings_of(&self, bytes: u64) -> Self {
        let traits = Traits { binding_bytes_max: bytes, ..self.traits.clone() };
        Self { traits, ..self.clone() }
    }

    pub(super) fn set_tile(&mut self, tile: Tile) {
        self.traits.tile = tile;
    }

    /// What went wrong first, if anything has.
    pub(super) fn check(&self) -> Result<(), GpuError> {
        let fault = self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone();
        fault.map_or(Ok(()), Err)
    }

    fn fail(&self, error: GpuError) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Takes memory, filled with zeros.
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

    /// The compiled kernel of this source, compiled once for a device.
    ///
    /// # Errors
    /// Returns [`GpuError::Kernel`] if it does not compile.
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

    /// An empty list of commands.
    pub(super) fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Submits commands.
    ///
    /// # Errors
    /// Returns what went wrong with the device.
    pub(super) fn submit(&self, commands: wgpu::CommandEncoder) -> Result<wgpu::SubmissionIndex, GpuError> {
        self.check()?;
        let index = self.queue.submit([commands.finish()]);
        self.check()?;
        Ok(index)
    }

    /// Submits commands and reads parts of buffers, as (buffer, first byte, bytes), after they have run.
    ///
    /// # Errors
    /// Returns what went wrong with the device, [`GpuError::Hung`] if it does not answer.
    pub(super) async fn read(
        &self,
        mut commands: wgpu::CommandEncoder,
        parts: &[(&wgpu::Buffer, u64, u64)],
    ) -> Result<Vec<u8>, GpuError> {
        let bytes: u64 = parts.iter().map(|(_, _, bytes)| bytes).sum();
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = self.allocate("what is read back", bytes, usage)?;
        let mut at = 0;
        for (buffer, start, length) in parts {
            commands.copy_buffer_to_buffer(buffer, *start, &staging.buffer, at, *length);
            at += length;
        }
        let index = self.submit(commands)?;
        let (sender, receiver) = futures::channel::oneshot::channel();
        staging.buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            // Nobody listens any more if the training was given up meanwhile.
            let _ = sender.send(result);
        });
        self.wait(index)?;
        let mapped = receiver.await.map_err(|_| self.lost("it was closed"))?;
        self.check()?;
        mapped.map_err(|error| self.lost(error))?;
        let view = staging.buffer.get_mapped_range(..bytes).map_err(|error| self.lost(error))?;
        Ok(view.to_vec())
    }

    /// Waits until everything submitted has run.
    ///
    /// # Errors
    /// Returns what went wrong with the device.
    pub(super) async fn finished(&self, index: wgpu::SubmissionIndex) -> Result<(), GpuError> {
        let (sender, receiver) = futures::channel::oneshot::channel();
        self.queue.on_submitted_work_done(move || {
            // Nobody listens any more if the measurement was given up meanwhile.
            let _ = sender.send(());
        });
        self.wait(index)?;
        receiver.await.map_err(|_| self.lost("it was closed"))
    }

    /// The error of a device that does not answer as it should.
    fn lost(&self, why: impl ToString) -> GpuError {
        GpuError::Lost { adapter: self.report.name.clone(), why: why.to_string() }
    }

    /// Waits until a submission has run. In a browser there is nothing to do: the page's loop tells.
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

/// Bytes that a buffer of so many bytes takes.
pub(super) fn allocation_bytes(bytes: u64) -> u64 {
    bytes.max(BUFFER_BYTES_MIN).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT)
}

/// How products are divided before a tuning run has measured it.
fn tile(report: &AdapterReport, subgroups: bool) -> Tile {
    if report.kind == "software" && subgroups { Tile::Subgroup } else { Tile::Large }
}

/// Keeps the first fault of a device that nobody asked for.
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

/// The result of a future that is ready at once, as those of native drivers are.
pub(super) fn now<F: Future>(future: F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}
