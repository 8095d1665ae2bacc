//! Models with several outputs: which can be trained, and which are left out.

use super::*;

/// Adds an output of this element type to a graph.
fn add_output(graph: &mut GraphProto, name: &str, elem_type: i32) {
    let tensor_type = Some(TensorTypeProto { elem_type, shape: None });
    let r#type = Some(TypeProto { tensor_type });
    graph.output.push(ValueInfoProto { name: name.into(), r#type });
}

/// Adds a node with one output of the graph.
fn add(graph: &mut GraphProto, op_type: &str, input: &str, name: &str, elem_type: i32) {
    graph.node.push(node(op_type, &[input], name, Vec::new()));
    add_output(graph, name, elem_type);
}

#[test]
fn every_output_has_its_shape_or_the_reason_why_it_is_not_trained() {
    let model = changed(|graph| {
        graph.node.push(node("ArgMax", &["logits"], "class", vec![integer("axis", 1)]));
        add_output(graph, "class", data_type::INT64);
        add(graph, "Relu", "layer_1.weight", "weights", data_type::FLOAT);
        add_output(graph, "layer_1.activated", data_type::FLOAT);
        graph.output.rotate_left(1);
    });
    let file = import(&model).unwrap();
    let outputs: Vec<_> =
        file.outputs().iter().map(|one| (&*one.name, &one.shape[..], &one.obstacle)).collect();
    assert_eq!(
        outputs,
        [
            ("class", &[1][..], &Some(Obstacle::Integers)),
            ("weights", &[], &Some(Obstacle::Shape(vec![3, 2]))),
            ("layer_1.activated", &[3], &None),
            ("logits", &[2], &None),
        ]
    );
    assert_eq!(file.first_output().name, "layer_1.activated");
    assert_eq!(file.output("logits").unwrap().shape, [2]);
    let refused = |name: &str| file.output(name).unwrap_err().to_string();
    assert!(refused("class").ends_with("from class, because it has elements that are not floats"));
    assert!(refused("weights").contains("has shape [3, 2], which does not begin with the batch"));
    let missing = refused("nothing");
    assert!(missing.contains("no value named nothing; its outputs are class, weights, layer_1"), "{missing}");
}

#[test]
fn a_value_inside_of_the_graph_can_be_the_output() {
    let file = import(&small()).unwrap();
    assert_eq!(file.output("layer_1.sum").unwrap().shape, [3]);
    let lowered = file.lower_frozen(5, Mode::Training, &[], "layer_1.sum").unwrap();
    assert_eq!(lowered.graph.shape(lowered.output), [5, 3]);
    assert!(file.output("layer_1.weight").is_err(), "a tensor of the weights is no output");
    assert!(file.output("").is_err());
}

#[test]
fn an_output_of_unsupported_operators_is_left_out_and_its_obstacles_are_listed() {
    let model = changed(|graph| {
        add(graph, "Unique", "logits", "kinds", data_type::FLOAT);
        add(graph, "NonZero", "kinds", "places", data_type::FLOAT);
        add(graph, "TfIdfVectorizer", "logits", "words", data_type::STRING);
        // Only the output that is left out reads this tensor, so it is no weight.
        graph.initializer.push(floats("shift", &[2], &[1.0, 2.0]));
        graph.node.push(node("Add", &["kinds", "shift"], "shifted", Vec::new()));
    });
    let file = import(&model).unwrap();
    assert_eq!(file.parameters().len(), 4);
    let outputs: Vec<&str> = file.outputs().iter().map(|output| &*output.name).collect();
    assert_eq!(outputs, ["logits", "kinds", "places", "words"]);
    let reason = file.output("places").unwrap_err().to_string();
    for text in ["Unique (node of kinds): rewrite", "; NonZero (node of places): rewrite"] {
        assert!(reason.contains(text), "{reason}");
    }
    assert_eq!(file.outputs()[3].obstacle, Some(Obstacle::Integers));
    assert!(!file.operators().contains_key("Unique"));
}

#[test]
fn unsupported_operators_are_listed_if_every_output_depends_on_one() {
    let error = refusal(|graph| {
        graph.output.clear();
        add(graph, "Unique", "logits", "kinds", data_type::FLOAT);
        add(graph, "NonZero", "logits", "places", data_type::FLOAT);
    });
    let ImportError::UnsupportedOperators { operators } = error else { panic!("{error}") };
    let names: Vec<&str> = operators.iter().map(|one| &*one.operator).collect();
    assert_eq!(names, ["Unique", "NonZero"]);
}

#[test]
fn a_branch_keeps_the_values_that_it_reads() {
    let model = changed(|graph| {
        let branch = |name: &str, read: &str| {
            let inner = GraphProto {
                node: vec![node("Neg", &[read], name, Vec::new())],
                output: vec![ValueInfoProto { name: name.into(), r#type: None }],
                ..Default::default()
            };
            Some(Box::new(inner))
        };
        let attribute = |name: &str, g| AttributeProto {
            name: name.into(),
            g,
            r#type: attribute_type::GRAPH,
            ..Default::default()
        };
        graph.node.push(node("Abs", &["logits"], "size", Vec::new()));
        let branches = vec![
            attribute("then_branch", branch("one", "size")),
            attribute("else_branch", branch("other", "logits")),
        ];
        graph.initializer.push(TensorProto {
            name: "condition".into(),
            data_type: data_type::BOOL,
            int32_data: vec![1],
            ..Default::default()
        });
        graph.node.push(node("If", &["condition"], "chosen", branches));
        add_output(graph, "chosen", data_type::FLOAT);
        add(graph, "Unique", "logits", "kinds", data_type::FLOAT);
    });
    assert_eq!(import(&model).unwrap().output("chosen").unwrap().shape, [2]);
}
