//! Advice to the author of a model with an operator that is not supported.

use super::is_of_onnx;
use crate::proto::NodeProto;

/// Returns what to do instead of an unsupported operator, as a clause.
pub(super) fn advice(node: &NodeProto) -> &'static str {
    if !is_of_onnx(node) {
        return by_domain(&node.domain);
    }
    match node.op_type.as_str() {
        "If" | "Loop" | "Scan" => {
            "export with example inputs of the shape that you train on, so that the exporter can decide it, or rewrite \
             that part of the model without control flow"
        }
        "DequantizeLinear"
        | "QuantizeLinear"
        | "DynamicQuantizeLinear"
        | "MatMulInteger"
        | "ConvInteger"
        | "QLinearMatMul"
        | "QLinearConv" => "export the float32 model before it is quantized",
        "Attention" => "export with opset 17, where attention is written with MatMul and Softmax",
        "RMSNormalization" | "RotaryEmbedding" | "Swish" | "TensorScatter" => {
            "export with opset 17, where it is written with simpler operators"
        }
        "Mish" => "export with opset 17, or write it as x * tanh(softplus(x))",
        "Trilu" | "Mod" | "CumSum" | "OneHot" | "EyeLike" => {
            "compute constant masks and positions in advance and store them as buffers, or export with \
             folkmoot.export.to_onnx, which folds them"
        }
        "Sin" | "Cos" => "compute positions in advance and store them as a buffer",
        "IsNaN" | "IsInf" => {
            "export with attn_implementation=\"eager\" (Hugging Face), or remove the check for NaN from the model"
        }
        "Resize" | "Upsample" => "use ConvTranspose, or Expand and Reshape for nearest neighbours",
        "DepthToSpace" | "SpaceToDepth" => "write it with Reshape and Transpose",
        "ReduceL2" | "ReduceSumSquare" => "write it as the square root of ReduceSum of x * x",
        "LayerNormalization" => "export with opset 17 or newer",
        "GatherElements" | "GatherND" | "ScatterND" | "ScatterElements" | "TopK" | "NonZero" | "Unique" => {
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

fn by_domain(domain: &str) -> &'static str {
    match domain {
        "ai.onnx.ml" => {
            "export with folkmoot.export.sklearn_to_onnx, which writes linear models and perceptrons as \
                         trainable graphs; trees have no gradients"
        }
        "com.microsoft" => "export again without ONNX Runtime's optimizer, which fuses operators",
        _ => {
            "it belongs to another operator set or is a function of the file; inline functions \
              (onnx.inliner.inline_local_functions), or rewrite that part of the model"
        }
    }
}
