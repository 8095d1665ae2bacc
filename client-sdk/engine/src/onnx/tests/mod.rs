//! What is imported, and with which error everything else is refused.

mod encodings;
mod hostile;
mod operators;
mod refusals;

use prost::Message;

use super::proto::{GraphProto, ModelProto};
use super::{ImportError, ImportLimits, build};
use crate::model::Model;

/// A small valid model, decoded so that a test can change it.
fn small() -> ModelProto {
    ModelProto::decode(&build::mlp(&[2, 3, 2], 1)[..]).unwrap()
}

/// The small model after a change to its graph.
fn changed(change: impl FnOnce(&mut GraphProto)) -> ModelProto {
    let mut model = small();
    change(model.graph.as_mut().unwrap());
    model
}

fn import(model: &ModelProto) -> Result<Model, ImportError> {
    Model::from_onnx(&model.encode_to_vec(), &ImportLimits::default())
}

/// The error for the small model after a change to its graph.
fn refusal(change: impl FnOnce(&mut GraphProto)) -> ImportError {
    import(&changed(change)).unwrap_err()
}
