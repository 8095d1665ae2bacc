//! Functions of the model itself, called from the graph and from a branch of `If`.

use super::*;

/// `[N, 4]` to `[N, 3]`: a gate, twice the gate of its result, and a layer.
pub(super) fn model() -> ModelProto {
    let branch = |factor: &str| {
        vec![
            node("Mul", &["first", factor], "scaled", vec![]),
            node("Gate", &["scaled", ""], "gated", vec![]).of("local"),
        ]
    };
    let nodes = vec![
        node("MatMul", &["x", "W"], "y", vec![]),
        node("Gate", &["y", "largest"], "first", vec![float("alpha", 0.5)]).of("local"),
        node("Shape", &["first"], "shape", vec![]),
        node("Gather", &["shape", "one"], "width", vec![]),
        node("Equal", &["width", "five"], "is_five", vec![]),
        choice("is_five", "out", branch),
        node("MatMul", &["out", "V"], "logits", vec![]),
    ];
    let initializers = vec![
        weights("W", &[4, 5]),
        weights("V", &[5, 3]),
        floats("largest", &[], &[0.75]),
        integers_of("one", &[], &[1]),
        integers_of("five", &[], &[5]),
    ];
    let mut model = super::model(17, &[4], nodes, initializers);
    model.opset_import.push(OperatorSetIdProto { domain: "local".into(), version: 1 });
    model.functions.push(gate());
    model
}

/// `tanh(clip(leaky_relu(in)))`, with a slope of 0.25 if the call names none.
fn gate() -> FunctionProto {
    FunctionProto {
        name: "Gate".into(),
        domain: "local".into(),
        input: vec!["in".into(), "most".into()],
        output: vec!["out".into()],
        node: vec![
            node(
                "LeakyRelu",
                &["in"],
                "scaled",
                vec![AttributeProto { ref_attr_name: "alpha".into(), ..float("alpha", 0.0) }],
            ),
            node("Clip", &["scaled", "", "most"], "clipped", vec![]),
            node("Tanh", &["clipped"], "out", vec![]),
        ],
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
        attribute_proto: vec![float("alpha", 0.25)],
    }
}

trait OfDomain {
    fn of(self, domain: &str) -> Self;
}

impl OfDomain for NodeProto {
    fn of(self, domain: &str) -> Self {
        Self { domain: domain.into(), ..self }
    }
}

/// The lowered graph of the model is the same as without functions and with the chosen branch alone.
#[test]
fn functions_and_branches_are_replaced_by_their_nodes() {
    let mut flat = model();
    flat.functions.clear();
    let two = AttributeProto { t: Some(floats("two", &[], &[2.0])), r#type: 4, ..float("value", 0.0) };
    let leaky = |from: &str, to: &str, alpha| node("LeakyRelu", &[from], to, vec![float("alpha", alpha)]);
    graph(&mut flat).node.splice(
        1..6,
        [
            leaky("y", "leaky", 0.5),
            node("Clip", &["leaky", "", "largest"], "clipped", vec![]),
            node("Tanh", &["clipped"], "first", vec![]),
            node("Constant", &[], "two", vec![two]),
            node("Mul", &["first", "two"], "scaled", vec![]),
            leaky("scaled", "again", 0.25),
            node("Clip", &["again"], "unclipped", vec![]),
            node("Tanh", &["unclipped"], "out", vec![]),
        ],
    );
    let operators = |model: &ModelProto| -> Vec<_> {
        let lowered = import(model).unwrap().lower(2, Mode::Inference).unwrap();
        lowered.graph.nodes.iter().map(|node| node.op.clone()).collect()
    };
    assert_eq!(operators(&model()), operators(&flat));
}

/// Two nodes `If` may use the same names inside of their branches, and the graph never reads them.
#[test]
fn names_inside_of_a_branch_end_with_it() {
    let mut twice = model();
    let nodes = &mut graph(&mut twice).node;
    let mut second = nodes[5].clone();
    second.output = vec!["again".into()];
    nodes.insert(6, second);
    nodes[7].input[0] = "again".into();
    import(&twice).unwrap();
    let error = refusal_of(model(), |model| graph(model).node[6].input[0] = "gated".into());
    assert!(error.contains("gated"), "{error}");
}

#[test]
fn functions_that_call_themselves_are_refused() {
    let error = refusal_of(model(), |model| {
        model.functions[0].node = vec![node("Gate", &["in"], "out", vec![]).of("local")];
    });
    assert!(error.contains("calls functions more than 32 deep"), "{error}");
    // Two calls in each of 30 functions would be a billion calls without a node.
    let error = refusal_of(model(), |model| {
        let call = |name: &str, output: &str| node(name, &["in"], output, vec![]).of("local");
        let function = |index: usize| FunctionProto {
            name: format!("F{index}"),
            domain: "local".into(),
            input: vec!["in".into()],
            output: vec!["out".into()],
            node: match index {
                0 => vec![],
                _ => ["other", "out"].map(|output| call(&format!("F{}", index - 1), output)).to_vec(),
            },
            ..Default::default()
        };
        model.functions.extend((0..30).map(function));
        graph(model).node.push(call("F29", "never"));
    });
    assert!(error.contains("10001 nodes; the limit is 10000"), "{error}");
}

/// One node of a function reads one long name very often. Its copy would take far more memory than the file.
#[test]
fn a_function_is_not_copied_beyond_the_limit_on_the_file() {
    let mut model = model();
    let long = "n".repeat(1 << 16);
    model.functions[0].node.push(node("Sum", &vec!["in"; 1 << 12], "sum", vec![]));
    let nodes = &mut graph(&mut model).node;
    nodes[0].output[0].clone_from(&long);
    nodes[1].input[0] = long;
    let limits = ImportLimits { model_bytes_max: 1 << 20, ..ImportLimits::default() };
    let error = ModelFile::read(&model.encode_to_vec(), &limits).err().unwrap().to_string();
    assert!(error.contains("bytes in copies of functions; the limit is 1048576"), "{error}");
}

#[test]
fn two_functions_of_one_name_are_refused() {
    let error = refusal_of(model(), |model| model.functions.push(gate()));
    assert!(error.contains("two functions are named Gate in the domain local"), "{error}");
}

#[test]
fn a_function_of_another_opset_is_refused() {
    let error = refusal_of(model(), |model| model.functions[0].opset_import[0].version = 18);
    assert!(
        error.contains("is a function of opset 18 in a model of opset 17; they must be equal"),
        "{error}"
    );
}
