//! The tensors of a program.

use folkmoot_graph::ValueId;

/// A tensor of a program: a value of the graph, workspace between two kernels of one operator, or a part of a buffer
/// that outlives the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tensor(pub(super) usize);

impl From<ValueId> for Tensor {
    fn from(id: ValueId) -> Self {
        Self(id.0)
    }
}
