//! `Loop` and `Scan`: the steps are added one after another.

use super::*;

fn value(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: name.into(), r#type: None }
}

/// The body of a loop, as an attribute.
fn body(inputs: &[&str], nodes: Vec<NodeProto>, outputs: &[&str]) -> AttributeProto {
    let graph = GraphProto {
        node: nodes,
        input: inputs.iter().map(|name| value(name)).collect(),
        output: outputs.iter().map(|name| value(name)).collect(),
        ..Default::default()
    };
    AttributeProto {
        name: "body".into(),
        g: Some(Box::new(graph)),
        r#type: attribute_type::GRAPH,
        ..Default::default()
    }
}

/// A loop with these outputs.
fn repeated(op_type: &str, inputs: &[&str], outputs: &[&str], attributes: Vec<AttributeProto>) -> NodeProto {
    let output = outputs.iter().map(ToString::to_string).collect();
    NodeProto { output, ..node(op_type, inputs, "", attributes) }
}

/// Doubles a variable and adds the number of the step. Keeps the variable of each step.
fn doubling(condition: &str) -> AttributeProto {
    let nodes = vec![
        node("Cast", &["step"], "number", vec![integer("to", 1)]),
        node("Add", &["before", "before"], "twice", Vec::new()),
        node("Add", &["twice", "number"], "after", Vec::new()),
        node("Less", &["step", "last"], "is_below", Vec::new()),
        node("Identity", &["goes_on"], "goes_on_again", Vec::new()),
        node("Identity", &["after"], "kept", Vec::new()),
    ];
    body(&["step", "goes_on", "before"], nodes, &[condition, "after", "kept"])
}

fn loop_of(trip_count: &[i64], condition: &str) -> Result<Vec<NetworkTensor>, NetworkError> {
    let count = TensorProto { dims: Vec::new(), ..integers("count", trip_count) };
    let last = TensorProto { dims: Vec::new(), ..integers("last", &[1]) };
    let inputs = [if trip_count.is_empty() { "" } else { "count" }, "", "x"];
    let nodes = vec![repeated("Loop", &inputs, &["end", "all"], vec![doubling(condition)])];
    let initializers = if trip_count.is_empty() { vec![last] } else { vec![count, last] };
    run(17, nodes, initializers, &[tensor(&[2], &[1.0, -1.0])])
}

#[test]
fn a_loop_ends_after_its_trip_count_or_by_its_condition() {
    let found = loop_of(&[3], "goes_on_again").unwrap();
    assert_eq!(found[0], tensor(&[2], &[12.0, -4.0]));
    assert_eq!(found[1], tensor(&[3, 2], &[2.0, -2.0, 5.0, -3.0, 12.0, -4.0]));
    // The condition holds in step 0, and no longer in step 1.
    for trip_count in [&[][..], &[i64::MAX], &[2]] {
        assert_eq!(loop_of(trip_count, "is_below").unwrap()[1], tensor(&[2, 2], &[2.0, -2.0, 5.0, -3.0]));
    }
}

#[test]
fn a_loop_without_a_step_returns_its_first_values() {
    let nodes = |kept: &[&str]| {
        let outputs = [&["end"], kept].concat();
        vec![repeated("Loop", &["count", "", "x"], &outputs, vec![doubling("goes_on_again")])]
    };
    let count = || vec![TensorProto { dims: Vec::new(), ..integers("count", &[0]) }, integers("last", &[1])];
    let x = [tensor(&[2], &[1.0, -1.0])];
    let error = run(17, nodes(&["all"]), count(), &x).unwrap_err().to_string();
    assert!(error.contains("has no step, so the shape of its results is not known"), "{error}");
}

#[test]
fn the_number_of_steps_must_be_known() {
    let unknown = vec![
        node("ReduceSum", &["x"], "sum", vec![integer("keepdims", 0)]),
        repeated("Loop", &["sum", "", "x"], &["end", "all"], vec![doubling("goes_on_again")]),
    ];
    let x = [tensor(&[2], &[1.0, 2.0])];
    let error = run(17, unknown, vec![integers("last", &[1])], &x).unwrap_err().to_string();
    assert!(error.contains("repeats its body as sum says, which must be known"), "{error}");
    let nodes = vec![
        node("ReduceSum", &["before"], "sum", vec![integer("keepdims", 0)]),
        node("Cast", &["sum"], "condition", vec![integer("to", 9)]),
    ];
    let by_data = body(&["step", "goes_on", "before"], nodes, &["condition", "before"]);
    let unknown = vec![repeated("Loop", &["", "", "x"], &["end"], vec![by_data])];
    let error = run(17, unknown, Vec::new(), &x).unwrap_err().to_string();
    assert!(error.contains("repeats its body as condition says, which must be known"), "{error}");
}

#[test]
fn endless_loops_are_refused_even_if_their_steps_compute_nothing() {
    let empty = |nodes| body(&["step", "goes_on", "before"], nodes, &["goes_on", "before"]);
    let endless = |body| vec![repeated("Loop", &["", "", "x"], &["end"], vec![body])];
    let x = [tensor(&[2], &[1.0, 2.0])];
    let error = run(17, endless(empty(Vec::new())), Vec::new(), &x).unwrap_err().to_string();
    assert!(error.contains("has more than 10000 steps"), "{error}");
    let mut inner = empty(Vec::new());
    let count = TensorProto { dims: Vec::new(), ..integers("count", &[9000]) };
    for _ in 0..2 {
        inner = empty(vec![repeated("Loop", &["count", "", "before"], &["inner"], vec![inner])]);
    }
    let error = run(17, endless(inner), vec![count], &x).unwrap_err();
    let NetworkError::Import(ImportError::File(FileError::TooMany { what, limit: 200_000, .. })) = error
    else {
        panic!("{error}");
    };
    assert_eq!(what, "nodes in the steps of loops");
    let mut deep = empty(Vec::new());
    for _ in 0..20 {
        deep = empty(vec![repeated("Loop", &["", "", "before"], &["inner"], vec![deep])]);
    }
    assert!(run(17, endless(deep), Vec::new(), &x).is_err());
}

#[test]
fn a_body_of_other_inputs_and_outputs_is_refused() {
    let x = [tensor(&[2], &[1.0, 2.0])];
    for (inputs, outputs) in [(&["step"][..], &["step"][..]), (&["step", "goes_on", "before"], &["goes_on"])]
    {
        let nodes = vec![repeated("Loop", &["", "", "x"], &["end"], vec![body(inputs, Vec::new(), outputs)])];
        let error = run(17, nodes, Vec::new(), &x).unwrap_err().to_string();
        assert!(error.contains("must have 3 inputs and at least 2 outputs"), "{error}");
    }
    for inputs in [&["x"][..], &["x", ""], &[]] {
        let nodes = vec![repeated("Loop", inputs, &["end"], vec![doubling("is_below")])];
        assert!(run(17, nodes, Vec::new(), &x).is_err());
    }
    assert!(run(17, vec![repeated("Scan", &["x"], &["end"], Vec::new())], Vec::new(), &x).is_err());
}

#[test]
fn a_scan_reads_and_writes_along_any_axis_in_both_directions() {
    let nodes = vec![
        node("Add", &["before", "part"], "after", Vec::new()),
        node("Identity", &["after"], "kept", Vec::new()),
    ];
    let scan = |lists: &[(&str, i64)]| {
        let mut attributes =
            vec![integer("num_scan_inputs", 1), body(&["before", "part"], nodes.clone(), &["after", "kept"])];
        attributes.extend(lists.iter().map(|(name, number)| integer_list(name, &[*number])));
        let nodes = vec![repeated("Scan", &["y", "x"], &["end", "all"], attributes)];
        run(17, nodes, Vec::new(), &[tensor(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), tensor(&[2], &[0.5, 0.5])])
            .unwrap()
    };
    assert_eq!(scan(&[]), [tensor(&[2], &[4.5, 6.5]), tensor(&[2, 2], &[1.5, 2.5, 4.5, 6.5])]);
    let backwards = scan(&[("scan_input_directions", 1), ("scan_output_directions", 1)]);
    assert_eq!(backwards[1].elements, [4.5, 6.5, 3.5, 4.5]);
    let columns = scan(&[("scan_input_axes", -1), ("scan_output_axes", 1)]);
    assert_eq!(columns, [tensor(&[2], &[3.5, 7.5]), tensor(&[2, 2], &[1.5, 3.5, 3.5, 7.5])]);
}

/// A model whose recurrent layer is a `Scan`, with its weights outside of the body.
fn recurrent() -> ModelProto {
    let cell = vec![
        node("MatMul", &["part", "input_weight"], "from_input", Vec::new()),
        node("MatMul", &["before", "state_weight"], "from_state", Vec::new()),
        node("Add", &["from_input", "from_state"], "sum", Vec::new()),
        node("Add", &["sum", "bias"], "biased", Vec::new()),
        node("Tanh", &["biased"], "after", Vec::new()),
    ];
    let attributes = vec![
        integer("num_scan_inputs", 1),
        integer_list("scan_input_axes", &[1]),
        body(&["before", "part"], cell, &["after"]),
    ];
    changed(|graph| {
        graph.node.splice(
            0..0,
            [
                node("Reshape", &["input", "sequence"], "steps", Vec::new()),
                node("Shape", &["input"], "shape", vec![integer("end", 1)]),
                node("Concat", &["shape", "width"], "state_shape", vec![integer("axis", 0)]),
                node("ConstantOfShape", &["state_shape"], "zeros", Vec::new()),
                repeated("Scan", &["zeros", "steps"], &["last"], attributes),
            ],
        );
        graph.node[5].input[0] = "last".into();
        graph.initializer.extend([
            integers("sequence", &[0, 2, 1]),
            integers("width", &[2]),
            floats("input_weight", &[1, 2], &[0.5, -0.25]),
            floats("state_weight", &[2, 2], &[0.5, 0.25, -0.5, 0.75]),
            floats("bias", &[2], &[0.125, 0.25]),
        ]);
    })
}

#[test]
fn the_weights_that_a_body_reads_are_trained() {
    let file = import(&recurrent()).unwrap();
    let names: Vec<&str> = file.parameters().iter().map(|one| &*one.name).collect();
    assert_eq!(names[4..], ["input_weight", "state_weight", "bias"]);
    let trained = |one: &folkmoot_onnx::ParameterSpec| one.kind == folkmoot_onnx::ParameterKind::Trained;
    assert!(file.parameters().iter().all(trained));
    let lowered = file.lower(4, Mode::Training).unwrap();
    assert_eq!(lowered.graph.shape(lowered.output), [4, 2]);
    let mut exported = file.initial_weights();
    exported.iter_mut().for_each(|weight| *weight += 1.0);
    let again = ModelFile::read(&file.export_onnx(&exported).unwrap(), &ImportLimits::default()).unwrap();
    assert_eq!(again.initial_weights(), exported);
}

#[test]
fn the_gradient_of_a_scan_is_that_of_its_steps() {
    let nodes = vec![
        node("MatMul", &["part", "y"], "product", Vec::new()),
        node("Add", &["product", "before"], "sum", Vec::new()),
        node("Tanh", &["sum"], "after", Vec::new()),
        node("Identity", &["after"], "kept", Vec::new()),
    ];
    let attributes =
        vec![integer("num_scan_inputs", 1), body(&["before", "part"], nodes, &["after", "kept"])];
    let graph = GraphProto {
        node: vec![repeated("Scan", &["z", "x"], &["end", "all"], attributes)],
        input: ["x", "y", "z"].iter().map(|name| float_value(name)).collect(),
        output: vec![value("end"), value("all")],
        ..Default::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 17 }];
    let model = ModelProto { graph: Some(graph), opset_import, ..Default::default() };
    let network = Network::from_onnx(&model.encode_to_vec(), &ImportLimits::default()).unwrap();
    let numbers = |count: usize| (0..count).map(|index| (index as f64 * 0.7).sin()).collect::<Vec<_>>();
    let inputs =
        [tensor(&[3, 2, 2], &numbers(12)), tensor(&[2, 2], &numbers(4)), tensor(&[2, 2], &numbers(4))];
    let difference = network.gradient_difference(&inputs, 1).unwrap().unwrap();
    assert!(difference < 1e-6, "{difference:e}");
}

fn float_value(name: &str) -> ValueInfoProto {
    let tensor_type = Some(TensorTypeProto { elem_type: data_type::FLOAT, shape: None });
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type }) }
}
