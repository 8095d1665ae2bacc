//! Models with several outputs: the plan, or its loss, chooses the one that is trained.

use folkmoot_engine::{
    Examples, FitError, GradientCheck, ImportLimits, Inspection, Labels, LocalOptimizer, Loss, Model,
    TrainError, Trainer, TrainingPlan, evaluate,
    onnx::build::{mlp_followed_by, with_outputs},
};

/// Returns a model of three inputs, four hidden values and two classes, with these values as outputs.
fn model(outputs: &[&str]) -> Model {
    let onnx = with_outputs(&mlp_followed_by(&[3, 4, 2], 1, &["Softmax"]), outputs);
    Model::from_onnx(&onnx, &ImportLimits::default()).expect("the model is valid")
}

fn plan(loss: Loss, output: Option<&str>) -> TrainingPlan {
    TrainingPlan { output: output.map(str::to_owned), ..TrainingPlan::new(loss, LocalOptimizer::sgd(0.5)) }
}

fn examples() -> Examples {
    let features = (0..24).map(|index| (index as f32 * 0.7).sin()).collect();
    Examples::new(features, vec![3], Labels::Classes((0..8).map(|index| index % 2).collect()))
        .expect("they fit")
}

const PROBABILITIES: &str = "output_1";

#[test]
fn the_output_that_the_loss_fits_is_trained() {
    let several = model(&[PROBABILITIES, "logits"]);
    assert_eq!(several.output_name(), PROBABILITIES);
    let chosen = several.for_plan(&plan(Loss::SoftmaxCrossEntropy, None)).expect("one output fits");
    assert_eq!((chosen.output_name(), chosen.output_shape()), ("logits", &[2][..]));
    let only = model(&["logits"]);
    let trained = |model: &Model, plan: TrainingPlan| {
        let mut trainer =
            Trainer::new(model, &model.initial_weights(), plan, &examples(), 1).expect("it fits");
        while !trainer.step().expect("it does not diverge").finished {}
        trainer.finish().weights
    };
    let expected = trained(&only, plan(Loss::SoftmaxCrossEntropy, None));
    assert_ne!(expected, only.initial_weights());
    assert_eq!(trained(&several, plan(Loss::SoftmaxCrossEntropy, None)), expected);
    assert_eq!(trained(&several, plan(Loss::SoftmaxCrossEntropy, Some("logits"))), expected);
    // The value inside of a model that has only probabilities.
    let inner = model(&[PROBABILITIES]);
    assert_eq!(trained(&inner, plan(Loss::SoftmaxCrossEntropy, Some("logits"))), expected);
}

#[test]
fn several_outputs_that_fit_are_listed() {
    let several = model(&[PROBABILITIES, "logits", "layer_1.activated"]);
    let error = several.for_plan(&plan(Loss::SoftmaxCrossEntropy, None)).unwrap_err();
    assert!(matches!(error, FitError::Outputs { found: 2, .. }), "{error}");
    let text = error.to_string();
    for line in [
        "fits 2 of the model's outputs, but one must be trained. Set plan.output to its name:",
        "\n- output_1 ends with Softmax, which the loss contains; its input is logits",
        "\n- logits [N, 2] fits",
        "\n- layer_1.activated [N, 4] fits",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let new = Trainer::new(
        &several,
        &several.initial_weights(),
        plan(Loss::SoftmaxCrossEntropy, None),
        &examples(),
        1,
    );
    assert!(matches!(new, Err(TrainError::Fit(FitError::Outputs { .. }))));
    let none = model(&[PROBABILITIES, "class"]).for_plan(&plan(Loss::SoftmaxCrossEntropy, None)).unwrap_err();
    assert!(none.to_string().contains("\n- class has elements that are not floats"), "{none}");
}

#[test]
fn an_output_that_does_not_exist_is_refused_even_if_there_is_only_one() {
    let error = model(&["logits"]).for_plan(&plan(Loss::SoftmaxCrossEntropy, Some("logit"))).unwrap_err();
    assert!(
        error.to_string().starts_with("the model has no value named logit; its outputs are logits."),
        "{error}"
    );
    let explicit = plan(Loss::SoftmaxCrossEntropy, Some(PROBABILITIES));
    let model = model(&["logits", PROBABILITIES]).for_plan(&explicit).expect("the plan chooses it");
    let error = evaluate(&model, &model.initial_weights(), &examples(), explicit.loss).unwrap_err();
    assert!(error.to_string().contains("ends with Softmax"), "{error}");
}

#[test]
fn inspections_checks_and_predictions_use_the_chosen_output() {
    let several = model(&["logits", "layer_1.activated"]);
    let hidden = plan(Loss::MeanSquaredError, Some("layer_1.activated"));
    let inspection = Inspection::new(&several, &hidden).expect("the plan fits");
    assert_eq!((&*inspection.output, &inspection.output_shape[..]), ("layer_1.activated", &[4][..]));
    assert_eq!(inspection.outputs, ["logits", "layer_1.activated"]);
    let check = GradientCheck::new(&several, &hidden, 1).expect("the plan fits");
    assert_eq!(check.without_gradient, ["layer_2.weight", "layer_2.bias"]);
    assert!(check.largest_difference < 1e-6, "{check:?}");
    let chosen = several.for_plan(&hidden).expect("the plan fits");
    let predicted =
        chosen.predict(&chosen.initial_weights(), &[0.5, -0.5, 1.0], 1).expect("the features fit");
    assert_eq!(predicted.len(), 4);
}
