//! The adapter properties on which kernels depend.

use super::tile::Tile;

/// The maximum number of storage buffers in a kernel, WebGPU's limit.
pub(super) const BINDINGS_MAX: usize = 8;
/// The adapter properties on which kernels depend.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Traits {
    /// The adapter's name, for messages.
    pub(super) adapter: String,
    /// True if at least eight invocations can exchange values (subgroup operations).
    pub(super) subgroups: bool,
    pub(super) binding_bytes_max: u64,
    pub(super) buffer_bytes_max: u64,
    /// Alignment of a tensor in a buffer, in bytes.
    pub(super) alignment: usize,
    /// The tiling of matrix products.
    pub(super) tile: Tile,
}
