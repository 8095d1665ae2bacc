//! Compares the small importer with the complete one, on files that both read.

use std::path::Path;

use prost::Message;
use prost::bytes::Bytes;

use crate::ImportLimits;
use crate::initializer::{Content, Initializer};
use crate::locate::initializer_chunks;
use crate::prepare;
use crate::proto::{GraphProto, ModelProto, NodeProto};
use crate::weights::{obvious_weights, weights};

/// The tensors as the small importer reads them, or `None` if the file needs the complete one.
fn read(bytes: &[u8]) -> Option<Vec<Initializer>> {
    let limits = ImportLimits::default();
    let proto = ModelProto::decode(bytes).unwrap().graph.unwrap_or_default();
    let chunks = initializer_chunks(bytes, &limits).unwrap();
    obvious_weights(&proto, bytes, chunks, &limits).ok().map(|(tensors, _)| tensors)
}

/// Expects that the complete importer prepares nothing, and finds the same weights and constants.
fn expect_the_same(name: &str, bytes: &[u8], found: &[Initializer]) {
    let limits = ImportLimits::default();
    let whole = Bytes::copy_from_slice(bytes);
    let (prepared, _) = prepare::file(whole.clone(), &limits).unwrap();
    assert_eq!(prepared, whole, "{name} is prepared");
    let proto = ModelProto::decode(bytes).unwrap().graph.unwrap_or_default();
    let chunks = initializer_chunks(bytes, &limits).unwrap();
    let (expected, _) = weights(&proto, bytes, chunks, &limits).unwrap();
    let described = |tensors: &[Initializer]| {
        let one = |tensor: &Initializer| {
            let kind = match &tensor.content {
                Content::Trained(_, kind) => Some(*kind),
                Content::Frozen(_) => None,
            };
            (tensor.name.clone(), tensor.shape.clone(), kind)
        };
        tensors.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(described(found), described(&expected), "{name}");
}

/// The ONNX files of a folder of the repository, by name.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "onnx") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            files.push((name, std::fs::read(path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn the_small_importer_agrees_on_every_file_that_it_reads() {
    let mut found = Vec::new();
    for folder in ["examples/models", "client-sdk/onnx/tests/data", "tests/engine/exported"] {
        for (name, bytes) in files(folder) {
            let Some(tensors) = read(&bytes) else { continue };
            expect_the_same(&name, &bytes, &tensors);
            found.push(name);
        }
    }
    let common =
        ["autoencoder", "char_lstm", "depthwise_cnn", "gru", "logistic_regression", "mlp", "transformer"];
    for name in common {
        assert!(
            found.iter().any(|one| one == name),
            "{name} needs the complete importer; it reads {found:?}"
        );
    }
}

/// Swaps the tensors of every two inputs of nodes.
#[test]
fn the_small_importer_agrees_on_files_whose_tensors_have_other_roles() {
    let (mut read_count, mut refused_count) = (0, 0);
    for (name, bytes) in files("examples/models") {
        let model = ModelProto::decode(&bytes[..]).unwrap();
        let inputs = inputs(model.graph.as_ref().unwrap());
        for (index, one) in inputs.iter().enumerate() {
            for other in &inputs[index + 1..] {
                let mut changed = model.clone();
                let nodes = &mut changed.graph.as_mut().unwrap().node;
                let name_of =
                    |nodes: &[NodeProto], place: &(usize, usize)| nodes[place.0].input[place.1].clone();
                let (first, second) = (name_of(nodes, one), name_of(nodes, other));
                nodes[one.0].input[one.1] = second;
                nodes[other.0].input[other.1] = first;
                let bytes = changed.encode_to_vec();
                let Some(found) = read(&bytes) else {
                    refused_count += 1;
                    continue;
                };
                read_count += 1;
                expect_the_same(&format!("{name}, {one:?} and {other:?}"), &bytes, &found);
            }
        }
    }
    assert!(read_count > 1000 && refused_count > 1000, "read: {read_count}, refused: {refused_count}");
}

/// The position of each node and of each of its inputs. Of many inputs, only the first are exchanged.
fn inputs(graph: &GraphProto) -> Vec<(usize, usize)> {
    let nodes = graph.node.iter().enumerate();
    let all = nodes.flat_map(|(node, one)| (0..one.input.len()).map(move |position| (node, position)));
    all.take(60).collect()
}
