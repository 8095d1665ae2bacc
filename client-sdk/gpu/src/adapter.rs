//! The GPU adapters of a machine and their capabilities.

use serde::Serialize;

use super::GpuError;

/// The capabilities of an adapter that matter for training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdapterReport {
    /// The name, as reported by the driver.
    pub name: String,
    /// The driver and its version.
    pub driver: String,
    /// `vulkan`, `metal`, `dx12` or `webgpu`.
    pub backend: String,
    /// `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub kind: &'static str,
    /// The energy use of a step compared with the CPU: `low` for an integrated adapter, `high` for a separate card,
    /// `processor` for an adapter that the CPU emulates.
    pub energy_class: &'static str,
    /// True if kernels can store 16-bit floats, which mixed precision needs.
    pub half_precision: bool,
    /// True if invocations can exchange values without workgroup memory (subgroup operations).
    pub subgroups: bool,
    /// True if kernels can be timed with timestamps.
    pub timestamps: bool,
    /// The maximum size of a storage binding in bytes. Larger tensors are split.
    pub binding_bytes_max: u64,
    /// The maximum size of a buffer in bytes.
    pub buffer_bytes_max: u64,
    /// The maximum number of invocations in a workgroup.
    pub workgroup_invocations_max: u32,
    /// The size of workgroup memory, in bytes.
    pub workgroup_memory_bytes: u32,
}

/// A GPU adapter that is not open yet.
#[derive(Debug, Clone)]
pub struct Adapter {
    pub(super) inner: wgpu::Adapter,
    report: AdapterReport,
}

impl Adapter {
    /// Lists the adapters: hardware first, then those that the CPU emulates.
    pub async fn all() -> Vec<Self> {
        // Load only these backends: an app may use its own OpenGL.
        let backends = wgpu::Backends::PRIMARY;
        let described =
            wgpu::InstanceDescriptor { backends, ..wgpu::InstanceDescriptor::new_without_display_handle() };
        let found = wgpu::Instance::new(described).enumerate_adapters(backends).await;
        let mut adapters: Vec<Self> = found.into_iter().map(Self::new).collect();
        adapters.sort_by_key(|adapter| match adapter.report.kind {
            "discrete" => 0,
            "integrated" => 1,
            "software" => 3,
            _ => 2,
        });
        adapters
    }

    /// Returns the first adapter whose name contains `wanted`, ignoring case. Without a name, returns the first
    /// hardware adapter.
    ///
    /// # Errors
    /// Returns [`GpuError::NoAdapter`] or [`GpuError::NoSuchAdapter`].
    pub async fn find(wanted: Option<&str>) -> Result<Self, GpuError> {
        Self::pick(&Self::all().await, wanted)
    }

    /// The same as [`Adapter::find`], among adapters that are already listed. Listing them loads drivers.
    ///
    /// # Errors
    /// Returns [`GpuError::NoAdapter`] or [`GpuError::NoSuchAdapter`].
    pub fn pick(adapters: &[Self], wanted: Option<&str>) -> Result<Self, GpuError> {
        let Some(wanted) = wanted else {
            return adapters.first().cloned().ok_or(GpuError::NoAdapter);
        };
        let names: Vec<&str> = adapters.iter().map(|adapter| &*adapter.report.name).collect();
        let is_wanted = |adapter: &&Self| adapter.report.name.to_lowercase().contains(&wanted.to_lowercase());
        adapters.iter().find(is_wanted).cloned().ok_or_else(|| match names.is_empty() {
            true => GpuError::NoAdapter,
            false => GpuError::NoSuchAdapter { wanted: wanted.to_owned(), found: names.join(", ") },
        })
    }

    /// Returns the adapter's capabilities.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    fn new(inner: wgpu::Adapter) -> Self {
        let (info, features, limits) = (inner.get_info(), inner.features(), inner.limits());
        let (kind, energy_class) = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => ("discrete", "high"),
            wgpu::DeviceType::IntegratedGpu => ("integrated", "low"),
            wgpu::DeviceType::VirtualGpu => ("virtual", "high"),
            wgpu::DeviceType::Cpu => ("software", "processor"),
            wgpu::DeviceType::Other => ("other", "high"),
        };
        let report = AdapterReport {
            name: info.name,
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            backend: info.backend.to_string(),
            kind,
            energy_class,
            half_precision: features.contains(wgpu::Features::SHADER_F16),
            subgroups: features.contains(wgpu::Features::SUBGROUP),
            timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
            binding_bytes_max: limits.max_storage_buffer_binding_size,
            buffer_bytes_max: limits.max_buffer_size,
            workgroup_invocations_max: limits.max_compute_invocations_per_workgroup,
            workgroup_memory_bytes: limits.max_compute_workgroup_storage_size,
        };
        Self { inner, report }
    }

    /// Returns the features and limits for opening the adapter: WebGPU's defaults, with the largest tensors that it
    /// allows.
    pub(super) fn requirements(&self) -> (wgpu::Features, wgpu::Limits) {
        let useful = wgpu::Features::SHADER_F16 | wgpu::Features::SUBGROUP | wgpu::Features::TIMESTAMP_QUERY;
        let limits = wgpu::Limits {
            max_storage_buffer_binding_size: self.report.binding_bytes_max,
            max_buffer_size: self.report.buffer_bytes_max,
            ..wgpu::Limits::default()
        };
        (self.inner.features() & useful, limits)
    }
}
