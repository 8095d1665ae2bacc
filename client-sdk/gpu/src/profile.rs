//! Times each kernel with the GPU's own clock.

use serde::Serialize;

use super::GpuError;
use super::device::{Gpu, Memory};

/// The time of a kernel in one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelTime {
    /// The kernel's name.
    pub name: &'static str,
    /// The time on the GPU's clock.
    pub nanoseconds: f64,
    /// The number of floating-point operations; 0 if they are not counted.
    pub flops: u64,
}

/// Two timestamps for each dispatch.
pub(super) struct Timer {
    set: wgpu::QuerySet,
    stamps: Memory,
    count: u32,
}

impl Timer {
    /// # Errors
    /// Returns [`GpuError::Unsupported`] if the adapter has no timestamps.
    pub(super) fn new(gpu: &Gpu, dispatches: usize) -> Result<Self, GpuError> {
        let count = 2 * dispatches as u32;
        if !gpu.report().timestamps || count > wgpu::QUERY_SET_MAX_QUERIES {
            let why = format!("it cannot time {dispatches} kernels");
            return Err(GpuError::Unsupported { adapter: gpu.report().name.clone(), why });
        }
        let set = gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("kernel times"),
            ty: wgpu::QueryType::Timestamp,
            count,
        });
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let stamps = gpu.allocate("kernel times", u64::from(count) * size_of::<u64>() as u64, usage)?;
        Ok(Self { set, stamps, count })
    }

    pub(super) fn set(&self) -> &wgpu::QuerySet {
        &self.set
    }

    /// Encodes the copy of the timestamps to memory.
    pub(super) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.set, 0..self.count, &self.stamps.buffer, 0);
    }

    /// Returns the times, after the commands have run.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the GPU fails.
    pub(super) async fn times(
        &self,
        gpu: &Gpu,
        kernels: impl Iterator<Item = (&'static str, u64)>,
    ) -> Result<Vec<KernelTime>, GpuError> {
        let bytes = u64::from(self.count) * size_of::<u64>() as u64;
        let bytes = gpu.read(gpu.encoder(), &[(&self.stamps.buffer, 0, bytes)]).await?;
        let stamps: Vec<u64> = bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let period = f64::from(gpu.queue.get_timestamp_period());
        let time = |((name, flops), [begin, end]): ((&'static str, u64), &[u64; 2])| {
            let nanoseconds = end.saturating_sub(*begin) as f64 * period;
            KernelTime { name, nanoseconds, flops }
        };
        Ok(kernels.zip(stamps.as_chunks().0).map(time).collect())
    }
}
