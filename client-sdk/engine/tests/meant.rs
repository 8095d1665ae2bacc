//! Models train exactly the tensors, statistics and rows of tables that their authors meant.

use folkmoot_engine::{
    EvaluateError, Examples, FitError, GradientCheck, ImportLimits, Inspection, Labels, LocalOptimizer, Loss,
    Model, NamePattern, TrainError, TrainedPart, Trainer, TrainingPlan, evaluate,
    onnx::build::mlp_followed_by,
};

use crate::digits_example::digits;

const EXPORTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/engine/exported");

fn example(name: &str) -> Model {
    let path = format!("{}/../../examples/models/{name}.onnx", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).expect("the example is in the repository");
    Model::from_onnx(&bytes, &ImportLimits::default()).expect("the example is a valid model")
}

fn patterns(names: &[&str]) -> Vec<NamePattern> {
    names.iter().map(|name| NamePattern::from(*name)).collect()
}

fn plan(loss: Loss) -> TrainingPlan {
    TrainingPlan { batch_size: 16, ..TrainingPlan::new(loss, LocalOptimizer::sgd(0.05)) }
}

/// Returns the names of the running statistics, and of the scales and biases, of a model's batch normalisations.
fn normalizations(model: &Model) -> [Vec<String>; 2] {
    let nodes = model.nodes().into_iter().filter(|node| node.operator == "BatchNormalization");
    let [mut statistics, mut affine] = [Vec::new(), Vec::new()];
    for node in nodes {
        affine.extend_from_slice(&node.inputs[1..3]);
        statistics.extend_from_slice(&node.inputs[3..5]);
    }
    [statistics, affine]
}

#[test]
fn a_frozen_batch_normalisation_uses_its_running_statistics() {
    let (model, (examples, _)) = (example("residual_cnn_batch_norm"), digits());
    let [statistics, affine] = normalizations(&model);
    let start = model.initial_weights();
    let first = examples.subset(&(0..16).collect::<Vec<_>>()).unwrap();
    let first_loss = |frozen: &[String]| {
        let frozen = frozen.iter().map(|name| NamePattern(name.clone())).collect();
        let plan = TrainingPlan { frozen, ..plan(Loss::SoftmaxCrossEntropy) };
        let part = TrainedPart::of(&model, &plan).unwrap();
        let mut trainer = Trainer::new(&model, &start, plan, &first, 1).unwrap();
        let loss = trainer.step().unwrap().loss;
        (loss, part.normalizes_batches(), part.tensors().filter(|one| statistics.contains(&one.name)).count())
    };
    // Evaluation uses the running statistics.
    let expected = evaluate(&model, &start, &first, Loss::SoftmaxCrossEntropy).unwrap().mean_loss().unwrap();
    for frozen in [&statistics, &affine] {
        let (loss, normalizes, travelling) = first_loss(frozen);
        assert!((loss - expected).abs() < 1e-5, "{frozen:?}: {loss} instead of {expected}");
        assert!(!normalizes && travelling == 0, "{frozen:?}: {travelling} statistics travel");
    }
    // If a running mean is frozen, its variance stays, too, but no other statistics.
    for (frozen, kept) in [(1, 2), (0, 0)] {
        let (loss, normalizes, travelling) = first_loss(&statistics[..frozen]);
        assert!((loss - expected).abs() > 1e-3 && normalizes, "{frozen}: {loss}");
        assert_eq!(travelling, statistics.len() - kept);
    }
}

#[test]
fn trained_patterns_outweigh_frozen_ones_and_have_to_match() {
    let model = example("mlp");
    let names: Vec<String> = model.parameters().iter().map(|spec| spec.name.clone()).collect();
    let last = names.last().unwrap();
    let plan = TrainingPlan {
        frozen: patterns(&["*"]),
        trained: vec![NamePattern(last.clone())],
        ..plan(Loss::SoftmaxCrossEntropy)
    };
    let part = TrainedPart::of(&model, &plan).unwrap();
    assert_eq!(part.tensors().map(|tensor| &tensor.name).collect::<Vec<_>>(), [last]);
    let wrong = TrainingPlan { trained: patterns(&["no.such.tensor"]), ..plan };
    assert!(matches!(TrainedPart::of(&model, &wrong), Err(FitError::Pattern { list: "trained", .. })));
}

#[test]
fn a_function_that_the_loss_contains_is_refused_at_the_end_of_a_model() {
    use Loss::{BinaryCrossEntropy, KlDivergence, MeanSquaredError, SoftmaxCrossEntropy};
    let refused = |operators: &[&str], loss: Loss| {
        let bytes = mlp_followed_by(&[2, 3], 1, operators);
        let model = Model::from_onnx(&bytes, &ImportLimits::default()).unwrap();
        let (start, plan) = (model.initial_weights(), plan(loss));
        let examples = Examples::new(vec![0.5; 2], vec![2], Labels::Targets(vec![0.0, 1.0, 0.0], 3)).unwrap();
        let refusals = [
            matches!(
                Trainer::new(&model, &start, plan.clone(), &examples, 1),
                Err(TrainError::Fit(FitError::FinalActivation { .. }))
            ),
            matches!(
                evaluate(&model, &start, &examples, loss),
                Err(EvaluateError::Fit(FitError::FinalActivation { .. }))
            ),
            Inspection::new(&model, &plan).is_err(),
            GradientCheck::new(&model, &plan, 1).is_err(),
            model.check_loss(loss).is_err(),
        ];
        assert!(
            refusals.iter().all(|refused| *refused == refusals[0]),
            "{operators:?}, {loss:?}: {refusals:?}"
        );
        refusals[0]
    };
    for loss in [SoftmaxCrossEntropy, KlDivergence, BinaryCrossEntropy] {
        assert!(refused(&["Softmax"], loss) && refused(&["Softmax", "Identity"], loss), "{loss:?}");
    }
    assert!(refused(&["Sigmoid"], BinaryCrossEntropy));
    assert!(!refused(&["Softmax"], MeanSquaredError) && !refused(&["Sigmoid"], MeanSquaredError));
    assert!(!refused(&["Softmax", "Relu"], SoftmaxCrossEntropy) && !refused(&[], SoftmaxCrossEntropy));
    // The softmax of the loss does not change a logarithm of probabilities.
    assert!(!refused(&["LogSoftmax"], SoftmaxCrossEntropy));
}

/// Examples for the recommender, whose features are a user and an item.
fn pairs(features: &[f32]) -> Examples {
    let rows = features.len() / 2;
    Examples::new(features.to_vec(), vec![2], Labels::Targets(vec![1.0; rows], 1)).expect("the lengths fit")
}

#[test]
fn ids_that_are_no_rows_are_refused_with_example_and_column() {
    let model = example("recommender");
    let lookups = model.lookups().clone();
    assert!(!lookups.has_unchecked, "{lookups:?}");
    let mut columns: Vec<usize> = lookups.checked.iter().map(|lookup| lookup.column).collect();
    columns.sort_unstable();
    columns.dedup();
    assert_eq!(columns, [0, 1], "{lookups:?}");
    let rows = lookups.checked.iter().find(|lookup| lookup.column == 1).unwrap().rows;
    let plan = plan(Loss::MeanSquaredError);
    let start = model.initial_weights();
    let train =
        |features: &[f32]| Trainer::new(&model, &start, plan.clone(), &pairs(features), 1).map(|_| ());
    train(&[0.0, 0.0, 0.0, rows as f32 - 1.0]).unwrap();
    for value in [rows as f32, -1.0, -50.0, 2.5, 1e6] {
        let features = [0.0, 0.0, 0.0, value];
        let Err(TrainError::Fit(error)) = train(&features) else { panic!("{value} is no row") };
        assert!(matches!(&error, FitError::NoSuchRow { row: 1, column: 1, .. }), "{error}");
        assert!(error.to_string().contains(&format!("whole number from 0 to {}", rows - 1)), "{error}");
        let error = evaluate(&model, &start, &pairs(&features), Loss::MeanSquaredError).unwrap_err();
        assert!(matches!(error, EvaluateError::Fit(FitError::NoSuchRow { .. })), "{error}");
        assert!(model.predict(&start, &features, 2).is_err());
    }
}

#[test]
fn a_check_tells_how_much_is_trained_and_what_has_no_gradient() {
    for name in ["recommender", "transformer", "char_lstm", "residual_cnn_batch_norm"] {
        let model = example(name);
        let single = model.output_shape().iter().product::<usize>() == 1;
        let plan = plan(if single { Loss::MeanSquaredError } else { Loss::SoftmaxCrossEntropy });
        let (check, inspection) =
            (GradientCheck::new(&model, &plan, 1).unwrap(), Inspection::new(&model, &plan).unwrap());
        assert_eq!(check.trained_elements, inspection.trained_elements, "{name}");
        assert!(check.without_gradient.is_empty() && check.largest_difference < 1e-4, "{name}: {check:?}");
        let remarks: Vec<&str> = inspection.remarks.iter().map(|remark| remark.tensor.as_str()).collect();
        assert_eq!(remarks, if name == "recommender" { &["bias"][..] } else { &[] });
    }
}

#[test]
fn a_check_names_a_trained_tensor_without_a_gradient() {
    let onnx = std::fs::read(format!("{EXPORTED}/threshold.onnx")).unwrap();
    let model = Model::from_onnx(&onnx, &ImportLimits::default()).unwrap();
    let check = GradientCheck::new(&model, &plan(Loss::MeanSquaredError), 1).unwrap();
    assert_eq!((check.without_gradient, check.trained_elements), (vec!["threshold".to_owned()], 6));
    assert!(check.largest_difference < 1e-4, "{}", check.largest_difference);
}

/// A training run of PyTorch on one batch, and the file that an exporter wrote before it.
struct Exported {
    onnx: Vec<u8>,
    examples: Examples,
    losses: Vec<f64>,
}

fn exported(name: &str) -> Exported {
    let runs = std::fs::read(format!("{EXPORTED}/runs.json")).expect("the file is in the repository");
    let runs: serde_json::Value = serde_json::from_slice(&runs).expect("it is JSON");
    let numbers = |key: &str| -> Vec<f64> {
        let list = runs[name][key].as_array().expect("it is a list");
        list.iter().map(|number| number.as_f64().expect("it is a number")).collect()
    };
    let features: Vec<f32> = numbers("x").into_iter().map(|x| x as f32).collect();
    let labels: Vec<u32> = numbers("labels").into_iter().map(|label| label as u32).collect();
    let width = features.len() / labels.len();
    Exported {
        onnx: std::fs::read(format!("{EXPORTED}/{name}.onnx")).expect("the file is in the repository"),
        examples: Examples::new(features, vec![width], Labels::Classes(labels)).expect("the lengths fit"),
        losses: numbers("losses"),
    }
}

/// Trains as PyTorch did, compares the losses, and returns the model with its weights before and after.
fn follows_torch(name: &str) -> (Model, Vec<f32>, Vec<f32>) {
    let Exported { onnx, examples, losses } = exported(name);
    let model = Model::from_onnx(&onnx, &ImportLimits::default()).expect("the file is a valid model");
    let start = model.initial_weights();
    let plan = TrainingPlan {
        epochs: losses.len() as u32,
        batch_size: examples.len() as u32,
        ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1))
    };
    let mut trainer = Trainer::new(&model, &start, plan, &examples, 1).expect("the examples fit the model");
    for (step, expected) in losses.into_iter().enumerate() {
        let loss = trainer.step().expect("the processor computes every step").loss;
        assert!((loss - expected).abs() < 1e-5, "{name}, step {step}: {loss} instead of {expected}");
    }
    (model, start, trainer.finish().weights)
}

#[test]
fn tensors_that_pytorch_merged_are_trained_as_pytorch_trains_them() {
    let (model, _, weights) = follows_torch("normalised");
    assert_eq!((model.parameters().len(), model.parameter_count()), (14, 300));
    let names: Vec<&str> = model.parameters().iter().map(|spec| spec.name.as_str()).collect();
    for number in 0..3 {
        for name in [format!("layers.{number}.bias"), format!("norms.{number}.weight")] {
            assert!(names.contains(&name.as_str()), "{name} is not in {names:?}");
        }
    }
    let written = model.export_onnx(&weights).unwrap();
    let again = Model::from_onnx(&written, &ImportLimits::default()).unwrap();
    assert_eq!((again.parameters(), again.initial_weights()), (model.parameters(), weights));
}

#[test]
fn the_row_of_padding_keeps_its_value() {
    let (model, before, after) = follows_torch("padded");
    assert_eq!(model.parameters()[0].name, "table.weight");
    let row = |weights: &[f32], row: usize| weights[3 * row..3 * row + 3].to_vec();
    assert_eq!(row(&before, 1), row(&after, 1));
    for other in [0, 2, 3, 4] {
        assert_ne!(row(&before, other), row(&after, other), "row {other}");
    }
}
