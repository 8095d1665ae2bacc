//! Reads the attributes of a node and rejects unknown ones.

use super::ImportError;
use super::proto::{AttributeProto, GraphProto, NodeProto, TensorProto, attribute_type};

/// The attributes of one node.
pub(super) struct Attributes<'a> {
    pub(super) node: &'a NodeProto,
}

impl<'a> Attributes<'a> {
    /// # Errors
    /// Returns [`ImportError::UnsupportedUse`] for an attribute that is not among `known`. Ignoring it could change the
    /// meaning of the model.
    pub(super) fn new(node: &'a NodeProto, known: &[&str]) -> Result<Self, ImportError> {
        match node.attribute.iter().find(|attribute| !known.contains(&attribute.name.as_str())) {
            Some(unknown) => Err(unsupported_use(
                node,
                &format!("has the attribute {}, which is not supported", unknown.name),
            )),
            None => Ok(Self { node }),
        }
    }

    /// Returns a finite number, or `default` if the attribute is absent.
    pub(super) fn float(&self, name: &str, default: f32) -> Result<f32, ImportError> {
        match self.typed(name, attribute_type::FLOAT)? {
            Some(attribute) if !attribute.f.is_finite() => {
                Err(unsupported_use(self.node, &format!("has a {name} that is not finite")))
            }
            Some(attribute) => Ok(attribute.f),
            None => Ok(default),
        }
    }

    /// Returns an integer, or `default` if the attribute is absent.
    pub(super) fn integer(&self, name: &str, default: i64) -> Result<i64, ImportError> {
        Ok(self.typed(name, attribute_type::INT)?.map_or(default, |attribute| attribute.i))
    }

    /// Returns a flag, which ONNX writes as 0 or 1; `false` if the attribute is absent.
    pub(super) fn flag(&self, name: &str) -> Result<bool, ImportError> {
        Ok(self.integer(name, 0)? != 0)
    }

    /// Returns the integers, if the attribute is present.
    pub(super) fn integers(&self, name: &str) -> Result<Option<&'a [i64]>, ImportError> {
        Ok(self.typed(name, attribute_type::INTS)?.map(|attribute| &attribute.ints[..]))
    }

    /// Returns the floats, if the attribute is present.
    pub(super) fn floats(&self, name: &str) -> Result<Option<&'a [f32]>, ImportError> {
        Ok(self.typed(name, attribute_type::FLOATS)?.map(|attribute| &attribute.floats[..]))
    }

    /// Returns the text, if the attribute is present.
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, ImportError> {
        let attribute = self.typed(name, attribute_type::STRING)?;
        attribute.map(|attribute| self.utf8(name, &attribute.s)).transpose()
    }

    /// Returns the texts, or an empty list if the attribute is absent.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'a str>, ImportError> {
        let attribute = self.typed(name, attribute_type::STRINGS)?;
        let texts = attribute.map(|attribute| &attribute.strings[..]).unwrap_or_default();
        texts.iter().map(|text| self.utf8(name, text)).collect()
    }

    /// Returns the tensor, if the attribute is present.
    pub(super) fn tensor(&self, name: &str) -> Result<Option<&'a TensorProto>, ImportError> {
        Ok(self.typed(name, attribute_type::TENSOR)?.and_then(|attribute| attribute.t.as_ref()))
    }

    /// Returns the graph, if the attribute is present.
    pub(super) fn graph(&self, name: &str) -> Result<Option<&'a GraphProto>, ImportError> {
        Ok(self.typed(name, attribute_type::GRAPH)?.and_then(|attribute| attribute.g.as_deref()))
    }

    /// Returns whether the attribute is present, with any type.
    pub(super) fn has(&self, name: &str) -> bool {
        self.node.attribute.iter().any(|attribute| attribute.name == name)
    }

    fn utf8(&self, name: &str, text: &'a [u8]) -> Result<&'a str, ImportError> {
        std::str::from_utf8(text)
            .map_err(|_| unsupported_use(self.node, &format!("has a {name} that is not text")))
    }

    fn typed(&self, name: &str, expected: i32) -> Result<Option<&'a AttributeProto>, ImportError> {
        match self.node.attribute.iter().find(|attribute| attribute.name == name) {
            // Files of the first ONNX versions omit the type.
            Some(attribute) if attribute.r#type != expected && attribute.r#type != 0 => {
                Err(unsupported_use(self.node, &format!("has the attribute {name} with the wrong type")))
            }
            found => Ok(found),
        }
    }
}

/// Returns the node's name for messages, or the name of its first output if the node is unnamed.
pub(super) fn node_name(node: &NodeProto) -> String {
    if !node.name.is_empty() {
        return node.name.clone();
    }
    node.output.first().map_or_else(|| "(unnamed)".to_owned(), |output| format!("of {output}"))
}

/// Returns the operator, with its domain unless that is ONNX's own.
pub(super) fn operator_name(node: &NodeProto) -> String {
    if node.domain.is_empty() { node.op_type.clone() } else { format!("{}.{}", node.domain, node.op_type) }
}

/// Creates an [`ImportError::UnsupportedUse`] for this node.
pub(super) fn unsupported_use(node: &NodeProto, reason: &str) -> ImportError {
    ImportError::UnsupportedUse {
        node: node_name(node),
        operator: operator_name(node),
        reason: reason.to_owned(),
    }
}
