//! Checks the size of the growing graph against the limits while a model is lowered.

use super::{FileError, ImportError, ImportLimits};
use folkmoot_graph::Graph;

/// The limits, and the constants counted so far.
pub(super) struct Budget {
    pub(super) limits: ImportLimits,
    counted: usize,
    constant_elements: usize,
    /// The nodes of the bodies of loops, counted once for each step.
    unrolled: usize,
}

impl Budget {
    pub(super) fn new(limits: &ImportLimits) -> Self {
        Self { limits: limits.clone(), counted: 0, constant_elements: 0, unrolled: 0 }
    }

    /// Checks the current size of the graph.
    pub(super) fn check(&mut self, graph: &Graph) -> Result<(), ImportError> {
        let (count, limit) = (graph.nodes.len(), self.limits.graph_nodes_max);
        if count > limit {
            return Err(ImportError::File(FileError::TooMany { what: "operations", count, limit }));
        }
        let added: usize = graph.constants[self.counted..].iter().map(Vec::len).sum();
        self.counted = graph.constants.len();
        self.constant_elements += added;
        self.room_for_constants(0)
    }

    /// Counts the nodes of one step of a loop. Nodes whose results are known add nothing to the graph, but take time.
    pub(super) fn count_unrolled(&mut self, nodes: usize) -> Result<(), ImportError> {
        self.unrolled = self.unrolled.saturating_add(nodes);
        let (what, count, limit) =
            ("nodes in the steps of loops", self.unrolled, self.limits.graph_nodes_max);
        if count > limit {
            return Err(ImportError::File(FileError::TooMany { what, count, limit }));
        }
        Ok(())
    }

    /// Checks that a constant with this many elements can be added.
    pub(super) fn room_for_constants(&self, elements: usize) -> Result<(), ImportError> {
        let count = self.constant_elements.saturating_add(elements);
        let limit = self.limits.constant_elements_max;
        if count > limit {
            return Err(ImportError::File(FileError::TooMany {
                what: "elements in frozen tensors",
                count,
                limit,
            }));
        }
        Ok(())
    }
}
