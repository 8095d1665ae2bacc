//! The heads of queries, keys and values.

use crate::ImportError;
use crate::attributes::Attributes;
use crate::node::NodeLowering;
use folkmoot_graph::ValueId;

/// Returns an input as `[N, heads, time, features]`.
pub(super) fn by_head(
    node: &mut NodeLowering<'_>,
    attributes: &Attributes<'_>,
    position: usize,
    name: &str,
) -> Result<ValueId, ImportError> {
    let value = node.value(position)?;
    match node.shape(value)[..] {
        [_, _, _, _] => Ok(value),
        [n, time, features] => {
            let heads = usize::try_from(attributes.integer(name, 0)?).ok().filter(|heads| *heads > 0);
            let heads = heads.filter(|heads| features.is_multiple_of(*heads));
            let heads = heads.ok_or_else(|| {
                node.refuse(&format!(
                    "has a {name} that does not divide the {features} features of input {position}"
                ))
            })?;
            let split = node.reshape(value, &[n, time, heads, features / heads])?;
            node.transpose(split, &[0, 2, 1, 3])
        }
        _ => Err(node.refuse(&format!("reads input {position}, which must have 3 or 4 dimensions"))),
    }
}
