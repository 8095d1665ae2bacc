//! Weights of half and double precision.

use prost::bytes::Bytes;

use super::*;

/// The small model with all weights, its input, its output and a cast in another precision.
fn in_precision(element_type: i32, element: fn(f32) -> Vec<u8>) -> ModelProto {
    changed(|graph| {
        for tensor in &mut graph.initializer {
            let elements = tensor.raw_data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            tensor.raw_data = elements.flat_map(element).collect::<Vec<u8>>().into();
            tensor.data_type = element_type;
        }
        for value in graph.input.iter_mut().chain(&mut graph.output) {
            value.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().elem_type = element_type;
        }
        graph.node.insert(0, node("Cast", &["input"], "cast", vec![integer("to", element_type.into())]));
        graph.node[1].input[0] = "cast".into();
    })
}

/// The upper half of a float32, rounded towards 0.
fn brain(element: f32) -> Vec<u8> {
    element.to_le_bytes()[2..].to_vec()
}

fn double(element: f32) -> Vec<u8> {
    // A double that is not a float32.
    (f64::from(element) * (1.0 + 1e-12)).to_le_bytes().to_vec()
}

#[test]
fn weights_become_float32_and_so_does_the_exported_file() {
    let truncated = |weight: &f32| f32::from_bits(weight.to_bits() & 0xffff_0000);
    let original = import(&small()).unwrap().initial_weights();
    let cases = [
        (in_precision(data_type::BFLOAT16, brain), original.iter().map(truncated).collect()),
        (in_precision(data_type::DOUBLE, double), original.clone()),
        (in_precision(data_type::FLOAT16, |_| vec![0x00, 0xc1]), vec![-2.5; original.len()]),
    ];
    for (model, expected) in cases {
        let file = import(&model).unwrap();
        assert_eq!(file.initial_weights(), expected);
        let weights: Vec<f32> = (0..expected.len()).map(|index| index as f32 / 7.0).collect();
        let exported = file.export_onnx(&weights).unwrap();
        assert_eq!(ModelFile::read(&exported, &ImportLimits::default()).unwrap().initial_weights(), weights);
        let graph = ModelProto::decode(&exported[..]).unwrap().graph.unwrap();
        assert!(graph.initializer.iter().all(|tensor| tensor.data_type == data_type::FLOAT));
        let elem_type =
            |value: &ValueInfoProto| value.r#type.as_ref().unwrap().tensor_type.as_ref().unwrap().elem_type;
        assert!(graph.input.iter().chain(&graph.output).all(|value| elem_type(value) == data_type::FLOAT));
        assert_eq!(graph.node[0].attribute[0].i, i64::from(data_type::FLOAT));
    }
}

#[test]
fn elements_in_lists_are_converted_too() {
    let model = changed(|graph| {
        let tensor = &mut graph.initializer[1];
        (tensor.raw_data, tensor.data_type) = (Bytes::new(), data_type::DOUBLE);
        tensor.double_data = vec![0.5, -1.0, 1e-50];
        let tensor = &mut graph.initializer[3];
        (tensor.raw_data, tensor.data_type) = (Bytes::new(), data_type::FLOAT16);
        tensor.int32_data = vec![0x3c00, 0xb800];
    });
    let file = import(&model).unwrap();
    let weights = file.initial_weights();
    assert_eq!((&weights[6..9], &weights[15..]), (&[0.5, -1.0, 0.0][..], &[1.0, -0.5][..]));
}

#[test]
fn a_weight_beyond_float32_is_refused() {
    let model = in_precision(data_type::DOUBLE, |_| 1e300f64.to_le_bytes().to_vec());
    assert!(matches!(import(&model), Err(ImportError::File(FileError::NotFinite { .. }))));
}

#[test]
fn a_file_with_float32_weights_keeps_its_bytes() {
    let model = changed(|graph| {
        graph.initializer.push(TensorProto {
            name: "unused".into(),
            dims: vec![],
            data_type: data_type::DOUBLE,
            double_data: vec![1.5],
            ..Default::default()
        });
    });
    let (bytes, file) = (model.encode_to_vec(), import(&model).unwrap());
    assert_eq!(file.export_onnx(&file.initial_weights()).unwrap(), bytes);
}
