//! A block of a language model, with the operators of opset 23 and 24.

use super::*;

/// `[N, 5, 8]` to `[N, 5, 8]`.
pub(super) fn model() -> ModelProto {
    let heads = || vec![integer("num_heads", 4)];
    let angles = |name: &str, function: fn(f32) -> f32| {
        let elements: Vec<f32> = (0..5).map(|position| function(position as f32)).collect();
        floats(name, &[5, 1], &elements)
    };
    let nodes = vec![
        node("RMSNormalization", &["x", "scale"], "normal", vec![]),
        node("MatMul", &["normal", "W_query"], "flat_query", vec![]),
        node("MatMul", &["normal", "W_key"], "flat_key", vec![]),
        node("MatMul", &["normal", "W_value"], "value", vec![]),
        node("RotaryEmbedding", &["flat_query", "cosine", "sine", "ids"], "query", heads()),
        node("RotaryEmbedding", &["flat_key", "cosine", "sine", "ids"], "key", vec![integer("num_heads", 2)]),
        node(
            "Attention",
            &["query", "key", "value"],
            "mixed",
            vec![
                integer("is_causal", 1),
                integer("q_num_heads", 4),
                integer("kv_num_heads", 2),
                float("softcap", 5.0),
            ],
        ),
        node("Add", &["mixed", "x"], "sum", vec![]),
        node("Swish", &["sum"], "bent", vec![]),
        node("DequantizeLinear", &["bytes", "step", "zero"], "W_out", vec![integer("axis", 1)]),
        node("MatMul", &["bent", "W_out"], "y", vec![]),
    ];
    let byte = |name: &str, dims: &[i64], elements: &[i32]| TensorProto {
        name: name.into(),
        dims: dims.to_vec(),
        data_type: data_type::UINT8,
        int32_data: elements.to_vec(),
        ..Default::default()
    };
    let bytes: Vec<i32> = (0..64).map(|index| index * 37 % 256).collect();
    let initializers = vec![
        weights("scale", &[8]),
        weights("W_query", &[8, 8]),
        weights("W_key", &[8, 4]),
        weights("W_value", &[8, 4]),
        angles("cosine", f32::cos),
        angles("sine", f32::sin),
        integers_of("ids", &[1, 5], &[0, 1, 2, 3, 4]),
        byte("bytes", &[8, 8], &bytes),
        byte("zero", &[8], &[128; 8]),
        floats("step", &[8], &[0.01; 8]),
    ];
    super::model(24, &[5, 8], nodes, initializers)
}

#[test]
fn tables_and_scales_are_not_weights() {
    let file = import(&model()).unwrap();
    let names: Vec<&str> = file.parameters().iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["scale", "W_query", "W_key", "W_value"]);
}
