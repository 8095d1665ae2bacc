//! Finds layers from which an exporter removed tensors that their author wants to train.
//!
//! PyTorch's default exporter optimises every file for inference, even if the module is in training mode. It merges batch
//! normalisations into the layers before them, and removes biases of zeros. The optimiser writes the names of its rules
//! into the metadata of the node.

use std::ops::Range;

use super::Remark;
use super::metadata::entry;
use crate::wire::{Encoding, Field, fields};
use crate::{FileError, ImportError};

const MODEL_GRAPH: u64 = 7;
const GRAPH_NODE: u64 = 1;
const NODE_INPUT: u64 = 1;
const NODE_NAME: u64 = 3;
const NODE_METADATA: u64 = 9;
const RULES_KEY: &[u8] = b"pkg.onnxscript.rewriter.rule_name";
const MERGES: &[u8] = b"FuseBatchNorm";
/// The optimiser applies this rule only to biases of the module. It also applies the corresponding rule for `Conv` to
/// layers without a bias, so that rule does not show whether a bias was removed.
const REMOVES: &[u8] = b"RemoveOptionalBiasFromGemm";

/// Returns a remark for each node of the graph that lost a batch normalisation or a bias.
///
/// # Errors
/// Returns [`ImportError::File`] for malformed bytes.
pub(super) fn removed_tensors(bytes: &[u8]) -> Result<Vec<Remark>, ImportError> {
    let mut remarks = Vec::new();
    for graph in messages(bytes, 0..bytes.len(), MODEL_GRAPH) {
        for node in messages(bytes, graph?.content, GRAPH_NODE) {
            remarks.extend(of_node(bytes, node?.content)?);
        }
    }
    Ok(remarks)
}

fn of_node(bytes: &[u8], node: Range<usize>) -> Result<Option<Remark>, ImportError> {
    let mut is_removed = false;
    for field in messages(bytes, node.clone(), NODE_METADATA) {
        let (key, rules) = entry(bytes, field?.content)?;
        let has = |rule: &[u8]| rules.windows(rule.len()).any(|part| part == rule);
        is_removed |= key == RULES_KEY && (has(MERGES) || has(REMOVES));
    }
    if !is_removed {
        return Ok(None);
    }
    let text = |field: Field| String::from_utf8_lossy(&bytes[field.content]).into_owned();
    let weight = messages(bytes, node.clone(), NODE_INPUT).nth(1).transpose()?;
    let name = messages(bytes, node, NODE_NAME).next().transpose()?;
    let (tensor, node) = (weight.map(text).unwrap_or_default(), name.map(text).unwrap_or_default());
    Ok(Some(Remark::Removed { tensor, node }))
}

/// Returns the fields of a message that have this number and a length.
fn messages(
    bytes: &[u8],
    message: Range<usize>,
    number: u64,
) -> impl Iterator<Item = Result<Field, FileError>> {
    fields(bytes, message).filter(move |field| {
        field.as_ref().map_or(true, |field| field.number == number && field.encoding == Encoding::Length)
    })
}
