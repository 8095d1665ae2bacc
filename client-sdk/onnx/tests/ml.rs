//! Operators of `ai.onnx.ml`: their numbers are attributes, of which only the coefficients of linear models are trained.

use super::*;
use folkmoot_onnx::ParameterKind;

fn float_list(name: &str, floats: &[f32]) -> AttributeProto {
    let floats = floats.to_vec();
    AttributeProto { name: name.into(), floats, r#type: attribute_type::FLOATS, ..Default::default() }
}

fn of_ml(op_type: &str, inputs: &[&str], output: &str, attributes: Vec<AttributeProto>) -> NodeProto {
    NodeProto { domain: "ai.onnx.ml".into(), ..node(op_type, inputs, output, attributes) }
}

/// The small model with a linear regression behind it.
fn regression(attributes: Vec<AttributeProto>) -> ModelProto {
    changed(|graph| {
        graph.node.push(of_ml("LinearRegressor", &["logits"], "value", attributes));
        graph.output[0].name = "value".into();
    })
}

fn computed(nodes: Vec<NodeProto>, x: NetworkTensor) -> Result<NetworkTensor, NetworkError> {
    run(17, nodes, Vec::new(), &[x]).map(|mut outputs| outputs.remove(0))
}

#[test]
fn coefficients_are_written_back_into_their_attributes() {
    let attributes = vec![
        float_list("coefficients", &[0.5, -1.0, 2.0, 0.25]),
        float_list("intercepts", &[1.0, -1.0]),
        integer("targets", 2),
    ];
    let file = import(&regression(attributes)).unwrap();
    let found: Vec<_> =
        file.parameters()[4..].iter().map(|one| (&*one.name, &one.shape[..], one.kind)).collect();
    assert_eq!(
        found,
        [
            ("value.coefficients", &[2, 2][..], ParameterKind::Trained),
            ("value.intercepts", &[2], ParameterKind::Trained),
        ]
    );
    let mut weights = file.initial_weights();
    assert_eq!(weights[17..], [0.5, -1.0, 2.0, 0.25, 1.0, -1.0]);
    weights[17..].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let exported = file.export_onnx(&weights).unwrap();
    let graph = ModelProto::decode(&exported[..]).unwrap().graph.unwrap();
    let node = graph.node.last().unwrap();
    assert_eq!(
        (&*node.op_type, &node.attribute[0].floats[..]),
        ("LinearRegressor", &[1.0, 2.0, 3.0, 4.0][..])
    );
    assert_eq!(node.attribute[1].floats, [5.0, 6.0]);
}

#[test]
fn linear_models_of_another_form_are_refused() {
    let coefficients = || float_list("coefficients", &[0.5, -1.0]);
    let refused = |attributes| import(&regression(attributes)).unwrap_err().to_string();
    assert!(refused(Vec::new()).contains("has 0 coefficients and 0 intercepts for 1 scores"));
    assert!(
        refused(vec![coefficients(), integer("targets", 4)]).contains("a row of coefficients for each score")
    );
    assert!(refused(vec![coefficients(), integer("targets", -1)]).contains("for 0 scores"));
    assert!(refused(vec![coefficients(), float_list("intercepts", &[1.0; 3])]).contains("3 intercepts"));
    assert!(
        refused(vec![coefficients(), text("post_transform", "PROBIT")]).contains("the post_transform PROBIT")
    );
    assert!(refused(vec![coefficients(), integer("unknown", 1)]).contains("the attribute unknown"));
    assert!(refused(vec![float_list("coefficients", &[f32::NAN, 1.0])]).contains("value.coefficients"));
    assert!(refused(vec![float_list("coefficients", &[1.0; 3])]).contains("incompatible shapes"));
    assert!(import(&regression(vec![coefficients()])).is_ok());
}

#[test]
fn rows_are_divided_by_their_norm_and_zeros_stay() {
    let rows = || tensor(&[2, 2], &[3.0, -4.0, 0.0, 0.0]);
    let normalized =
        |norm| computed(vec![of_ml("Normalizer", &["x"], "out", vec![text("norm", norm)])], rows());
    assert_eq!(normalized("L2").unwrap(), tensor(&[2, 2], &[0.6, -0.8, 0.0, 0.0]));
    expect_close(&normalized("L1").unwrap().elements, &[3.0 / 7.0, -4.0 / 7.0, 0.0, 0.0]);
    assert!(normalized("MAX").unwrap_err().to_string().contains("it must be L1 or L2"));
}

#[test]
fn numbers_are_scaled_filled_in_and_encoded() {
    let x = || tensor(&[2, 2], &[1.0, 2.0, 3.0, f64::NAN]);
    let scaler = |offset: &[f32]| {
        let attributes = vec![float_list("offset", offset), float_list("scale", &[2.0])];
        computed(vec![of_ml("Scaler", &["x"], "out", attributes)], tensor(&[1, 2], &[1.0, 2.0]))
    };
    assert_eq!(scaler(&[1.0, 0.5]).unwrap(), tensor(&[1, 2], &[0.0, 3.0]));
    assert!(scaler(&[1.0; 3]).unwrap_err().to_string().contains("has 3 numbers for 2 columns"));
    let imputed =
        vec![float_list("imputed_value_floats", &[7.0, 8.0]), float("replaced_value_float", f32::NAN)];
    let filled = computed(vec![of_ml("Imputer", &["x"], "out", imputed)], x()).unwrap();
    assert_eq!(filled, tensor(&[2, 2], &[1.0, 2.0, 3.0, 8.0]));
    let encoder = |keys: &[i64], values: &[f32]| {
        let attributes = vec![
            integer_list("keys_int64s", keys),
            float_list("values_floats", values),
            float("default_float", -1.0),
        ];
        computed(vec![of_ml("LabelEncoder", &["x"], "out", attributes)], tensor(&[3], &[5.0, 9.0, 4.0]))
    };
    assert_eq!(encoder(&[4, 5], &[0.25, 0.5]).unwrap(), tensor(&[3], &[0.5, -1.0, 0.25]));
    assert!(encoder(&[4], &[]).unwrap_err().to_string().contains("has 1 keys and 0 values"));
    assert!(encoder(&[], &[]).unwrap_err().to_string().contains("Encode text before training"));
    let one_hot = vec![integer_list("cats_int64s", &[4, 5]), integer("zeros", 1)];
    let one_hot =
        computed(vec![of_ml("OneHotEncoder", &["x"], "out", one_hot)], tensor(&[3], &[5.0, 9.0, 4.0]));
    assert_eq!(one_hot.unwrap(), tensor(&[3, 2], &[0.0, 1.0, 0.0, 0.0, 1.0, 0.0]));
}

#[test]
fn every_unsupported_operator_is_listed_with_its_reason() {
    let error = refusal(|graph| {
        graph.node.push(of_ml("TreeEnsembleRegressor", &["logits"], "tree", Vec::new()));
        graph.node.push(of_ml("SVMRegressor", &["tree"], "machine", Vec::new()));
        graph.node.push(of_ml("DictVectorizer", &["machine"], "words", Vec::new()));
        graph.output[0].name = "words".into();
    });
    let text = error.to_string();
    for line in [
        "\n- ai.onnx.ml.TreeEnsembleRegressor (node of tree): trees have no gradients",
        "\n- ai.onnx.ml.SVMRegressor (node of machine): a machine of support vectors with a kernel",
        "\n- ai.onnx.ml.DictVectorizer (node of words): encode text and categories before training",
    ] {
        assert!(text.contains(line), "{text}");
    }
}
