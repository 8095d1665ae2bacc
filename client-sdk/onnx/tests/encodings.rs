//! Reads and overwrites weights in every encoding that protobuf allows.

use prost::bytes::Bytes;

use super::*;
use folkmoot_onnx_file::proto::TensorProto;

fn floats(tensor: &TensorProto) -> Vec<f32> {
    tensor.raw_data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Exports new weights and checks that only they changed.
fn expect_round_trip(bytes: &[u8], expected: &[f32]) {
    let model = ModelFile::read(bytes, &ImportLimits::default()).unwrap();
    assert_eq!(model.initial_weights(), expected);
    assert_eq!(model.export_onnx(expected).unwrap(), bytes);
    let others: Vec<f32> = (0..expected.len()).map(|index| index as f32).collect();
    let exported = model.export_onnx(&others).unwrap();
    assert_eq!(exported.len(), bytes.len());
    let again = ModelFile::read(&exported, &ImportLimits::default()).unwrap();
    assert_eq!(again.initial_weights(), others);
    assert_eq!(again.export_onnx(expected).unwrap(), bytes);
}

fn all_weights() -> Vec<f32> {
    small().graph.unwrap().initializer.iter().flat_map(floats).collect()
}

#[test]
fn raw_data() {
    expect_round_trip(&small().encode_to_vec(), &all_weights());
}

#[test]
fn packed_floats() {
    let model = changed(|graph| {
        for tensor in &mut graph.initializer {
            tensor.float_data = floats(tensor);
            tensor.raw_data = Bytes::new();
        }
    });
    expect_round_trip(&model.encode_to_vec(), &all_weights());
}

/// Encodes one length-delimited field of a message.
fn length_delimited(number: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    prost::encode_length_delimiter(content.len(), &mut field).unwrap();
    [&field[..], content].concat()
}

#[test]
fn unpacked_floats_and_unknown_fields() {
    // weights [1, 2] as two separate fixed32 fields, then a documentation string (field 12).
    let mut tensor = vec![0x08, 1, 0x08, 2, 0x10, 1];
    for element in [0.5f32, -0.25] {
        tensor.push(4 << 3 | 5);
        tensor.extend(element.to_le_bytes());
    }
    tensor.extend(length_delimited(8, b"weights"));
    tensor.extend(length_delimited(12, b"documentation"));

    let single = ModelProto::decode(&build::single_tensor(2)[..]).unwrap();
    let mut proto = single.graph.unwrap();
    proto.initializer.clear();
    let graph = [proto.encode_to_vec(), length_delimited(5, &tensor)].concat();
    let rest = ModelProto { graph: None, ..small() }.encode_to_vec();
    let metadata = length_delimited(14, b"\x0a\x03key\x12\x05value");
    let bytes = [rest, metadata, length_delimited(7, &graph)].concat();
    expect_round_trip(&bytes, &[0.5, -0.25]);
}

#[test]
fn both_encodings_at_once_are_refused() {
    let error = refusal(|graph| graph.initializer[0].float_data = floats(&graph.initializer[0]));
    assert!(matches!(error, ImportError::File(FileError::WrongLength { expected: 6, found: 12, .. })));
}
