//! Operators on given numbers, compared with results computed by hand.

use super::*;

#[test]
fn not_and_exclusive_or() {
    let nodes = vec![
        node("Less", &["x", "y"], "less", vec![]),
        node("Not", &["less"], "not", vec![]),
        node("Greater", &["x", "y"], "greater", vec![]),
        node("Xor", &["not", "greater"], "equal", vec![]),
    ];
    let inputs = [tensor(&[3], &[1.0, 2.0, 3.0]), tensor(&[3], &[2.0, 2.0, 2.0])];
    assert_eq!(output(nodes, vec![], &inputs).elements, [0.0, 1.0, 0.0]);
}

#[test]
fn softplus_is_stable_on_both_sides() {
    let found = output(
        vec![node("Softplus", &["x"], "s", vec![])],
        vec![],
        &[tensor(&[4], &[-1000.0, 0.0, 1.0, 1000.0])],
    );
    expect_close(&found.elements, &[0.0, 2f64.ln(), (1.0 + 1f64.exp()).ln(), 1000.0]);
}

#[test]
fn silu_as_exporters_write_it() {
    let nodes = vec![node("Sigmoid", &["x"], "gate", vec![]), node("Mul", &["x", "gate"], "silu", vec![])];
    let found = output(nodes, vec![], &[tensor(&[2], &[1.0, -2.0])]);
    expect_close(&found.elements, &[1.0 / (1.0 + (-1f64).exp()), -2.0 / (1.0 + 2f64.exp())]);
}

#[test]
fn before_operator_set_13_softmax_goes_over_everything_from_its_axis_on() {
    let softmax = || vec![node("Softmax", &["x"], "s", vec![integer("axis", 1)])];
    let x = [tensor(&[1, 2, 2], &[0.0; 4])];
    assert_eq!(run(11, softmax(), vec![], &x).unwrap()[0].elements, [0.25; 4]);
    assert_eq!(run(13, softmax(), vec![], &x).unwrap()[0].elements, [0.5; 4]);
}

#[test]
fn a_convolution_over_one_dimension_with_groups_dilation_and_uneven_padding() {
    let attributes =
        vec![integer("group", 2), integer_list("dilations", &[2]), integer_list("pads", &[1, 2])];
    let nodes = vec![node("Conv", &["x", "filter", "bias"], "c", attributes)];
    let weights =
        vec![floats("filter", &[2, 1, 2], &[1.0, 10.0, 2.0, 20.0]), floats("bias", &[2], &[0.5, 0.0])];
    let found = output(nodes, weights, &[tensor(&[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]);
    assert_eq!(found.shape, [1, 2, 4]);
    // Padded: 0 1 2 3 0 0, read at positions 2 apart.
    expect_close(&found.elements, &[20.5, 31.5, 2.5, 3.5, 100.0, 128.0, 10.0, 12.0]);
}

#[test]
fn a_transposed_convolution_is_the_other_way_round() {
    let attributes = vec![integer_list("strides", &[2]), integer_list("output_padding", &[1])];
    let nodes = vec![node("ConvTranspose", &["x", "filter"], "c", attributes)];
    let weights = vec![floats("filter", &[1, 1, 3], &[1.0, 10.0, 100.0])];
    let found = output(nodes, weights, &[tensor(&[1, 1, 2], &[1.0, 2.0])]);
    expect_close(&found.elements, &[1.0, 10.0, 102.0, 20.0, 200.0, 0.0]);
}

#[test]
fn average_pooling_counts_padding_or_not() {
    let pool = |counts: i64| {
        let attributes = vec![
            integer_list("kernel_shape", &[2]),
            integer_list("strides", &[2]),
            integer_list("pads", &[1, 0]),
            integer("ceil_mode", 1),
            integer("count_include_pad", counts),
        ];
        let nodes = vec![node("AveragePool", &["x"], "p", attributes)];
        output(nodes, vec![], &[tensor(&[1, 1, 4], &[2.0, 4.0, 6.0, 8.0])]).elements
    };
    // The last window reaches one position beyond the padded input; that position never counts.
    expect_close(&pool(0), &[2.0, 5.0, 8.0]);
    expect_close(&pool(1), &[1.0, 5.0, 8.0]);
}

#[test]
fn windows_in_the_padding_are_refused() {
    let attributes = vec![integer_list("kernel_shape", &[2]), integer_list("pads", &[2, 0])];
    let nodes = vec![node("MaxPool", &["x"], "p", attributes)];
    let error = run(17, nodes, vec![], &[tensor(&[1, 1, 2], &[1.0, 2.0])]).unwrap_err();
    assert!(error.to_string().ends_with("has a window that lies entirely in the padding"), "{error}");
}

#[test]
fn group_normalization_scales_groups_before_operator_set_21_and_channels_from_then_on() {
    let group = |opset, scale: &str| {
        let attributes = vec![integer("num_groups", 1), float("epsilon", 0.0)];
        let nodes = vec![node("GroupNormalization", &["x", scale, scale], "g", attributes)];
        let weights = vec![floats("one", &[1], &[2.0]), floats("two", &[2], &[2.0, 3.0])];
        run(opset, nodes, weights, &[tensor(&[1, 2, 1], &[1.0, 3.0])]).map(|found| found[0].elements.clone())
    };
    expect_close(&group(18, "one").unwrap(), &[0.0, 4.0]);
    expect_close(&group(21, "two").unwrap(), &[0.0, 6.0]);
    assert!(group(18, "two").is_err() && group(21, "one").is_err());
}

#[test]
fn einsum_with_broadcasting_sums_and_three_operands() {
    let einsum = |equation: &'static str, names: &[&str], inputs: &[NetworkTensor]| {
        output(vec![node("Einsum", names, "e", vec![text("equation", equation)])], vec![], inputs)
    };
    let (a, b) = (tensor(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), tensor(&[2, 2], &[5.0, 6.0, 7.0, 8.0]));
    let two = [a.clone(), b.clone()];
    assert_eq!(einsum("ij,jk->ki", &["x", "y"], &two).elements, [19.0, 43.0, 22.0, 50.0]);
    assert_eq!(einsum("ij,kj", &["x", "y"], &two).elements, [17.0, 23.0, 39.0, 53.0]);
    assert_eq!(einsum("ij,kl->i", &["x", "y"], &two).elements, [78.0, 182.0]);
    assert_eq!(einsum("ij,ij->", &["x", "y"], &two).elements, [70.0]);
    assert_eq!(einsum("...i,...i->...", &["x", "y"], &two).elements, [17.0, 53.0]);
    let three = [a, b, tensor(&[2], &[1.0, 10.0])];
    assert_eq!(
        einsum("ij,jk,k->i", &["x", "y", "z"], &three).elements,
        [1.0 * 65.0 + 2.0 * 87.0, 3.0 * 65.0 + 4.0 * 87.0]
    );
}
