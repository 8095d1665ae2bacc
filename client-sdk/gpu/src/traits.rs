//! What kernels have to know of an adapter.

use super::tile::Tile;

/// Storage buffers of a kernel, at most: WebGPU's limit.
pub(super) const BINDINGS_MAX: usize = 8;
/// What kernels depend on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Traits {
    /// The adapter's name, for messages.
    pub(super) adapter: String,
    /// Whether invocations hand numbers to each other, eight at least.
    pub(super) subgroups: bool,
    pub(super) binding_bytes_max: u64,
    pub(super) buffer_bytes_max: u64,
    /// Alignment of a tensor in a buffer, in bytes.
    pub(super) alignment: usize,
    /// How matrix products are divided.
    pub(super) tile: Tile,
}
