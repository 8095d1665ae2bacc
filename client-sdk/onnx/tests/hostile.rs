//! Bytes that no exporter writes. Import may reject them, but must not panic or use much memory.

use proptest::prelude::*;

use super::*;

#[test]
fn every_cut_is_an_error() {
    let whole = build::mlp(&[2, 3, 2], 1);
    for length in 0..whole.len() {
        // The opset is the last field, so no shorter file is complete.
        assert!(ModelFile::read(&whole[..length], &ImportLimits::default()).is_err(), "cut to {length}");
    }
}

#[test]
fn limits_hold() {
    let bytes = build::mlp(&[2, 3, 2], 1);
    let default = ImportLimits::default;
    let refusal = |limits: ImportLimits| ModelFile::read(&bytes, &limits).unwrap_err();
    let error = refusal(ImportLimits { model_bytes_max: bytes.len() - 1, ..default() });
    assert_eq!(
        error,
        ImportError::File(FileError::ModelTooLarge { bytes: bytes.len(), limit: bytes.len() - 1 })
    );
    let error = refusal(ImportLimits { nodes_max: 2, ..default() });
    assert_eq!(error, ImportError::File(FileError::TooMany { what: "nodes", count: 3, limit: 2 }));
    let error = refusal(ImportLimits { initializers_max: 3, ..default() });
    assert_eq!(error, ImportError::File(FileError::TooMany { what: "initializers", count: 4, limit: 3 }));
    let error = refusal(ImportLimits { parameters_max: 16, ..default() });
    assert_eq!(error, ImportError::File(FileError::TooMany { what: "parameters", count: 17, limit: 16 }));
    let error = refusal(ImportLimits { attributes_max: 1, ..default() });
    assert_eq!(error, ImportError::File(FileError::TooMany { what: "attributes", count: 2, limit: 1 }));
    let error = refusal(ImportLimits { tensor_elements_max: 5, ..default() });
    assert_eq!(
        error,
        ImportError::File(FileError::TensorTooLarge { tensor: "layer_1.weight".into(), limit: 5 })
    );
}

#[test]
fn an_intermediate_result_counts_against_the_limit() {
    // Two tensors of 3 elements broadcast to one of 9.
    let model = changed(|graph| {
        let mut column = graph.initializer[1].clone();
        column.name = "column".into();
        column.dims = vec![3, 1];
        graph.initializer.push(column);
        graph.node[1].op_type = "Add".into();
        graph.node[1].input = vec!["layer_1.bias".into(), "column".into()];
    });
    let limits = ImportLimits { tensor_elements_max: 8, ..ImportLimits::default() };
    let error = ModelFile::read(&model.encode_to_vec(), &limits).unwrap_err();
    assert!(matches!(error, ImportError::File(FileError::TensorTooLarge { limit: 8, .. })), "{error}");
}

#[test]
fn two_graphs_are_refused() {
    let once = small().encode_to_vec();
    let twice = [&once[..], &once[..]].concat();
    let error = ModelFile::read(&twice, &ImportLimits::default()).unwrap_err();
    assert_eq!(error, ImportError::File(FileError::Malformed { reason: "the model has two graphs".into() }));
}

/// The committed example models and test models, which cover most operators.
fn examples() -> Vec<Vec<u8>> {
    let folder = |name| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let folders = ["../../examples/models", "tests/data"].map(folder);
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut paths: Vec<_> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "onnx"))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn the_example_models_are_imported() {
    assert!(!examples().is_empty());
    for bytes in examples() {
        ModelFile::read(&bytes, &ImportLimits::default()).unwrap();
    }
}

/// Returns a decoded example model with other numbers in its attributes, shapes and settings.
fn distorted(bytes: &[u8], index: prop::sample::Index, numbers: &[i64]) -> ModelProto {
    let mut model = ModelProto::decode(bytes).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let mut places: Vec<&mut i64> = Vec::new();
    for attribute in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
        places.push(&mut attribute.i);
        places.extend(&mut attribute.ints);
        places.extend(
            attribute.t.iter_mut().flat_map(|tensor| tensor.dims.iter_mut().chain(&mut tensor.int64_data)),
        );
    }
    places.extend(graph.initializer.iter_mut().flat_map(|tensor| &mut tensor.int64_data));
    let count = places.len();
    for (offset, number) in numbers.iter().enumerate() {
        if let Some(place) = places.get_mut((index.index(count.max(1)) + offset) % count.max(1)) {
            **place = *number;
        }
    }
    model
}

fn small_limits() -> ImportLimits {
    ImportLimits { tensor_elements_max: 1 << 20, constant_elements_max: 1 << 20, ..ImportLimits::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn changed_bytes_of_examples_do_not_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = which.get(&examples()).clone();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        let _ = ModelFile::read(&bytes, &small_limits());
    }

    #[test]
    fn changed_numbers_of_examples_do_not_panic(
        which in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        numbers in prop::collection::vec(prop_oneof![-3i64..40, any::<i64>()], 1..4),
    ) {
        let examples = examples();
        let model = distorted(which.get::<Vec<u8>>(&examples), place, &numbers);
        let _ = ModelFile::read(&model.encode_to_vec(), &small_limits());
    }

    #[test]
    fn changed_bytes_do_not_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = build::mlp(&[2, 3, 2], 1);
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Ok(model) = ModelFile::read(&bytes, &ImportLimits::default()) {
            prop_assert_eq!(model.initial_weights().len(), model.parameter_count());
        }
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(ModelFile::read(&bytes, &ImportLimits::default()).is_err());
    }
}
