//! Composed operators, where the ONNX project's tests do not look: signs, ties, infinities, old opsets and refusals.

use folkmoot_graph::autodiff::gradients;
use folkmoot_graph::op::Reduction;
use folkmoot_graph::program::Program;
use folkmoot_graph::{Source, ValueId};

use super::*;
use folkmoot_onnx::Mode;

fn vector(elements: &[f64]) -> NetworkTensor {
    tensor(&[elements.len()], elements)
}

fn refusal_by(nodes: Vec<NodeProto>, initializers: Vec<TensorProto>, inputs: &[NetworkTensor]) -> String {
    run(23, nodes, initializers, inputs).unwrap_err().to_string()
}

#[test]
fn remainders_have_the_sign_of_the_divisor_or_of_the_dividend() {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for divisor in [3.0, -3.0, 2.5, -0.75] {
        for dividend in [-7.0, -6.0, -1.0, 0.0, 1.0, 6.0, 7.0, 8_388_607.0, -16_777_213.0] {
            a.push(dividend);
            b.push(divisor);
        }
    }
    for fmod in [0, 1] {
        let nodes = vec![node("Mod", &["x", "y"], "r", vec![integer("fmod", fmod)])];
        let found = output(nodes, vec![], &[vector(&a), vector(&b)]).elements;
        for ((found, a), b) in found.iter().zip(&a).zip(&b) {
            let expected = if fmod == 1 { a % b } else { a - b * (a / b).floor() };
            assert!(
                (found - expected).abs() < 1e-9,
                "{a} mod {b} with fmod {fmod} is {found}, not {expected}"
            );
        }
    }
}

#[test]
fn halves_are_rounded_to_even_numbers() {
    let x = [-2.5, -1.5, -0.5, -0.3, 0.0, 0.5, 1.5, 2.5, 0.499_999_999_999_999_9, 1e15, f64::INFINITY];
    let found = output(vec![node("Round", &["x"], "r", vec![])], vec![], &[vector(&x)]).elements;
    assert_eq!(found, x.map(f64::round_ties_even));
    let found = output(vec![node("Ceil", &["x"], "r", vec![])], vec![], &[vector(&x)]).elements;
    assert_eq!(found, x.map(f64::ceil));
}

#[test]
fn infinities_and_nan_are_told_apart() {
    let x = [1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let of = |operator: &str, attributes: Vec<AttributeProto>| {
        output(vec![node(operator, &["x"], "r", attributes)], vec![], &[vector(&x)]).elements
    };
    assert_eq!(of("IsNaN", vec![]), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(of("IsInf", vec![]), [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(of("IsInf", vec![integer("detect_negative", 0)]), [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(of("IsInf", vec![integer("detect_positive", 0)]), [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn infinities_stay_where_they_are_in_triangles_and_running_sums() {
    let infinite = f64::INFINITY;
    let upper = vec![node("Trilu", &["x"], "r", vec![integer("upper", 1)])];
    let x = tensor(&[2, 2], &[1.0, 2.0, infinite, 4.0]);
    assert_eq!(output(upper, vec![], &[x]).elements, [1.0, 2.0, 0.0, 4.0]);
    let sum = vec![node("CumSum", &["x", "axis"], "r", vec![])];
    let x = vector(&[1.0, 2.0, infinite, 4.0, 5.0]);
    let found = output(sum, vec![integers("axis", &[0])], &[x]).elements;
    assert_eq!(found, [1.0, 3.0, infinite, infinite, infinite]);
}

#[test]
fn the_gradient_of_a_norm_of_zeros_is_0() {
    let model = changed(|graph| {
        graph.initializer.truncate(1);
        graph.initializer[0] = floats("zeros", &[2, 3], &[0.0; 6]);
        graph.node = vec![
            node("MatMul", &["input", "zeros"], "y", vec![]),
            node("ReduceL2", &["y"], "norm", vec![integer_list("axes", &[1])]),
        ];
        graph.output[0].name = "norm".into();
    });
    let mut lowered = import(&model).unwrap().lower(2, Mode::Training).unwrap();
    let loss = lowered.graph.reduce(Reduction::Sum, lowered.output, &[0, 1]);
    let is_weight = |id: &ValueId| lowered.graph.values[id.0].source == Source::Parameter(0);
    let weight = (0..lowered.graph.values.len()).map(ValueId).find(is_weight).unwrap();
    let slope = gradients(&mut lowered.graph, loss, &[weight]).unwrap()[0].unwrap();
    let mut program =
        Program::<f32>::compile(&lowered.graph, &[loss, slope], std::slice::from_ref(&(0..6))).unwrap();
    program.run(&[0.0; 6], &[&[1.0, 2.0, 3.0, 4.0]], 0);
    assert_eq!((program.output(0), program.output(1)), (&[0.0][..], &[0.0; 6][..]));
}

#[test]
fn the_logarithm_of_exponentials_of_large_and_infinite_numbers() {
    let nodes = || vec![node("ReduceLogSumExp", &["x"], "r", vec![integer_list("axes", &[1])])];
    let low = f64::NEG_INFINITY;
    let x = tensor(&[3, 2], &[1000.0, 1000.0, low, low, low, 3.0]);
    let found = run(13, nodes(), vec![], &[x]).unwrap().remove(0).elements;
    assert_eq!(found, [1000.0 + 2f64.ln(), low, 3.0]);
}

#[test]
fn old_resizing_reads_the_position_divided_by_the_scale() {
    let x = || tensor(&[1, 1, 1, 2], &[1.0, 3.0]);
    let scales = || vec![floats("scales", &[4], &[1.0, 1.0, 1.0, 2.0])];
    let of = |opset: i64, operator: &str, mode: &'static str| {
        let nodes = vec![node(operator, &["x", "scales"], "r", vec![text("mode", mode)])];
        run(opset, nodes, scales(), &[x()]).unwrap().remove(0).elements
    };
    for (opset, operator) in [(9, "Upsample"), (10, "Resize")] {
        assert_eq!(of(opset, operator, "nearest"), [1.0, 1.0, 3.0, 3.0]);
        assert_eq!(of(opset, operator, "linear"), [1.0, 2.0, 3.0, 3.0]);
    }
}

#[test]
fn the_size_may_be_computed_from_the_shape() {
    let nodes = vec![
        node("Shape", &["x"], "shape", vec![]),
        node("Slice", &["shape", "zero", "two"], "batch", vec![]),
        node("Concat", &["batch", "plane"], "size", vec![integer("axis", 0)]),
        node("Resize", &["x", "", "", "size"], "r", vec![]),
    ];
    let settings = vec![integers("zero", &[0]), integers("two", &[2]), integers("plane", &[1, 4])];
    let found = output(nodes, settings, &[tensor(&[2, 1, 1, 2], &[1.0, 2.0, 3.0, 4.0])]);
    assert_eq!(
        (found.shape, found.elements),
        (vec![2, 1, 1, 4], vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0])
    );
}

#[test]
fn unsupported_resizing_is_refused_with_what_is_supported() {
    let scales = || vec![floats("scales", &[1], &[0.5])];
    let of = |attributes| {
        let nodes = vec![node("Resize", &["x", "", "scales"], "r", attributes)];
        refusal_by(nodes, scales(), &[vector(&[1.0, 2.0])])
    };
    let mode = |name: &'static str| vec![text("coordinate_transformation_mode", name)];
    assert!(of(vec![integer("antialias", 1)]).contains("export the model without it"));
    assert!(of(mode("tf_crop_and_resize")).contains("align_corners and asymmetric are supported"));
    assert!(of(vec![text("mode", "lanczos")]).contains("nearest, linear and cubic are supported"));
    let nodes = vec![node("Resize", &["x", "", "", "sizes"], "r", vec![])];
    let error = refusal_by(nodes, vec![integers("sizes", &[1 << 40])], &[vector(&[1.0, 2.0])]);
    assert!(error.contains("resizes an axis of 2 positions to 1099511627776"), "{error}");
}

#[test]
fn blocks_that_do_not_divide_are_refused() {
    let x = || tensor(&[1, 6, 3, 4], &[0.0; 72]);
    let of = |operator: &str, size: i64| {
        refusal_by(vec![node(operator, &["x"], "r", vec![integer("blocksize", size)])], vec![], &[x()])
    };
    assert!(of("DepthToSpace", 2).contains("cannot divide 6 channels into blocks of 2 by 2"));
    assert!(of("SpaceToDepth", 2).contains("cannot divide 3 by 4 positions into blocks of 2"));
    assert!(of("SpaceToDepth", 0).contains("it must be from 1 to 32768"));
}

#[test]
fn positions_below_0_count_from_the_end_of_their_own_axis() {
    let nodes = vec![node("GatherND", &["x", "places"], "r", vec![])];
    let places = TensorProto { dims: vec![3, 2], ..integers("places", &[-1, -3, 0, -1, -2, 1]) };
    let x = tensor(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(output(nodes, vec![places], &[x]).elements, [3.0, 2.0, 1.0]);
}

#[test]
fn a_query_that_sees_no_key_gives_0() {
    let nodes = || vec![node("Attention", &["x", "x", "x", "y"], "r", vec![])];
    let x = tensor(&[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let mask = tensor(&[2, 2], &[f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY]);
    let found = run(23, nodes(), vec![], &[x.clone(), mask.clone()]).unwrap().remove(0).elements;
    assert_eq!(found, [0.0, 0.0, 1.0, 2.0]);
    let both = vec![node("Attention", &["x", "x", "x", "", "x", "x", "lengths"], "r", vec![])];
    let error = refusal_by(both, vec![integers("lengths", &[2])], &[x]);
    assert!(error.contains("has both a cache and nonpad_kv_seqlen"), "{error}");
}

/// The values have as many elements as they should, so only their shape shows the fault.
#[test]
fn values_with_other_heads_than_the_keys_are_refused() {
    let nodes = vec![node("Attention", &["x", "x", "y"], "r", vec![])];
    let (x, y) = (tensor(&[1, 2, 4, 1], &[1.0; 8]), tensor(&[1, 4, 2, 1], &[1.0; 8]));
    let error = refusal_by(nodes, vec![], &[x, y]);
    let expected =
        "reads input 2 of shape [1, 4, 2, 1] as [N, heads, time, features]; it must be [1, 2, 4, 1]";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn rotary_positions_outside_of_the_table_are_refused() {
    let nodes = vec![node("RotaryEmbedding", &["x", "cosine", "sine", "ids"], "r", vec![])];
    let table = |name: &str| floats(name, &[3, 1], &[1.0; 3]);
    let ids = TensorProto { dims: vec![1, 2], ..integers("ids", &[0, 3]) };
    let x = tensor(&[1, 1, 2, 2], &[1.0; 4]);
    let error = refusal_by(nodes, vec![table("cosine"), table("sine"), ids], &[x]);
    assert!(error.contains("reads position 3 of an axis of size 3"), "{error}");
}

/// Returns the element of a volume at `position`, or 0 in the padding.
fn at(x: &[f64], size: [usize; 3], channel: usize, position: [isize; 3]) -> f64 {
    let inside = (0..3).all(|axis| (0..size[axis] as isize).contains(&position[axis]));
    let [depth, row, column] = position.map(|p| p.max(0) as usize);
    if inside { x[((channel * size[0] + depth) * size[1] + row) * size[2] + column] } else { 0.0 }
}

#[test]
fn a_convolution_of_volumes_is_the_sum_over_its_window() {
    let (size, kernel, strides, dilations) = ([5, 6, 4], [3, 2, 2], [2, 1, 2], [1, 2, 1]);
    let (before, after) = ([1, 0, 1], [2, 1, 0]);
    let x: Vec<f64> = (0..4 * 120).map(|index| f64::from(index * 7 % 13) - 6.0).collect();
    let filter: Vec<f32> = (0..6 * 2 * 12).map(|index| (index * 5 % 11) as f32 - 5.0).collect();
    let list =
        |name, numbers: &[usize]| integer_list(name, &numbers.iter().map(|n| *n as i64).collect::<Vec<_>>());
    let attributes = vec![
        integer("group", 2),
        list("strides", &strides),
        list("dilations", &dilations),
        list("pads", &[before, after].concat()),
    ];
    let nodes = vec![node("Conv", &["x", "filter"], "c", attributes)];
    let weights = vec![floats("filter", &[6, 2, 3, 2, 2], &filter)];
    let found = output(nodes, weights, &[tensor(&[1, 4, 5, 6, 4], &x)]);
    let outputs = [0, 1, 2].map(|axis| {
        (size[axis] + before[axis] + after[axis] - dilations[axis] * (kernel[axis] - 1) - 1) / strides[axis]
            + 1
    });
    assert_eq!(found.shape, [&[1, 6][..], &outputs].concat());
    for (index, found) in found.elements.iter().enumerate() {
        let volume = outputs.iter().product::<usize>();
        let (m, rest) = (index / volume, index % volume);
        let place = [rest / (outputs[1] * outputs[2]), rest / outputs[2] % outputs[1], rest % outputs[2]];
        let mut sum = 0.0;
        for tap in 0..2 * 12 {
            let (channel, offset) = (tap / 12, tap % 12);
            let offset = [offset / 4, offset / 2 % 2, offset % 2];
            let position = [0, 1, 2].map(|axis| {
                (place[axis] * strides[axis] + offset[axis] * dilations[axis]) as isize
                    - before[axis] as isize
            });
            sum += f64::from(filter[m * 24 + tap]) * at(&x, size, m / 3 * 2 + channel, position);
        }
        assert_eq!(*found, sum, "element {index}");
    }
}
