//! Replaces linear models of the domain `ai.onnx.ml` by operators of ONNX itself, with weights that can be trained.
//!
//! Converters of scikit-learn's models write coefficients as attributes. Each list of coefficients becomes a tensor whose
//! elements are the numbers of the attribute, so an exported file has the same nodes with other numbers.

use std::collections::BTreeMap;
use std::ops::Range;

use super::attributes::{Attributes, node_name, unsupported_use};
use super::locate::{Chunks, element_count};
use super::proto::{AttributeProto, FLOAT, ModelProto, NodeProto, TensorProto, attribute_type};
use super::wire::{Encoding, Field, fields};
use super::{FileError, ImportError};

const MODEL_GRAPH: u64 = 7;
const GRAPH_NODE: u64 = 1;
const NODE_ATTRIBUTE: u64 = 5;
const ATTRIBUTE_NAME: u64 = 1;
const ATTRIBUTE_FLOATS: u64 = 7;
/// The maximum number of coefficients of one node. Files store each on its own, and so does a list of their places.
const COEFFICIENTS_MAX: usize = 1 << 20;

/// Replaces the linear models in a graph. `chunks` has the places of each initializer, and gets those of the new ones.
///
/// # Errors
/// Returns an [`ImportError`] for malformed bytes, and for a model whose form no converter writes.
pub(super) fn replace(
    model: &mut ModelProto,
    bytes: &[u8],
    chunks: &mut Vec<Chunks>,
) -> Result<(), ImportError> {
    let Some(graph) = &mut model.graph else { return Ok(()) };
    if !graph.node.iter().any(is_linear) {
        return Ok(());
    }
    let places = messages(bytes, 0..bytes.len(), MODEL_GRAPH)
        .flat_map(|graph| messages(bytes, graph.content, GRAPH_NODE))
        .map(|node| node.content);
    let mut nodes = Vec::with_capacity(graph.node.len());
    for (node, place) in std::mem::take(&mut graph.node).into_iter().zip(places) {
        if !is_linear(&node) {
            nodes.push(node);
            continue;
        }
        let found = Replaced::new(&node, float_lists(bytes, place))?;
        nodes.extend(found.nodes);
        for (tensor, places) in found.tensors {
            graph.initializer.push(tensor);
            chunks.push(places);
        }
    }
    graph.node = nodes;
    Ok(())
}

fn is_linear(node: &NodeProto) -> bool {
    node.domain == "ai.onnx.ml" && matches!(node.op_type.as_str(), "LinearRegressor" | "LinearClassifier")
}

/// Returns the fields of a message with this number. Malformed bytes end the list, but there are none, because the
/// bytes were decoded before.
fn messages(bytes: &[u8], message: Range<usize>, number: u64) -> impl Iterator<Item = Field> {
    fields(bytes, message)
        .map_while(Result::ok)
        .filter(move |field| field.number == number && field.encoding == Encoding::Length)
}

/// Returns the places of the floats of each attribute of a node.
fn float_lists(bytes: &[u8], node: Range<usize>) -> BTreeMap<&[u8], Chunks> {
    let mut lists = BTreeMap::new();
    for attribute in messages(bytes, node, NODE_ATTRIBUTE) {
        let name = messages(bytes, attribute.content.clone(), ATTRIBUTE_NAME).last();
        let floats = fields(bytes, attribute.content).map_while(Result::ok).filter(|field| {
            field.number == ATTRIBUTE_FLOATS && matches!(field.encoding, Encoding::Length | Encoding::Fixed32)
        });
        let name = name.map_or(&[][..], |name| &bytes[name.content]);
        lists.insert(name, floats.map(|field| field.content).collect());
    }
    lists
}

/// The nodes and tensors that replace a node.
#[derive(Default)]
struct Replaced {
    nodes: Vec<NodeProto>,
    tensors: Vec<(TensorProto, Chunks)>,
}

impl Replaced {
    fn new(node: &NodeProto, mut lists: BTreeMap<&[u8], Chunks>) -> Result<Self, ImportError> {
        let mut replaced = Self::default();
        match node.op_type.as_str() {
            "LinearRegressor" => {
                let attributes =
                    Attributes::new(node, &["coefficients", "intercepts", "post_transform", "targets"])?;
                let targets = usize::try_from(attributes.integer("targets", 1)?).unwrap_or(0);
                replaced.add(&attributes, &mut lists, targets, node.output.first())?;
            }
            _ => {
                let known = [
                    "classlabels_ints",
                    "classlabels_strings",
                    "coefficients",
                    "intercepts",
                    "multi_class",
                    "post_transform",
                ];
                let attributes = Attributes::new(node, &known)?;
                let integers = attributes.integers("classlabels_ints")?.map_or(0, <[i64]>::len);
                let classes = integers.max(attributes.texts("classlabels_strings")?.len());
                replaced.add(&attributes, &mut lists, classes, node.output.get(1))?;
                // The labels have no gradient, so they are left to an operator that is not supported.
                let output = node.output.iter().take(1).cloned().collect();
                replaced.nodes.push(NodeProto { output, attribute: Vec::new(), ..node.clone() });
            }
        }
        Ok(replaced)
    }

    /// Adds the layer that computes `rows` scores, and the function that is applied to them.
    fn add(
        &mut self,
        attributes: &Attributes<'_>,
        lists: &mut BTreeMap<&[u8], Chunks>,
        rows: usize,
        output: Option<&String>,
    ) -> Result<(), ImportError> {
        let node = attributes.node;
        let Some(output) = output.filter(|output| !output.is_empty()) else { return Ok(()) };
        let mut list = |name: &str| lists.remove(name.as_bytes()).unwrap_or_default();
        let (coefficients, intercepts) = (list("coefficients"), list("intercepts"));
        let (count, biases) = (element_count(&coefficients), element_count(&intercepts));
        if count > COEFFICIENTS_MAX {
            let what = "coefficients of one node";
            return Err(ImportError::File(FileError::TooMany { what, count, limit: COEFFICIENTS_MAX }));
        }
        if rows == 0 || count == 0 || !count.is_multiple_of(rows) || !(biases == 0 || biases == rows) {
            let reason = format!(
                "has {count} coefficients and {biases} intercepts for {rows} scores; it must have a row of coefficients for \
                 each score, and one intercept or none"
            );
            return Err(unsupported_use(node, &reason));
        }
        let own = |part: &str| format!("{}.{part}", name_of(node));
        let function = match attributes.text("post_transform")?.unwrap_or("NONE") {
            "NONE" => None,
            "SOFTMAX" => Some("Softmax"),
            "LOGISTIC" => Some("Sigmoid"),
            other => {
                return Err(unsupported_use(
                    node,
                    &format!("has the post_transform {other}, which is not supported"),
                ));
            }
        };
        let scores = if function.is_some() { own("scores") } else { output.clone() };
        let (features, weight, bias) = (own("features"), own("coefficients"), own("intercepts"));
        let x = node.input.first().cloned().unwrap_or_default();
        self.push(node, "Cast", vec![x], &features, Some(("to", FLOAT.into())));
        let mut inputs = vec![features, weight.clone()];
        inputs.extend((biases > 0).then(|| bias.clone()));
        self.push(node, "Gemm", inputs, &scores, Some(("transB", 1)));
        if let Some(function) = function {
            let axis = (function == "Softmax").then_some(("axis", 1));
            self.push(node, function, vec![scores], output, axis);
        }
        self.tensors.push(tensor(attributes, "coefficients", weight, &[rows, count / rows], coefficients)?);
        if biases > 0 {
            self.tensors.push(tensor(attributes, "intercepts", bias, &[rows], intercepts)?);
        }
        Ok(())
    }

    fn push(
        &mut self,
        of: &NodeProto,
        op_type: &str,
        input: Vec<String>,
        output: &str,
        attribute: Option<(&str, i64)>,
    ) {
        let attribute = attribute.map(|(name, i)| AttributeProto {
            name: name.to_owned(),
            i,
            r#type: attribute_type::INT,
            ..Default::default()
        });
        self.nodes.push(NodeProto {
            input,
            output: vec![output.to_owned()],
            name: node_name(of),
            op_type: op_type.to_owned(),
            attribute: attribute.into_iter().collect(),
            domain: String::new(),
        });
    }
}

/// Returns a tensor with the numbers of an attribute, and their places.
fn tensor(
    attributes: &Attributes<'_>,
    attribute: &str,
    name: String,
    dims: &[usize],
    places: Chunks,
) -> Result<(TensorProto, Chunks), ImportError> {
    let float_data = attributes.floats(attribute)?.unwrap_or_default().to_vec();
    let dims = dims.iter().map(|size| *size as i64).collect();
    Ok((TensorProto { dims, data_type: FLOAT, float_data, name, ..Default::default() }, places))
}

fn name_of(node: &NodeProto) -> &str {
    match node.name.as_str() {
        "" => node.output.iter().find(|name| !name.is_empty()).map_or("linear", String::as_str),
        name => name,
    }
}
