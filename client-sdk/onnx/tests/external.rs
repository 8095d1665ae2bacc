use std::collections::BTreeMap;
use std::ops::Range;

use folkmoot_onnx_file::external::{ExternalError, Parts};
use proptest::prelude::*;
use prost::Message;

use super::*;
use folkmoot_onnx_file::tensor::ElementType;
use folkmoot_onnx_file::wire::{fields, push_varint};

/// The field numbers from the model to its initializers, and to the tensors of its constants.
const INITIALIZERS: &[u64] = &[7, 5];
const CONSTANTS: &[u64] = &[7, 1, 5, 5];
const FILES: [&str; 2] = ["model.onnx.data", "more weights"];

const MODELS: [&[u8]; 5] = [
    include_bytes!("../../../examples/models/residual_cnn_batch_norm.onnx"),
    include_bytes!("../../../examples/models/recommender.onnx"),
    include_bytes!("../../../tests/engine/exported/padded.onnx"),
    include_bytes!("data/elements.onnx"),
    include_bytes!("data/functions.onnx"),
];

/// Returns a message in which the messages at a path of field numbers are replaced.
fn replaced(
    bytes: &[u8],
    content: Range<usize>,
    path: &[u64],
    with: &mut impl FnMut(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let Some((number, path)) = path.split_first() else { return with(&bytes[content]) };
    let (mut message, mut start) = (Vec::new(), content.start);
    for field in fields(bytes, content) {
        let field = field.expect("the model is valid");
        if field.number == *number {
            let inner = replaced(bytes, field.content.clone(), path, with);
            push_varint(&mut message, number << 3 | 2);
            push_varint(&mut message, inner.len() as u64);
            message.extend(inner);
        } else {
            message.extend_from_slice(&bytes[start..field.content.end]);
        }
        start = field.content.end;
    }
    message
}

fn field(number: u64, content: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    push_varint(&mut field, number << 3 | 2);
    push_varint(&mut field, content.len() as u64);
    field.extend_from_slice(content);
    field
}

/// Moves the elements of a tensor to the end of a file, behind a gap. Returns the rest of the tensor.
fn moved(tensor: &[u8], name: &str, file: &mut Vec<u8>, gap: usize) -> Vec<u8> {
    let decoded = TensorProto::decode(tensor).expect("the model is valid");
    file.resize(file.len() + gap, 0xee);
    let (offset, length) = (file.len().to_string(), decoded.raw_data.len().to_string());
    file.extend_from_slice(&decoded.raw_data);
    let mut rest = Vec::new();
    let mut start = 0;
    for part in fields(tensor, 0..tensor.len()) {
        let part = part.expect("the model is valid");
        if part.number != 9 {
            rest.extend_from_slice(&tensor[start..part.content.end]);
        }
        start = part.content.end;
    }
    for (key, value) in [("location", name), ("offset", &offset), ("length", &length)] {
        rest.extend(field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat()));
    }
    rest.extend([14 << 3, 1]);
    rest
}

/// Splits a model. Each choice is the file of one tensor, or 2 for the model itself, and the gap in front of its elements.
fn split(model: &[u8], choices: &[(usize, usize)]) -> (Vec<u8>, BTreeMap<&'static str, Vec<u8>>) {
    let mut choices = choices.iter().cycle();
    let mut files: BTreeMap<_, _> = FILES.map(|name| (name, Vec::new())).into();
    let mut model = model.to_vec();
    for path in [INITIALIZERS, CONSTANTS] {
        model = replaced(&model, 0..model.len(), path, &mut |tensor| {
            let decoded = TensorProto::decode(tensor).expect("the model is valid");
            let (file, gap) = choices.next().expect("choices repeat");
            match FILES.get(*file) {
                Some(name)
                    if !decoded.raw_data.is_empty() && ElementType::of(decoded.data_type).is_some() =>
                {
                    moved(tensor, name, files.get_mut(name).expect("it is a file"), *gap)
                }
                _ => tensor.to_vec(),
            }
        });
    }
    (model, files)
}

fn joined(model: &[u8], files: &BTreeMap<&str, Vec<u8>>) -> Result<Vec<u8>, ExternalError> {
    Parts::find(model, &ImportLimits::default())?.joined(|tensor, elements| {
        let file = &files[tensor.file.as_str()];
        tensor.check_in(file.len() as u64)?;
        elements.copy_from_slice(&file[tensor.range.start as usize..tensor.range.end as usize]);
        Ok(())
    })
}

proptest! {
    #[test]
    fn splitting_and_joining_gives_back_the_model(
        model in prop::sample::select(&MODELS[..]),
        choices in prop::collection::vec((0..3usize, 0..40usize), 1..20),
    ) {
        let (apart, files) = split(model, &choices);
        let joined = joined(&apart, &files).expect("it can be joined");
        prop_assert!(joined == model, "every byte is the same");
        let read = |bytes: &[u8]| ModelFile::read(bytes, &ImportLimits::default()).map(|file| {
            (file.parameters().to_vec(), file.initial_weights())
        });
        prop_assert_eq!(read(&joined), read(model));
    }
}

#[test]
fn a_model_without_its_data_file_is_refused() {
    let (apart, files) = split(MODELS[0], &[(0, 0)]);
    assert!(files[FILES[0]].len() > 100 && apart.len() + 100 < MODELS[0].len());
    let error = ModelFile::read(&apart, &ImportLimits::default()).unwrap_err();
    assert!(matches!(error, ImportError::File(FileError::ExternalData { .. })), "{error}");
    assert!(error.to_string().contains("Give the path of the .onnx file"), "{error}");
}
