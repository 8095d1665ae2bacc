//! Replaces calls of a model's own functions by the nodes of the functions.

use std::collections::BTreeMap;

use prost::Message;

use super::attributes::unsupported_use;
use super::proto::{AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto};
use super::{FileError, ImportError, ImportLimits};

/// The most functions that call each other.
const DEPTH_MAX: usize = 32;

/// Returns the nodes of the graph, without calls of functions.
///
/// # Errors
/// Returns an [`ImportError`] if functions call themselves, share a name, use another opset than the model, or expand to
/// more nodes than the limit.
pub(super) fn inlined(
    model: &mut ModelProto,
    opset: i64,
    limits: &ImportLimits,
) -> Result<Vec<NodeProto>, ImportError> {
    let nodes = model.graph.as_mut().map(|graph| std::mem::take(&mut graph.node)).unwrap_or_default();
    if model.functions.is_empty() {
        return Ok(nodes);
    }
    let functions = by_name(&model.functions)?;
    let copied = Copied { bytes: 0, limit: limits.model_bytes_max };
    let mut inlining = Inlining { functions, opset, limits, calls: 0, nodes: 0, copied };
    let mut result = Vec::with_capacity(nodes.len());
    for node in nodes {
        inlining.expand(node, 0, &mut result)?;
    }
    Ok(result)
}

/// Functions by domain and name.
type Functions<'a> = BTreeMap<(&'a str, &'a str), &'a FunctionProto>;

/// Returns the functions by name. Overloads share one name and are refused.
fn by_name(functions: &[FunctionProto]) -> Result<Functions<'_>, ImportError> {
    let mut by_name = Functions::new();
    for function in functions {
        let FunctionProto { domain, name, .. } = function;
        if by_name.insert((domain, name), function).is_some() {
            let reason =
                format!("two functions are named {name} in the domain {domain}; each must have its own name");
            return Err(ImportError::File(FileError::Malformed { reason }));
        }
    }
    Ok(by_name)
}

struct Inlining<'a> {
    functions: Functions<'a>,
    opset: i64,
    limits: &'a ImportLimits,
    calls: usize,
    /// Nodes and calls so far.
    nodes: usize,
    copied: Copied,
}

/// The size of all copied names and attributes. A short file can ask for large copies.
struct Copied {
    bytes: usize,
    limit: usize,
}

impl Copied {
    /// Counts bytes before they are copied.
    fn add(&mut self, bytes: usize) -> Result<(), ImportError> {
        self.bytes = self.bytes.saturating_add(bytes);
        within("bytes in copies of functions", self.bytes, self.limit)
    }
}

impl Inlining<'_> {
    /// Appends a node, or the nodes of the function that it calls.
    fn expand(
        &mut self,
        mut node: NodeProto,
        depth: usize,
        result: &mut Vec<NodeProto>,
    ) -> Result<(), ImportError> {
        self.nodes += 1;
        within("nodes", self.nodes, self.limits.nodes_max)?;
        let called = self.functions.get(&(node.domain.as_str(), node.op_type.as_str())).copied();
        let Some(function) = called else {
            for graph in node.attribute.iter_mut().filter_map(|attribute| attribute.g.as_mut()) {
                self.expand_graph(graph, depth)?;
            }
            result.push(node);
            return Ok(());
        };
        self.check(&node, function, depth)?;
        self.calls += 1;
        let scope = Scope::new(&node, function, self.calls);
        for inner in &function.node {
            let copy = scope.node(inner, &mut self.copied)?;
            self.expand(copy, depth + 1, result)?;
        }
        Ok(())
    }

    /// Expands calls in a branch of `If`.
    fn expand_graph(&mut self, graph: &mut GraphProto, depth: usize) -> Result<(), ImportError> {
        let mut nodes = Vec::with_capacity(graph.node.len());
        for node in std::mem::take(&mut graph.node) {
            self.expand(node, depth, &mut nodes)?;
        }
        graph.node = nodes;
        Ok(())
    }

    fn check(&self, node: &NodeProto, function: &FunctionProto, depth: usize) -> Result<(), ImportError> {
        if depth >= DEPTH_MAX {
            return Err(unsupported_use(node, &format!("calls functions more than {DEPTH_MAX} deep")));
        }
        let is_onnx = |domain: &str| domain.is_empty() || domain == "ai.onnx";
        let own = function.opset_import.iter().find(|opset| is_onnx(&opset.domain));
        if let Some(own) = own.filter(|own| own.version != self.opset) {
            let (own, model) = (own.version, self.opset);
            let reason =
                format!("is a function of opset {own} in a model of opset {model}; they must be equal");
            return Err(unsupported_use(node, &reason));
        }
        if node.input.len() > function.input.len() || node.output.len() > function.output.len() {
            return Err(unsupported_use(node, "is a function with fewer inputs or outputs"));
        }
        Ok(())
    }
}

fn within(what: &'static str, count: usize, limit: usize) -> Result<(), ImportError> {
    if count > limit { Err(ImportError::File(FileError::TooMany { what, count, limit })) } else { Ok(()) }
}

/// The names and attributes inside of one call.
struct Scope<'a> {
    names: BTreeMap<&'a str, String>,
    attributes: BTreeMap<&'a str, &'a AttributeProto>,
    prefix: String,
}

impl<'a> Scope<'a> {
    fn new(call: &'a NodeProto, function: &'a FunctionProto, number: usize) -> Self {
        let inputs = function.input.iter().enumerate();
        // Inputs that the call omits have an empty name.
        let given = inputs.map(|(index, name)| (name, call.input.get(index).cloned().unwrap_or_default()));
        let outputs = function.output.iter().zip(&call.output).filter(|(_, outer)| !outer.is_empty());
        let names = given.chain(outputs.map(|(name, outer)| (name, outer.clone())));
        let names = names.map(|(name, outer)| (name.as_str(), outer)).collect();
        let all = function.attribute_proto.iter().chain(&call.attribute);
        let attributes = all.map(|attribute| (attribute.name.as_str(), attribute)).collect();
        Self { names, attributes, prefix: format!("{}#{number}::", function.name) }
    }

    /// Returns a node of the function as a node of the caller.
    fn node(&self, node: &NodeProto, copied: &mut Copied) -> Result<NodeProto, ImportError> {
        let mut attributes = Vec::with_capacity(node.attribute.len());
        for attribute in &node.attribute {
            attributes.extend(self.attribute(attribute, copied)?);
        }
        copied.add(node.name.len() + node.op_type.len() + node.domain.len())?;
        Ok(NodeProto {
            input: self.names(&node.input, copied)?,
            output: self.names(&node.output, copied)?,
            name: if node.name.is_empty() { String::new() } else { format!("{}{}", self.prefix, node.name) },
            op_type: node.op_type.clone(),
            attribute: attributes,
            domain: node.domain.clone(),
        })
    }

    fn names(&self, names: &[String], copied: &mut Copied) -> Result<Vec<String>, ImportError> {
        names.iter().map(|name| self.name(name, copied)).collect()
    }

    fn name(&self, name: &str, copied: &mut Copied) -> Result<String, ImportError> {
        if name.is_empty() {
            return Ok(String::new());
        }
        let outer = self.names.get(name);
        copied.add(outer.map_or(self.prefix.len() + name.len(), String::len))?;
        Ok(outer.cloned().unwrap_or_else(|| format!("{}{name}", self.prefix)))
    }

    /// Returns the attribute, or the attribute of the call to which it refers; `None` if the call does not have it.
    fn attribute(
        &self,
        attribute: &AttributeProto,
        copied: &mut Copied,
    ) -> Result<Option<AttributeProto>, ImportError> {
        let source = match attribute.ref_attr_name.as_str() {
            "" => attribute,
            outer => match self.attributes.get(outer) {
                Some(given) => given,
                None => return Ok(None),
            },
        };
        copied.add(source.encoded_len())?;
        let mut value = source.clone();
        value.name.clone_from(&attribute.name);
        // A graph in the function uses the function's names. One that the call gives already uses the caller's.
        if attribute.ref_attr_name.is_empty()
            && let Some(graph) = &mut value.g
        {
            **graph = self.graph(graph, copied)?;
        }
        Ok(Some(value))
    }

    /// Returns a branch or the body of a loop in the function as one in the caller.
    fn graph(&self, graph: &GraphProto, copied: &mut Copied) -> Result<GraphProto, ImportError> {
        let mut inner = GraphProto { node: Vec::with_capacity(graph.node.len()), ..graph.clone() };
        for node in &graph.node {
            inner.node.push(self.node(node, copied)?);
        }
        for tensor in &mut inner.initializer {
            tensor.name = self.name(&tensor.name, copied)?;
        }
        for value in inner.input.iter_mut().chain(&mut inner.output) {
            value.name = self.name(&value.name, copied)?;
        }
        Ok(inner)
    }
}
