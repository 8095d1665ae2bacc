//! Compares a model that uses every supported operator with arithmetic in double precision. `folkmoot-inference`
//! compares the same model with tract.

use super::*;
use folkmoot_graph::program::Program;
use folkmoot_onnx::Mode;
use folkmoot_onnx_file::proto::{DimensionProto, DimensionValue};

/// Input `[N, 2, 1, 2]`; `y = sigmoid(1.5 * flat(tanh(relu(x) * 0.5 - shift)) @ W^T + 0.5 * b) @ V + c`.
fn everything() -> ModelProto {
    let half = AttributeProto {
        name: "value".into(),
        t: Some(floats("half", &[], &[0.5])),
        r#type: 4,
        ..Default::default()
    };
    changed(|graph| {
        let tensor_type = graph.input[0].r#type.as_mut().unwrap().tensor_type.as_mut().unwrap();
        let dims = [DimensionValue::DimParam("N".into())];
        let dims = dims.into_iter().chain([2, 1, 2].map(DimensionValue::DimValue));
        tensor_type.shape.as_mut().unwrap().dim =
            dims.map(|value| DimensionProto { value: Some(value) }).collect();
        graph.initializer = vec![
            integers("copy_and_infer", &[0, -1]),
            floats("shift", &[1, 2], &[0.25, -0.5]),
            floats("W", &[3, 4], &[0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8, -0.9, 1.0, 1.1, -1.2]),
            floats("b", &[3], &[0.3, -0.2, 0.1]),
            floats("V", &[3, 2], &[1.0, -1.0, 0.5, 0.25, -0.75, 2.0]),
            floats("c", &[2], &[0.05, -0.05]),
        ];
        let gemm = vec![float("alpha", 1.5), float("beta", 0.5), integer("transB", 1)];
        graph.node = vec![
            node("Constant", &[], "half", vec![half]),
            node("Identity", &["shift"], "same_shift", vec![]),
            node("Relu", &["input"], "positive", vec![]),
            node("Mul", &["positive", "half"], "scaled", vec![]),
            node("Sub", &["scaled", "same_shift"], "shifted", vec![]),
            node("Tanh", &["shifted"], "bent", vec![]),
            node("Flatten", &["bent"], "flat", vec![integer("axis", -3)]),
            node("Reshape", &["flat", "copy_and_infer"], "row", vec![]),
            node("Gemm", &["row", "W", "b"], "hidden", gemm),
            node("Sigmoid", &["hidden"], "squashed", vec![]),
            node("MatMul", &["squashed", "V"], "product", vec![]),
            node("Add", &["product", "c"], "logits", vec![]),
        ];
    })
}

fn by_hand(x: [f64; 4]) -> [f64; 2] {
    let shift = [0.25, -0.5, 0.25, -0.5];
    let w = [[0.1, 0.2, -0.3, 0.4], [0.5, -0.6, 0.7, 0.8], [-0.9, 1.0, 1.1, -1.2]];
    let (b, v, c) = ([0.3, -0.2, 0.1], [[1.0, -1.0], [0.5, 0.25], [-0.75, 2.0]], [0.05, -0.05]);
    let bent: Vec<f64> = (0..4).map(|i| (x[i].max(0.0) * 0.5 - shift[i]).tanh()).collect();
    let mut y: [f64; 2] = c;
    for row in 0..3 {
        let sum: f64 = (0..4).map(|i| bent[i] * w[row][i]).sum();
        let squashed = 1.0 / (1.0 + (-(1.5 * sum + 0.5 * b[row])).exp());
        y[0] += squashed * v[row][0];
        y[1] += squashed * v[row][1];
    }
    y
}

const X: [[f64; 4]; 2] = [[1.0, -2.0, 0.5, 3.0], [-1.0, 0.25, 4.0, -0.125]];

#[test]
fn the_forward_pass_is_right() {
    let model = import(&everything()).unwrap();
    let names: Vec<&str> = model.parameters().iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["shift", "W", "b", "V", "c"]);
    assert_eq!((model.input_shape(), model.output_shape()), (&[2, 1, 2][..], &[2][..]));

    let lowered = model.lower(X.len(), Mode::Inference).unwrap();
    let mut start = 0;
    let ranges: Vec<_> = model
        .parameters()
        .iter()
        .map(|spec| {
            let range = start..start + spec.element_count();
            start = range.end;
            range
        })
        .collect();
    let mut program = Program::<f32>::compile(&lowered.graph, &[lowered.output], &ranges).unwrap();
    let features: Vec<f32> = X.iter().flatten().map(|value| *value as f32).collect();
    program.run(&model.initial_weights(), &[&features], 0);
    let targets: Vec<f64> = X.iter().flat_map(|x| by_hand(*x)).collect();
    let found = program.output(0).iter().map(|value| f64::from(*value));
    let squares = found.zip(&targets).map(|(found, target)| (found - target).powi(2));
    assert_eq!(program.output(0).len(), targets.len());
    // Half of the sum is the total of the two examples' mean squared errors: 0 up to rounding.
    assert!(squares.sum::<f64>() / 2.0 < 1e-11, "{:?} instead of {targets:?}", program.output(0));
}

/// `tests/agreement.rs` of `folkmoot-inference` reads the file. `FOLKMOOT_BLESS=1` rewrites it.
#[test]
fn the_file_for_tract_is_this_model() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/operators.onnx");
    let onnx = everything().encode_to_vec();
    if std::env::var_os("FOLKMOOT_BLESS").is_some() {
        std::fs::write(path, &onnx).unwrap();
    }
    assert!(
        std::fs::read(path).unwrap() == onnx,
        "{path} is out of date: run this test with FOLKMOOT_BLESS=1"
    );
}

#[test]
fn reshapes_that_do_not_come_out_even_are_refused() {
    let with_shape = |shape: &[i64]| {
        let mut model = everything();
        model.graph.as_mut().unwrap().initializer[0] = integers("copy_and_infer", shape);
        import(&model).map(|_| ()).unwrap_err().to_string()
    };
    assert!(with_shape(&[-1, 3]).contains("cannot infer the dimension -1"));
    assert!(with_shape(&[-1, -1]).contains("invalid dimension -1"));
    assert!(with_shape(&[2, 4]).contains("incompatible shapes for reshaping: [3, 4] and [2, 4]"));
    assert!(with_shape(&[0, 0, 0]).contains("copies a dimension that the input does not have"));
    assert!(with_shape(&[1; 9]).contains("9 dimensions; the limit is 8"));
    assert!(
        with_shape(&[-1, 2]).contains("incompatible shapes"),
        "the batch became {}",
        with_shape(&[-1, 2])
    );
}
