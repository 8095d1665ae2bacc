//! Models that are well-formed protobuf but cannot be trained.

use prost::bytes::Bytes;

use super::*;
use folkmoot_onnx::Remark;
use folkmoot_onnx_file::proto::{
    AttributeProto, DimensionProto, DimensionValue, NodeProto, OperatorSetIdProto,
};

#[test]
fn an_unsupported_operator_is_named_with_its_node_and_the_page_of_supported_ones() {
    let error = refusal(|graph| {
        graph.node[1].op_type = "NonMaxSuppression".into();
        graph.node[1].name = "middle".into();
    });
    let message = error.to_string();
    assert!(
        message.contains("docs/operators.md lists the supported ones:\n- NonMaxSuppression (node middle): "),
        "{message}"
    );
    let error = refusal(|graph| graph.node[1].domain = "com.example".into());
    assert!(error.to_string().contains("- com.example.Relu (node "), "{error}");
}

#[test]
fn all_unsupported_operators_are_listed_with_advice_before_anything_else() {
    let error = refusal(|graph| {
        graph.node[0].op_type = "QuantizeLinear".into();
        graph.node[1].op_type = "TopK".into();
        graph.node[2].op_type = "TopK".into();
        graph.initializer.clear();
        graph.node.iter_mut().for_each(|node| node.input.truncate(1));
    });
    let ImportError::UnsupportedOperators { operators } = &error else { panic!("{error}") };
    let counts: Vec<(&str, usize)> = operators.iter().map(|one| (one.operator.as_str(), one.nodes)).collect();
    assert_eq!(counts, [("QuantizeLinear", 1), ("TopK", 2)]);
    let message = error.to_string();
    assert!(
        message.contains("float32 model before it is quantized") && message.contains("2 nodes"),
        "{message}"
    );
}

#[test]
fn an_integer_weight_is_refused_and_not_silently_frozen() {
    let mut whole = integers("layer_1.weight", &[1, 2, 3, 4, 5, 6]);
    whole.dims = vec![3, 2];
    let error = refusal(|graph| graph.initializer[0] = whole.clone());
    let layer = "Gemm to layer_1.sum".to_owned();
    assert_eq!(error, ImportError::IntegerWeight { tensor: "layer_1.weight".into(), node: layer.clone() });
    // A weight that is computed from integers, as by hand-made quantization, is allowed and reported.
    let model = changed(|graph| {
        whole.name = "whole".into();
        graph.initializer[0] = whole.clone();
        graph.node.insert(0, node("Cast", &["whole"], "layer_1.weight", vec![integer("to", 1)]));
    });
    let expected = Remark::IntegerWeight { tensor: "whole".into(), node: layer };
    assert_eq!(import(&model).unwrap().remarks(), [expected]);
}

#[test]
fn an_unknown_attribute_is_refused() {
    let error = refusal(|graph| {
        graph.node[0].attribute.push(AttributeProto { name: "gamma".into(), ..Default::default() });
    });
    assert!(error.to_string().contains("has the attribute gamma, which is not supported"), "{error}");
}

#[test]
fn a_node_has_one_output_and_the_right_inputs() {
    let error = refusal(|graph| graph.node[1].output.push("mask".into()));
    assert!(matches!(error, ImportError::UnsupportedUse { .. }));
    let error = refusal(|graph| graph.node[1].input.push("input".into()));
    assert!(error.to_string().ends_with("Relu has 2 inputs; it must have 1"), "{error}");
}

#[test]
fn the_operator_set_must_be_known() {
    for version in [0, 6, 1000] {
        let mut model = small();
        model.opset_import = vec![OperatorSetIdProto { domain: String::new(), version }];
        assert!(matches!(import(&model), Err(ImportError::UnsupportedOpset { .. })), "version {version}");
    }
    let mut model = small();
    model.opset_import.clear();
    assert!(matches!(import(&model), Err(ImportError::UnsupportedOpset { version: 0, .. })));
}

#[test]
fn names_must_be_unique() {
    let error = refusal(|graph| graph.initializer[1].name = "layer_1.weight".into());
    assert_eq!(error, ImportError::DuplicateName { name: "layer_1.weight".into() });
    let error = refusal(|graph| graph.node[1].output[0] = "layer_1.sum".into());
    assert!(matches!(error, ImportError::DuplicateName { .. } | ImportError::MissingValue { .. }));
}

#[test]
fn cycles_are_refused() {
    let error = refusal(|graph| graph.node[0].input[0] = "logits".into());
    assert!(matches!(error, ImportError::Cycle { value, .. } if value == "logits"));
    let error = refusal(|graph| graph.node[1].input[0] = graph.node[1].output[0].clone());
    assert!(matches!(error, ImportError::Cycle { .. }));
    let error = refusal(|graph| graph.node.reverse());
    assert!(matches!(error, ImportError::Cycle { .. }));
}

#[test]
fn a_missing_initializer_is_named() {
    let error = refusal(|graph| {
        graph.initializer.remove(2);
    });
    let message = error.to_string();
    assert!(message.contains("reads layer_2.weight, which is neither an input, an initializer"), "{message}");
    let error = refusal(|graph| graph.output[0].name = "nowhere".into());
    assert!(matches!(error, ImportError::MissingValue { value, .. } if value == "nowhere"));
}

#[test]
fn there_are_inputs_and_outputs() {
    let error = refusal(|graph| {
        let input = graph.input[0].clone();
        graph
            .input
            .extend((0..64).map(|number| ValueInfoProto { name: number.to_string(), ..input.clone() }));
    });
    assert_eq!(error, ImportError::InputsAndOutputs { inputs: 65, outputs: 1 });
    let error = refusal(|graph| graph.output.clear());
    assert_eq!(error, ImportError::InputsAndOutputs { inputs: 1, outputs: 0 });
}

#[test]
fn the_batch_must_be_free_and_the_rest_fixed() {
    let with_dims = |values: Vec<Option<DimensionValue>>| {
        refusal(|graph| {
            let tensor_type = graph.input[0].r#type.as_mut().unwrap().tensor_type.as_mut().unwrap();
            let shape = tensor_type.shape.as_mut().unwrap();
            shape.dim = values.into_iter().map(|value| DimensionProto { value }).collect();
        })
        .to_string()
    };
    let fixed = |size| Some(DimensionValue::DimValue(size));
    assert!(with_dims(vec![fixed(1), fixed(2)]).contains("has a fixed batch size"));
    let free = with_dims(vec![None, None]);
    assert!(free.contains("has a free dimension after the batch. For a length of 32, "), "{free}");
    assert!(free.contains("[2, 32] and [3, 2]"), "{free}");
    assert!(with_dims(vec![None, fixed(-2)]).contains("has dimension -2"));
    assert!(with_dims(vec![]).contains("has no dimensions"));
    assert!(
        with_dims(vec![None, fixed(3)])
            .contains("incompatible shapes for the matrix product: [2, 3] and [3, 2]")
    );
}

#[test]
fn an_output_without_the_batch_in_front_is_refused() {
    let error = refusal(|graph| {
        let inputs = vec!["layer_1.weight".into()];
        let output = vec!["weights".into()];
        graph.node.push(NodeProto { input: inputs, output, op_type: "Relu".into(), ..Default::default() });
        graph.output[0].name = "weights".into();
    });
    assert!(matches!(error, ImportError::InvalidOutput { shape, .. } if shape == "[3, 2]"));
}

#[test]
fn tensors_are_checked() {
    let error = refusal(|graph| graph.initializer[0].dims = vec![3, -2]);
    assert!(matches!(error, ImportError::File(FileError::InvalidDimension { dimension: -2, .. })));
    let error = refusal(|graph| graph.initializer[0].dims = vec![0, 2]);
    assert!(matches!(error, ImportError::File(FileError::InvalidDimension { dimension: 0, .. })));
    let error = refusal(|graph| graph.initializer[0].dims = vec![i64::MAX, i64::MAX]);
    assert!(matches!(error, ImportError::File(FileError::TensorTooLarge { .. })));
    let error = refusal(|graph| graph.initializer[0].dims = vec![1; 9]);
    assert!(matches!(error, ImportError::File(FileError::TooMany { what: "dimensions in a tensor", .. })));
    let error = refusal(|graph| graph.initializer[0].dims = vec![3, 3]);
    assert!(matches!(error, ImportError::File(FileError::WrongLength { expected: 9, found: 6, .. })));
    let error = refusal(|graph| graph.initializer[0].raw_data.truncate(23));
    assert!(matches!(error, ImportError::File(FileError::WrongLength { .. })));
    let error = refusal(|graph| graph.initializer[0].data_location = 1);
    assert_eq!(error, ImportError::File(FileError::ExternalData { tensor: "layer_1.weight".into() }));
    // An eight-bit float.
    let error = refusal(|graph| graph.initializer[0].data_type = 17);
    assert!(matches!(error, ImportError::File(FileError::UnsupportedElementType { element_type: 17, .. })));
    for broken in [f32::NAN, f32::INFINITY] {
        let error = refusal(|graph| {
            graph.initializer[1].raw_data =
                Bytes::from_iter([0.0, broken, 0.0].into_iter().flat_map(f32::to_le_bytes));
        });
        assert_eq!(error, ImportError::File(FileError::NotFinite { tensor: "layer_1.bias".into() }));
    }
}

#[test]
fn a_model_without_trainable_tensors_is_refused() {
    let error = refusal(|graph| {
        graph.initializer.clear();
        graph.node.truncate(2);
        graph.node.remove(0);
        graph.node[0].input[0] = "input".into();
        graph.output[0].name = graph.node[0].output[0].clone();
    });
    assert_eq!(error, ImportError::NothingToTrain);
}
