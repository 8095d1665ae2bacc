//! The attributes of recurrent layers.

use super::super::NodeLowering;
use crate::ImportError;
use crate::attributes::Attributes;
use folkmoot_graph::op::ElementOp;

/// Attributes that all recurrent layers have.
const ATTRIBUTES: [&str; 7] =
    ["activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size", "layout"];

/// The parsed attributes of a recurrent layer.
pub(super) struct Setting<'a> {
    pub(super) attributes: Attributes<'a>,
    /// For each direction, whether it runs backwards in time.
    pub(super) backwards: Vec<bool>,
    /// The activations of each direction.
    pub(super) activations: Vec<Vec<ElementOp>>,
    /// True if the batch is the first axis instead of the time.
    pub(super) batch_first: bool,
}

impl<'a> Setting<'a> {
    pub(super) fn new(
        node: &NodeLowering<'a>,
        own: &[&str],
        defaults: &[ElementOp],
    ) -> Result<Self, ImportError> {
        let attributes = node.attributes(&[&ATTRIBUTES[..], own].concat())?;
        for name in ["activation_alpha", "activation_beta", "clip"] {
            if attributes.has(name) {
                return Err(
                    node.refuse(&format!("has {name}, which is not supported; export the model without it"))
                );
            }
        }
        let backwards = match attributes.text("direction")?.unwrap_or("forward") {
            "forward" => vec![false],
            "reverse" => vec![true],
            "bidirectional" => vec![false, true],
            other => {
                return Err(node.refuse(&format!(
                    "has the unknown direction {other}; forward, reverse and bidirectional are supported"
                )));
            }
        };
        let activations: Vec<ElementOp> = attributes
            .texts("activations")?
            .into_iter()
            .map(|name| {
                activation(name).ok_or_else(|| {
                    node.refuse(&format!("has the activation {name}; Relu, Sigmoid and Tanh are supported"))
                })
            })
            .collect::<Result<_, _>>()?;
        let activations: Vec<Vec<ElementOp>> = match activations.len() {
            0 => backwards.iter().map(|_| defaults.to_vec()).collect(),
            count if count == defaults.len() * backwards.len() => {
                activations.chunks(defaults.len()).map(<[_]>::to_vec).collect()
            }
            count => {
                let needed = defaults.len() * backwards.len();
                return Err(node.refuse(&format!("has {count} activations; it needs {needed}")));
            }
        };
        let batch_first = match attributes.integer("layout", 0)? {
            0 => false,
            1 => true,
            other => return Err(node.refuse(&format!("has the layout {other}; it must be 0 or 1"))),
        };
        Ok(Self { attributes, backwards, activations, batch_first })
    }
}

fn activation(name: &str) -> Option<ElementOp> {
    match name.to_ascii_lowercase().as_str() {
        "relu" => Some(ElementOp::Relu),
        "tanh" => Some(ElementOp::Tanh),
        "sigmoid" => Some(ElementOp::Sigmoid),
        _ => None,
    }
}
