//! Models with several inputs, and with a free length of sequences.

use folkmoot_graph::program::Program;

use super::*;
use folkmoot_onnx::{Lookup, Mode};
use folkmoot_onnx_file::proto::{DimensionProto, DimensionValue, TensorShapeProto};

/// An input with these dimensions after the batch; `None` is free.
fn input(name: &str, element_type: i32, dims: &[Option<i64>]) -> ValueInfoProto {
    let free = |name: &str| DimensionProto { value: Some(DimensionValue::DimParam(name.into())) };
    let rest = dims.iter().map(|dim| match dim {
        Some(size) => DimensionProto { value: Some(DimensionValue::DimValue(*size)) },
        None => free("length"),
    });
    let dim = std::iter::once(free("batch")).chain(rest).collect();
    let tensor_type = TensorTypeProto { elem_type: element_type, shape: Some(TensorShapeProto { dim }) };
    let r#type = Some(TypeProto { tensor_type: Some(tensor_type) });
    ValueInfoProto { name: name.into(), r#type }
}

/// A perceptron for two features that come from two inputs.
fn halves() -> ModelProto {
    changed(|graph| {
        let inputs = ["left", "right"].map(|name| input(name, data_type::FLOAT, &[Some(1)]));
        let name = std::mem::replace(&mut graph.input, inputs.to_vec()).remove(0).name;
        graph.node.insert(0, node("Concat", &["left", "right"], &name, vec![integer("axis", 1)]));
    })
}

/// A model that sums the rows of a table `[5, 2]` over a sequence, each times its weight in `mask`.
fn sequences(mask: &[Option<i64>]) -> ModelProto {
    changed(|graph| {
        graph.input = vec![input("ids", data_type::INT64, &[None]), input("mask", data_type::FLOAT, mask)];
        let numbers: Vec<f32> = (0..10u8).map(f32::from).collect();
        graph.initializer =
            vec![floats("table", &[5, 2], &numbers), integers("axes", &[1]), integers("last", &[2])];
        graph.node = vec![
            node("Gather", &["table", "ids"], "rows", vec![]),
            node("Unsqueeze", &["mask", "last"], "weights", vec![]),
            node("Mul", &["rows", "weights"], "weighted", vec![]),
            node("ReduceSum", &["weighted", "axes"], "sum", vec![integer("keepdims", 0)]),
        ];
        graph.output[0].name = "sum".into();
    })
}

fn outputs(file: &ModelFile, features: &[f32], rows: usize) -> Vec<f32> {
    let lowered = file.lower(rows, Mode::Inference).unwrap();
    let ranges: Vec<_> = file
        .parameters()
        .iter()
        .scan(0, |end, parameter| {
            let start = *end;
            *end += parameter.element_count();
            Some(start..*end)
        })
        .collect();
    let mut program = Program::<f32>::compile(&lowered.graph, &[lowered.output], &ranges).unwrap();
    program.run(&file.initial_weights(), &[features], 0);
    program.output(0).to_vec()
}

#[test]
fn several_inputs_are_columns_in_the_order_of_the_file() {
    let [apart, whole] = [halves(), small()].map(|model| import(&model).unwrap());
    let inputs: Vec<_> = apart.inputs().iter().map(|input| (&*input.name, &*input.shape)).collect();
    assert_eq!(inputs, [("left", &[1][..]), ("right", &[1][..])]);
    assert_eq!((apart.input_shape(), apart.parameters()), (whole.input_shape(), whole.parameters()));
    let features = [0.5, -1.0, 2.0, 0.25, -3.0, 1.0];
    assert_eq!(outputs(&apart, &features, 3), outputs(&whole, &features, 3));
}

#[test]
fn a_free_length_is_that_of_the_features() {
    let file = import(&sequences(&[None])).unwrap();
    assert_eq!((file.input_shape(), file.output_shape()), (&[64][..], &[2][..]));
    assert_eq!(file.inputs()[1].length_axis, Some(0));
    let three = file.for_width(6).unwrap().expect("the length changes");
    let lookup = |column| Lookup { column, scale: 1.0, offset: 0.0, rows: 5 };
    assert_eq!(three.lookups().checked, [lookup(0), lookup(1), lookup(2)]);
    // Rows 1, 4 and 0 of the table are [2, 3], [8, 9] and [0, 1].
    let features = [1.0, 4.0, 0.0, 1.0, 0.5, 2.0];
    assert_eq!(outputs(&three, &features, 1), [2.0 + 4.0, 3.0 + 4.5 + 2.0]);
    assert!(three.for_width(6).unwrap().is_none(), "the length is right");
    assert!(file.for_width(7).unwrap().is_none(), "no length has seven features");
    assert_eq!(three.for_width(2).unwrap().unwrap().input_shape(), [2]);
    // An input of fixed size takes its part of the features first.
    let fixed = import(&sequences(&[Some(1)])).unwrap();
    assert_eq!(fixed.for_width(5).unwrap().unwrap().inputs()[0].shape, [4]);
    assert!(fixed.for_width(1).unwrap().is_none(), "a sequence has at least one position");
    assert!(import(&small()).unwrap().for_width(3).unwrap().is_none(), "no length is free");
}

#[test]
fn a_free_length_within_the_limits_only() {
    let limits = ImportLimits { tensor_elements_max: 1000, ..ImportLimits::default() };
    let file = ModelFile::read(&sequences(&[None]).encode_to_vec(), &limits).unwrap();
    assert!(file.for_width(200).unwrap().is_some());
    assert!(matches!(file.for_width(4000), Err(ImportError::File(FileError::TensorTooLarge { .. }))));
}

#[test]
fn only_one_length_may_be_free() {
    let second = |dims: &[Option<i64>]| {
        let mut model = sequences(&[None]);
        model.graph.as_mut().unwrap().input[1] = input("mask", data_type::FLOAT, dims);
        model
    };
    let error = import(&second(&[None, None])).unwrap_err().to_string();
    assert!(error.contains("input mask: has a second free dimension after the batch"), "{error}");
    let mut other = second(&[None]);
    let renamed = &mut other.graph.as_mut().unwrap().input[1];
    let shape = renamed.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()).unwrap();
    shape.shape.as_mut().unwrap().dim[1].value = Some(DimensionValue::DimParam("words".into()));
    let error = import(&other).unwrap_err().to_string();
    assert!(error.contains("it must have one name in all inputs"), "{error}");
}
