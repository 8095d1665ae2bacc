//! Decides which tensors of a file are weights, and which readers share one.
//!
//! Exporters write constants as initializers, and merge initializers that are equal when the file is written. The file
//! alone does not say what its author wanted to train, so these modules decide by what each reader does with a tensor,
//! and report what is not obvious as a [`Remark`].

mod known;
mod metadata;
mod remark;
mod rewrite;
mod separate;
mod uses;

use super::proto::TensorProto;
pub(super) use known::known_values;
pub(super) use metadata::Metadata;
pub use remark::Remark;
pub(super) use separate::separated;
pub(super) use uses::{Slot, Uses};

/// The treatment of a float initializer that a node reads.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Treatment {
    /// A weight.
    Weight,
    /// A weight only because of its name: it has one element, and no layer reads it.
    Named,
    /// Part of the weights, but not trained unless a plan says so.
    Constant,
    /// Part of the graph, because it must be known at import or cannot be a weight.
    Known(Remark),
}

/// Decides how to treat a float initializer.
///
/// `elements` is the number of its elements; `is_mask` says whether all of them are 0, 1 or infinite, and one is
/// infinite.
pub(super) fn treatment(
    tensor: &TensorProto,
    elements: usize,
    is_mask: impl FnOnce() -> bool,
    uses: &Uses<'_>,
    metadata: &Metadata,
    is_known: bool,
) -> Treatment {
    let name = || tensor.name.clone();
    let is_of_layer = uses.of(&tensor.name).iter().any(|one| one.slot.is_of_layer());
    if is_known {
        return Treatment::Known(Remark::Setting { tensor: name() });
    }
    if !is_of_layer && is_mask() {
        return Treatment::Known(Remark::Infinite { tensor: name() });
    }
    match elements == 1 && !is_of_layer && !metadata.is_explicit {
        true if is_named_like_a_weight(&tensor.name) => Treatment::Named,
        true => Treatment::Constant,
        false => Treatment::Weight,
    }
}

/// Returns whether the last word of a name is one that authors give to weights. Exporters name constants `val_2`,
/// `onnx::Mul_7`, `const_fold_opt__9`, `lifted_tensor_0`, and so on.
fn is_named_like_a_weight(name: &str) -> bool {
    const WORDS: [&str; 7] = ["beta", "bias", "gamma", "scale", "slope", "temperature", "weight"];
    let last = name.rsplit(['.', '/', ':', '_']).next().unwrap_or(name).to_ascii_lowercase();
    WORDS.contains(&last.as_str())
}
