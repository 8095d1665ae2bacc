//! Recurrent layers with one or two units, compared with the recurrences written out.

use super::*;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

const INPUTS: [f64; 3] = [0.5, -1.0, 2.0];

fn x() -> NetworkTensor {
    tensor(&[3, 1, 1], &INPUTS)
}

fn layer(op_type: &str, inputs: &[&str], outputs: &[&str], attributes: Vec<AttributeProto>) -> NodeProto {
    let mut layer = node(op_type, inputs, "", attributes);
    layer.output = outputs.iter().map(ToString::to_string).collect();
    layer
}

#[test]
fn an_lstm_with_biases_peepholes_and_first_states() {
    let (w, r) = ([0.5, -0.3, 0.8, 1.2], [0.1, 0.4, -0.6, 0.7]);
    let (b, p) = ([0.1, 0.2, 0.3, 0.4, 0.01, 0.02, 0.03, 0.04], [0.25, -0.5, 0.75]);
    let weights = vec![
        floats("W", &[1, 4, 1], &w),
        floats("R", &[1, 4, 1], &r),
        floats("B", &[1, 8], &b),
        floats("H", &[1, 1, 1], &[0.3]),
        floats("C", &[1, 1, 1], &[-0.2]),
        floats("P", &[1, 3], &p),
    ];
    let names = ["x", "W", "R", "B", "", "H", "C", "P"];
    let nodes = vec![layer("LSTM", &names, &["all", "hidden", "cell"], vec![integer("hidden_size", 1)])];
    let found = run(17, nodes, weights, &[x()]).unwrap();
    let (w, r, b, p) = (w.map(f64::from), r.map(f64::from), b.map(f64::from), p.map(f64::from));
    let (mut h, mut c) = (f64::from(0.3f32), f64::from(-0.2f32));
    let mut all = Vec::new();
    for x in INPUTS {
        let z: [f64; 4] = std::array::from_fn(|gate| w[gate] * x + r[gate] * h + b[gate] + b[gate + 4]);
        let (input, forget) = (sigmoid(z[0] + p[0] * c), sigmoid(z[2] + p[2] * c));
        c = forget * c + input * z[3].tanh();
        h = sigmoid(z[1] + p[1] * c) * c.tanh();
        all.push(h);
    }
    assert_eq!(found[0].shape, [3, 1, 1, 1]);
    expect_close(&found[0].elements, &all);
    expect_close(&found[1].elements, &[h]);
    expect_close(&found[2].elements, &[c]);
}

fn gru_by_hand(linear_before_reset: bool) -> f64 {
    let (w, r) = ([0.5f32, -0.3, 0.8].map(f64::from), [0.1f32, 0.4, -0.6].map(f64::from));
    let b = [0.1f32, 0.2, 0.3, 0.01, 0.02, 0.03].map(f64::from);
    let mut h = 0.0;
    for x in INPUTS {
        let update = sigmoid(w[0] * x + r[0] * h + b[0] + b[3]);
        let reset = sigmoid(w[1] * x + r[1] * h + b[1] + b[4]);
        let remembered =
            if linear_before_reset { reset * (r[2] * h + b[5]) } else { r[2] * (reset * h) + b[5] };
        h = (1.0 - update) * (w[2] * x + b[2] + remembered).tanh() + update * h;
    }
    h
}

#[test]
fn a_gru_with_the_reset_before_or_after_the_product() {
    for flag in [0, 1] {
        let weights = vec![
            floats("W", &[1, 3, 1], &[0.5, -0.3, 0.8]),
            floats("R", &[1, 3, 1], &[0.1, 0.4, -0.6]),
            floats("B", &[1, 6], &[0.1, 0.2, 0.3, 0.01, 0.02, 0.03]),
        ];
        let attributes = vec![integer("linear_before_reset", flag)];
        let nodes = vec![layer("GRU", &["x", "W", "R", "B"], &["", "last"], attributes)];
        let nodes = [nodes, vec![node("Identity", &["last"], "result", vec![])]].concat();
        expect_close(&output(nodes, weights, &[x()]).elements, &[gru_by_hand(flag == 1)]);
    }
}

#[test]
fn both_directions_and_the_batch_in_front() {
    let weights = vec![floats("W", &[2, 1, 1], &[0.5, 0.25]), floats("R", &[2, 1, 1], &[-0.5, 2.0])];
    let run_layer = |layout: i64, shape: &[usize]| {
        let attributes = vec![text("direction", "bidirectional"), integer("layout", layout)];
        let nodes = vec![layer("RNN", &["x", "W", "R"], &["all", "last"], attributes)];
        run(17, nodes, weights.clone(), &[tensor(shape, &INPUTS)]).unwrap()
    };
    let steps = |w: f64, r: f64, inputs: [f64; 3]| {
        let mut h = 0.0;
        inputs.map(|x| {
            h = f64::tanh(w * x + r * h);
            h
        })
    };
    let [f1, f2, f3] = steps(0.5, -0.5, INPUTS);
    let [b3, b2, b1] = steps(0.25, 2.0, [2.0, -1.0, 0.5]);
    let by_time = run_layer(0, &[3, 1, 1]);
    assert_eq!(by_time[0].shape, [3, 2, 1, 1]);
    expect_close(&by_time[0].elements, &[f1, b1, f2, b2, f3, b3]);
    expect_close(&by_time[1].elements, &[f3, b1]);
    let by_example = run_layer(1, &[1, 3, 1]);
    assert_eq!([&by_example[0].shape[..], &by_example[1].shape].concat(), [1, 3, 2, 1, 1, 2, 1]);
    expect_close(&by_example[0].elements, &by_time[0].elements);
}

#[test]
fn long_sequences_count_against_the_limit() {
    let model = changed(|graph| {
        graph.initializer.push(integers("shape", &[1000, 1, 1]));
        graph.initializer.push(floats("W", &[1, 1, 1], &[0.5]));
        graph.initializer.push(floats("R", &[1, 1, 1], &[0.5]));
        graph.node.push(node("ConstantOfShape", &["shape"], "zeros", vec![]));
        graph.node.push(layer("RNN", &["zeros", "W", "R"], &["all"], vec![]));
    });
    let limits = ImportLimits { graph_nodes_max: 500, ..ImportLimits::default() };
    let error = ModelFile::read(&model.encode_to_vec(), &limits).unwrap_err();
    assert!(
        matches!(error, ImportError::File(FileError::TooMany { what: "operations", limit: 500, .. })),
        "{error}"
    );
}

#[test]
fn what_a_layer_cannot_do_is_refused() {
    let refusal = |attribute: AttributeProto| {
        let weights = vec![floats("W", &[1, 1, 1], &[0.5]), floats("R", &[1, 1, 1], &[0.5])];
        let nodes = vec![layer("RNN", &["x", "W", "R"], &["all"], vec![attribute])];
        run(17, nodes, weights, &[x()]).unwrap_err().to_string()
    };
    assert!(refusal(float("clip", 1.0)).contains("has clip, which is not supported"));
    assert!(refusal(text("direction", "bidirectional")).contains("weights that do not fit"));
    assert!(refusal(text("direction", "sideways")).contains("the unknown direction sideways"));
    assert!(refusal(integer("hidden_size", 2)).contains("weights that do not fit"));
}
