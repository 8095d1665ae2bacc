//! GPU errors. After one, training continues on the CPU, or does not start on this GPU.

/// Why a GPU operation failed. Every message names the adapter, except those about choosing one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// There is no usable adapter.
    #[error("there is no graphics adapter with Vulkan, Metal, DX12 or WebGPU; train on the CPU instead")]
    NoAdapter,
    /// No adapter has this name.
    #[error("no graphics adapter has a name that contains {wanted:?}; choose one of: {found}")]
    NoSuchAdapter {
        /// The requested name.
        wanted: String,
        /// The names of the available adapters.
        found: String,
    },
    /// The adapter cannot be opened.
    #[error("{adapter} cannot be opened: {why}")]
    Refused {
        /// The adapter's name.
        adapter: String,
        /// The driver's error.
        why: String,
    },
    /// A tensor or the whole step exceeds a limit of the adapter.
    #[error("the step needs {what} of {needed} bytes, but {adapter} allows {allowed}; try a smaller batch")]
    TooLarge {
        /// The adapter's name.
        adapter: String,
        /// The limited resource.
        what: &'static str,
        /// The size needed, in bytes.
        needed: u64,
        /// The size allowed, in bytes.
        allowed: u64,
    },
    /// The adapter's memory does not suffice.
    #[error("{adapter} has no memory left for {what} of {bytes} bytes; try a smaller batch")]
    OutOfMemory {
        /// The adapter's name.
        adapter: String,
        /// The purpose of the memory.
        what: String,
        /// The size needed, in bytes.
        bytes: u64,
    },
    /// A kernel does not compile: a bug in the kernel or in the driver.
    #[error("{adapter} cannot compile the kernel \"{kernel}\": {why}")]
    Kernel {
        /// The adapter's name.
        adapter: String,
        /// The kernel's name.
        kernel: &'static str,
        /// The compiler's error.
        why: String,
    },
    /// The adapter was lost, or failed in another way.
    #[error("{adapter} was lost: {why}")]
    Lost {
        /// The adapter's name.
        adapter: String,
        /// The driver's error.
        why: String,
    },
    /// The adapter did not answer in time.
    #[error("{adapter} did not finish a submission within {seconds} s")]
    Hung {
        /// The adapter's name.
        adapter: String,
        /// The timeout in seconds.
        seconds: u64,
    },
    /// The plan needs something that this executor or this adapter does not support.
    #[error("{adapter} cannot run this plan: {why}")]
    Unsupported {
        /// The adapter's name.
        adapter: String,
        /// The missing feature.
        why: String,
    },
}

impl GpuError {
    /// Returns whether the adapter itself is at fault. If so, avoid the adapter for a while.
    pub fn is_adapters_fault(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Kernel { .. } | Self::Lost { .. } | Self::Hung { .. })
    }
}
