//! Models of scikit-learn as skl2onnx exports them: `tests/engine/scikit` has the files, and the outputs that scikit-learn
//! computes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use folkmoot_engine::{
    Examples, GradientCheck, ImportError, ImportLimits, Labels, LocalOptimizer, Loss, Model, NamePattern,
    ParameterKind, Trainer, TrainingPlan, evaluate,
};
use serde::Deserialize;

use crate::trajectories::repository;

/// A model with the outputs that it must compute.
#[derive(Deserialize)]
struct Case {
    loss: Loss,
    /// The value that is trained, if it is not the only output that the loss fits.
    output: Option<String>,
    /// The tensors that are not weights, although they look like some.
    frozen: Vec<NamePattern>,
    /// The number of features of an example.
    width: usize,
    features: Vec<f32>,
    outputs: Vec<f32>,
}

fn folder() -> PathBuf {
    repository().join("tests/engine/scikit")
}

fn cases() -> BTreeMap<String, Case> {
    let json = fs::read(folder().join("expected.json")).expect("the file is in the repository");
    serde_json::from_slice(&json).expect("the script wrote it")
}

fn read(name: &str) -> Result<Model, ImportError> {
    let onnx = fs::read(folder().join(format!("{name}.onnx"))).expect("the file is in the repository");
    Model::from_onnx(&onnx, &ImportLimits::default())
}

impl Case {
    fn plan(&self) -> TrainingPlan {
        let plan = TrainingPlan::new(self.loss, LocalOptimizer::sgd(0.002));
        let (output, frozen) = (self.output.clone(), self.frozen.clone());
        TrainingPlan { output, frozen, epochs: 8, batch_size: 4, ..plan }
    }

    /// The examples with labels that the model does not predict yet.
    fn examples(&self) -> Examples {
        let rows = self.features.len() / self.width;
        let labels = match self.loss {
            Loss::MeanSquaredError => {
                let targets = self.outputs.iter().map(|output| output + 1.0).collect();
                Labels::Targets(targets, self.outputs.len() / rows)
            }
            _ => Labels::Classes((0..rows).map(|row| (row / 2 % 2) as u32).collect()),
        };
        Examples::new(self.features.clone(), vec![self.width], labels).expect("the lengths fit")
    }
}

#[test]
fn exports_of_scikit_learn_compute_what_it_computes_and_train() {
    for (name, case) in cases().iter().filter(|(name, _)| *name != "tree") {
        let model = read(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        let plan = case.plan();
        let model = model.for_plan(&plan).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (start, rows) = (model.initial_weights(), case.features.len() / case.width);
        let found = model.predict(&start, &case.features, rows).expect("the features fit");
        assert_eq!(found.len(), case.outputs.len(), "{name}");
        for (found, expected) in found.iter().zip(&case.outputs) {
            assert!(
                (found - expected).abs() < 1e-4 * expected.abs().max(1.0),
                "{name}: {found} not {expected}"
            );
        }
        let check = GradientCheck::new(&model, &plan, 1).expect("the plan fits");
        assert!(check.largest_difference < 1e-5, "{name}: {check:?}");
        assert!(check.without_gradient.is_empty(), "{name}: {check:?}");
        let examples = case.examples();
        let mut trainer = Trainer::new(&model, &start, plan.clone(), &examples, 1).expect("the examples fit");
        while !trainer.step().expect("this training does not diverge").finished {}
        let trained = trainer.finish().weights;
        let loss = |weights: &[f32]| {
            let metrics = evaluate(&model, weights, &examples, plan.loss).expect("the examples fit");
            metrics.mean_loss().expect("there are examples")
        };
        assert!(loss(&trained) < loss(&start), "{name}: {} after {}", loss(&trained), loss(&start));
        let exported = model.export_onnx(&trained).expect("the weights are finite");
        let again = Model::from_onnx(&exported, &ImportLimits::default()).expect("it was read before");
        assert_eq!(again.initial_weights(), trained, "{name}");
    }
}

#[test]
fn the_coefficients_of_a_linear_model_are_weights_and_those_of_a_scaler_are_not() {
    let model = read("logistic_scaled").expect("the file is valid");
    let found: Vec<(&str, &[usize], ParameterKind)> =
        model.parameters().iter().map(|one| (&*one.name, &one.shape[..], one.kind)).collect();
    assert_eq!(
        found,
        [
            ("LinearClassifier.coefficients", &[3, 4][..], ParameterKind::Trained),
            ("LinearClassifier.intercepts", &[3], ParameterKind::Trained),
        ]
    );
    let outputs: Vec<&str> = model.outputs().iter().map(|one| &*one.name).collect();
    assert_eq!(outputs, ["probabilities", "label"]);
    assert_eq!(model.remarks(), []);
}

#[test]
fn the_scores_behind_probabilities_are_named_and_labels_are_not_trained() {
    let cases = cases();
    let refusal = |name: &str, output: Option<&str>| {
        let plan = TrainingPlan { output: output.map(str::to_owned), ..cases[name].plan() };
        read(name).expect("the file is valid").for_plan(&plan).expect_err("it is refused").to_string()
    };
    let text = refusal("logistic_of_three", None);
    for line in [
        "\n- probabilities ends with Softmax, which the loss contains; its input is LinearClassifier.scores",
        "\n- label has elements that are not floats",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(refusal("logistic_of_two", None).contains("\n- output_probability ends with Sigmoid"));
    assert!(refusal("logistic_of_words", Some("output_label")).contains("elements that are not floats"));
}

#[test]
fn trees_are_refused_with_the_reason() {
    let text = read("tree").expect_err("a tree has no gradient").to_string();
    assert!(
        text.contains(
            "ai.onnx.ml.TreeEnsembleClassifier (node TreeEnsembleClassifier): trees have no gradients"
        ),
        "{text}"
    );
}
