//! Advice to the author of a model with an operator that is not supported.

use super::is_of_onnx;
use crate::proto::NodeProto;

/// Returns what to do instead of an unsupported operator, as a clause.
pub(super) fn advice(node: &NodeProto) -> &'static str {
    if !is_of_onnx(node) {
        return by_domain(node);
    }
    match node.op_type.as_str() {
        "QuantizeLinear"
        | "DynamicQuantizeLinear"
        | "MatMulInteger"
        | "ConvInteger"
        | "QLinearMatMul"
        | "QLinearConv" => "export the float32 model before it is quantized",
        "TensorScatter" => "export the model without a cache of keys and values",
        "EyeLike" => {
            "compute constant masks in advance and store them as buffers, or export with folkmoot.export.to_onnx, which \
             folds them"
        }
        "ScatterND" | "ScatterElements" | "TopK" | "NonZero" | "Unique" => {
            "rewrite that part of the model with Gather, Where or ReduceMax"
        }
        "RandomNormal" | "RandomNormalLike" | "RandomUniform" | "RandomUniformLike" | "Bernoulli"
        | "Multinomial" => "use Dropout, or add the noise to the examples",
        "SequenceConstruct" | "SequenceAt" | "ConcatFromSequence" | "SplitToSequence" | "Optional" => {
            "rewrite that part of the model with tensors instead of lists"
        }
        _ => {
            "rewrite that part of the model with supported operators, or export with folkmoot.export.to_onnx"
        }
    }
}

fn by_domain(node: &NodeProto) -> &'static str {
    let is_ml = node.domain == "ai.onnx.ml";
    match node.domain.as_str() {
        _ if is_ml && node.op_type.starts_with("Tree") => {
            "trees have no gradients, so no rounds of gradient descent can train them; choose a linear model or a \
             perceptron"
        }
        _ if is_ml && node.op_type.starts_with("SVM") => {
            "a machine of support vectors with a kernel is not trained by gradient descent; choose LinearSVC or \
             SGDClassifier"
        }
        _ if is_ml && node.op_type == "LinearClassifier" => {
            "its labels have no gradient; keep its scores among the outputs"
        }
        "ai.onnx.ml" => {
            "encode text and categories before training, or export with folkmoot.export.sklearn_to_onnx, which writes linear \
             models and perceptrons as trainable graphs"
        }
        "com.microsoft" => "export again without ONNX Runtime's optimizer, which fuses operators",
        _ => {
            "it belongs to another operator set, and the file has no function of this name; rewrite that part of the \
             model with supported operators"
        }
    }
}
