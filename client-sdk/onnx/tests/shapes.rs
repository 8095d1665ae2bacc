//! Slicing, padding, repetition and shape arithmetic, and limits on their cost.

use super::*;

#[test]
fn slices_with_steps_and_positions_outside() {
    let slice = |start: i64, end: i64, step: i64| {
        let nodes = vec![node("Slice", &["x", "start", "end", "axis", "step"], "s", vec![])];
        let one = |name: &str, number| integers(name, &[number]);
        let settings = vec![one("start", start), one("end", end), one("axis", -1), one("step", step)];
        run(17, nodes, settings, &[tensor(&[5], &[0.0, 1.0, 2.0, 3.0, 4.0])])
            .map(|mut found| found.remove(0).elements)
    };
    assert_eq!(slice(1, i64::MAX, 2).unwrap(), [1.0, 3.0]);
    assert_eq!(slice(-1, i64::MIN, -2).unwrap(), [4.0, 2.0, 0.0]);
    assert_eq!(slice(i64::MAX, -4, -1).unwrap(), [4.0, 3.0, 2.0]);
    assert_eq!(slice(i64::MIN, 2, 1).unwrap(), [0.0, 1.0]);
    assert_eq!(slice(0, 5, i64::MAX).unwrap(), [0.0]);
    assert_eq!(slice(4, 0, i64::MIN).unwrap(), [4.0]);
    assert!(slice(3, 3, 1).unwrap().is_empty());
    assert!(slice(0, 5, 0).unwrap_err().to_string().contains("a step of 0"));
}

#[test]
fn padding_of_every_mode_and_cutting_off() {
    let pad = |mode: &'static str, before: i64, after: i64| {
        let nodes = vec![node("Pad", &["x", "pads", "number"], "p", vec![text("mode", mode)])];
        let settings = vec![integers("pads", &[before, after]), floats("number", &[], &[9.0])];
        output(nodes, settings, &[tensor(&[3], &[1.0, 2.0, 3.0])]).elements
    };
    assert_eq!(pad("constant", 1, 2), [9.0, 1.0, 2.0, 3.0, 9.0, 9.0]);
    assert_eq!(pad("constant", -1, 1), [2.0, 3.0, 9.0]);
    assert_eq!(pad("edge", 2, 1), [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]);
    assert_eq!(pad("reflect", 2, 1), [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]);
    assert_eq!(pad("wrap", 1, 2), [3.0, 1.0, 2.0, 3.0, 1.0, 2.0]);
}

#[test]
fn shape_arithmetic_is_known() {
    // To [first dimension, everything else], the way exporters write `flatten`.
    let nodes = vec![
        node("Shape", &["x"], "shape", vec![]),
        node("Gather", &["shape", "zero"], "first", vec![]),
        node("Unsqueeze", &["first", "axes"], "firsts", vec![]),
        node("Concat", &["firsts", "rest"], "target", vec![integer("axis", 0)]),
        node("Reshape", &["x", "target"], "flat", vec![]),
    ];
    let mut zero = integers("zero", &[0]);
    zero.dims.clear();
    let settings = vec![zero, integers("axes", &[0]), integers("rest", &[-1])];
    assert_eq!(output(nodes, settings, &[tensor(&[2, 3, 1], &[1.0; 6])]).shape, [2, 3]);
}

#[test]
fn every_axis_of_a_tensor_of_the_highest_rank_can_be_repeated() {
    let shape = vec![2; 8];
    let x = tensor(&shape, &(0..256).map(f64::from).collect::<Vec<_>>());
    let repeats = integers("repeats", &[2; 8]);
    let nodes = || vec![node("Relu", &["x"], "r", vec![]), node("Tile", &["r", "repeats"], "t", vec![])];
    let found = output(nodes(), vec![repeats], &[x]);
    assert_eq!(found.shape, [4; 8]);
    let expected = |index: usize| (0..8).map(|axis| (index >> (2 * axis) & 1) << axis).sum::<usize>() as f64;
    assert!(found.elements.iter().enumerate().all(|(index, element)| *element == expected(index)));
}

#[test]
fn a_shape_that_is_computed_from_features_is_refused() {
    let model = changed(|graph| {
        graph.node.insert(0, node("Reshape", &["input", "input"], "reshaped", vec![]));
    });
    let message = import(&model).unwrap_err().to_string();
    assert!(message.contains("reads input, which must be known when the model is imported"), "{message}");
}

#[test]
fn nothing_is_made_beyond_the_limits() {
    let huge = || vec![integers("huge", &[1 << 20, 1 << 20]), integers("long", &[1 << 26, 4])];
    let refusal = |nodes: Vec<NodeProto>| {
        run(17, nodes, huge(), &[tensor(&[2, 2], &[1.0; 4])]).unwrap_err().to_string()
    };
    let fill = |name: &str| node("ConstantOfShape", &[name], "filled", vec![]);
    assert!(refusal(vec![fill("huge")]).contains("more elements than the limit"));
    assert!(refusal(vec![fill("long")]).contains("elements in frozen tensors"));
    assert!(
        refusal(vec![node("Tile", &["x", "huge"], "t", vec![])]).contains("more elements than the limit")
    );
    let range = vec![
        node("Constant", &[], "start", vec![float("value_float", 0.0)]),
        node("Constant", &[], "end", vec![float("value_float", 1e30)]),
        node("Constant", &[], "step", vec![float("value_float", 1.0)]),
        node("Range", &["start", "end", "step"], "r", vec![]),
    ];
    assert!(refusal(range).contains("more elements than the limit"));
}

#[test]
fn many_small_constants_count_together() {
    let model = changed(|graph| {
        graph.initializer.push(integers("large", &[1000]));
        for index in 0..20 {
            graph.node.push(node("ConstantOfShape", &["large"], &format!("constant_{index}"), vec![]));
        }
    });
    let limits = ImportLimits { constant_elements_max: 10_000, ..ImportLimits::default() };
    let error = ModelFile::read(&model.encode_to_vec(), &limits).unwrap_err();
    assert!(
        matches!(error, ImportError::File(FileError::TooMany { what: "elements in frozen tensors", .. })),
        "{error}"
    );
}

#[test]
fn three_way_broadcasting_does_not_overflow() {
    let side = |name: &str, axis: usize| {
        let mut dims = [1; 3];
        dims[axis] = 1 << 22;
        let shape = integers(&format!("{name}_shape"), &dims);
        (shape, node("ConstantOfShape", &[&format!("{name}_shape")], name, vec![]))
    };
    let (shapes, mut nodes): (Vec<_>, Vec<_>) =
        [side("a", 0), side("b", 1), side("c", 2)].into_iter().unzip();
    nodes.push(node("Where", &["a", "b", "c"], "w", vec![]));
    let error = run(17, nodes, shapes, &[]).unwrap_err();
    assert!(error.to_string().contains("more elements than the limit"), "{error}");
}
