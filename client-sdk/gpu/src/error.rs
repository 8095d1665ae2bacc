//! Why a graphics processor did not do what was asked. Training then goes on on the CPU, or does not begin here.

/// Why a graphics processor did not do what was asked. Each message but those of choosing one names the adapter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// There is none, or none that may be used.
    #[error(
        "there is no graphics adapter with Vulkan, Metal, DX12 or WebGPU; training on the CPU works everywhere"
    )]
    NoAdapter,
    /// None has this name.
    #[error("no graphics adapter is called {wanted:?}; there are: {found}")]
    NoSuchAdapter {
        /// What was asked for.
        wanted: String,
        /// The names that there are.
        found: String,
    },
    /// The adapter cannot be opened.
    #[error("{adapter} cannot be opened: {why}")]
    Refused {
        /// The adapter's name.
        adapter: String,
        /// What the driver says.
        why: String,
    },
    /// A tensor or the whole step is larger than the adapter allows.
    #[error("{adapter} allows {what} of {allowed} bytes, the step needs {needed}; a smaller batch may fit")]
    TooLarge {
        /// The adapter's name.
        adapter: String,
        /// What has the limit.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        allowed: u64,
    },
    /// The adapter has not so much memory left.
    #[error("{adapter} has no memory left for {what} of {bytes} bytes")]
    OutOfMemory {
        /// The adapter's name.
        adapter: String,
        /// What the memory was for.
        what: String,
        /// How much it was.
        bytes: u64,
    },
    /// A kernel does not compile: a fault of ours or of the driver.
    #[error("{adapter} does not compile the kernel \"{kernel}\": {why}")]
    Kernel {
        /// The adapter's name.
        adapter: String,
        /// The kernel's name.
        kernel: &'static str,
        /// What the compiler says.
        why: String,
    },
    /// The device was lost, or failed in another way.
    #[error("{adapter} was lost: {why}")]
    Lost {
        /// The adapter's name.
        adapter: String,
        /// What the driver says.
        why: String,
    },
    /// The device did not answer in time.
    #[error("{adapter} did not finish within {seconds} s")]
    Hung {
        /// The adapter's name.
        adapter: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The plan asks for something that this executor, or this adapter, does not do.
    #[error("{adapter} cannot run this plan: {why}")]
    Unsupported {
        /// The adapter's name.
        adapter: String,
        /// What is missing.
        why: String,
    },
}

impl GpuError {
    /// Whether the adapter itself is to blame, so that it is better left alone for a while.
    pub fn is_adapters_fault(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Kernel { .. } | Self::Lost { .. } | Self::Hung { .. })
    }
}
