//! Recorded outer products add up to the change of dense layers, up to float32 rounding.

use folkmoot_engine::{
    Examples, GradientClipping, ImportLimits, Labels, LearningRateSchedule, LocalOptimizer, Loss, Model,
    OuterProducts, TrainedPart, Trainer, TrainingOutcome, TrainingPlan, onnx::build::mlp,
};
use proptest::prelude::*;

use crate::digits_example;

/// The largest relative error of rounding to float32.
const ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;

fn perceptron(widths: &[usize], seed: u64) -> Model {
    Model::from_onnx(&mlp(widths, seed), &ImportLimits::default()).expect("it is a valid model")
}

/// Returns this many examples with this many features and classes.
fn examples(count: usize, features: usize, classes: usize) -> Examples {
    let values =
        (0..count * features).map(|index| ((index * 7919 + 13) % 1009) as f32 / 500.0 - 1.0).collect();
    let labels = Labels::Classes((0..count).map(|row| (row * 5 % classes) as u32).collect());
    Examples::new(values, vec![features], labels).expect("there are as many values")
}

fn weighted(examples: Examples, weight: impl Fn(usize) -> f32) -> Examples {
    let weights = (0..examples.len()).map(weight).collect();
    examples.with_weights(weights).expect("one for each")
}

fn plan(learning_rate: f32) -> TrainingPlan {
    TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(learning_rate))
}

fn trainer(model: &Model, plan: &TrainingPlan, examples: &Examples, is_recorded: bool) -> Trainer {
    let trainer = Trainer::new(model, &model.initial_weights(), plan.clone(), examples, 5);
    let mut trainer = trainer.expect("plan and examples fit");
    if is_recorded {
        trainer.record_outer_products(&vec![true; model.parameters().len()]);
    }
    trainer
}

fn finish(mut trainer: Trainer) -> TrainingOutcome {
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish()
}

/// Checks every element of a matrix: the sum of the products may differ from the change only by rounding. A step's
/// gradient is a scaled float32 sum of `in_step` products, and every step rounds each weight once.
fn assert_sum(start: &[f32], delta: &[f32], products: &OuterProducts, in_step: usize, steps: u64) {
    let OuterProducts { count, left, right } = products;
    let rows = left.len() / (*count).max(1);
    let columns = delta.len() / rows.max(1);
    for (index, (start, delta)) in start.iter().zip(delta).enumerate() {
        let terms = (0..*count).map(|product| {
            let left = left[product * rows + index / columns];
            f64::from(left) * f64::from(right[product * columns + index % columns])
        });
        let (sum, moved) = terms.fold((0.0, 0.0), |(sum, moved), term| (sum + term, moved + term.abs()));
        let rounded = (in_step as f64 + 8.0) * moved + steps as f64 * (f64::from(start.abs()) + moved);
        let apart = (sum - f64::from(*delta)).abs();
        assert!(apart <= ROUNDING * rounded, "element {index}: {delta} is {apart:e} from the sum");
    }
}

/// Compares every recorded tensor with its change, and returns the number of products of all tensors.
fn assert_sums(model: &Model, plan: &TrainingPlan, outcome: &TrainingOutcome) -> Vec<Option<usize>> {
    let part = TrainedPart::of(model, plan).expect("nothing unknown is frozen");
    let start = part.pick(&model.initial_weights()).expect("they are the model's");
    let in_step = plan.batch_size as usize * plan.accumulation_steps as usize;
    let mut first = 0;
    let counts = part.tensors().zip(&outcome.products).map(|(tensor, products)| {
        let range = first..first + tensor.shape.iter().product::<usize>();
        first = range.end;
        let products = products.as_ref()?;
        let (start, delta) = (&start[range.clone()], &outcome.delta[range]);
        assert_sum(start, delta, products, in_step, outcome.metrics.step_count);
        Some(products.count)
    });
    counts.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn products_add_up_to_the_change_within_rounding(
        widths in prop::collection::vec(2usize..40, 2..5),
        seed in 0u64..1000,
        count in 1usize..12,
        batch_size in 1u32..6,
        accumulation_steps in 1u32..3,
        epochs in 1u32..3,
        learning_rate in prop_oneof![Just(1e-5f32), Just(1e-3), Just(0.01), Just(0.3)],
        is_weighted: bool,
        is_clipped: bool,
        is_scheduled: bool,
    ) {
        let (model, examples) = (perceptron(&widths, seed), examples(count, widths[0], widths[widths.len() - 1]));
        let examples = if is_weighted { weighted(examples, |row| 0.5 + (row % 3) as f32) } else { examples };
        let plan = TrainingPlan {
            epochs,
            batch_size,
            accumulation_steps,
            gradient_clipping: is_clipped.then_some(GradientClipping::Norm(0.1)),
            learning_rate_schedule: match is_scheduled {
                true => LearningRateSchedule::Exponential { factor: 0.7 },
                false => LearningRateSchedule::Constant,
            },
            ..plan(learning_rate)
        };
        let outcome = finish(trainer(&model, &plan, &examples, true));
        let counts = assert_sums(&model, &plan, &outcome);
        for (tensor, recorded) in model.parameters().iter().zip(counts) {
            let [rows, columns] = tensor.shape[..] else {
                prop_assert_eq!(recorded, None, "a bias is no matrix");
                continue;
            };
            let pays = epochs as usize * count <= rows * columns / (rows + columns);
            prop_assert_eq!(recorded.is_some(), pays, "{} of {} examples", tensor.name, count);
        }
        // Recording does not change the training, bit for bit.
        let plain = finish(trainer(&model, &plan, &examples, false));
        prop_assert!(plain.products.is_empty());
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&outcome.weights), bits(&plain.weights));
        prop_assert_eq!(outcome.metrics, plain.metrics);
    }
}

#[test]
fn an_example_that_teaches_nothing_has_no_product() {
    let (model, plan) = (perceptron(&[20, 30, 4], 3), TrainingPlan { batch_size: 6, ..plan(0.1) });
    let outcome = finish(trainer(&model, &plan, &weighted(examples(6, 20, 4), |row| (row % 3) as f32), true));
    // Two of the six examples have weight 0.
    assert_eq!(
        assert_sums(&model, &plan, &outcome),
        [Some(4), None, None, None],
        "4 · (4 + 30) numbers are more than 4 · 30"
    );
}

#[test]
fn the_dense_layers_of_other_models_are_recorded_too() {
    let (training, _) = digits_example::digits();
    let onnx = include_bytes!("../../../examples/digits/cnn.onnx");
    let model = Model::from_onnx(onnx, &ImportLimits::default()).expect("the example is a valid model");
    let plan = TrainingPlan { batch_size: 4, ..plan(0.05) };
    let outcome = finish(trainer(&model, &plan, &training.subset(&[0, 1, 2, 3]).expect("they exist"), true));
    let counts = assert_sums(&model, &plan, &outcome);
    let ranks = model.parameters().iter().map(|tensor| tensor.shape.len());
    for (rank, count) in ranks.zip(&counts) {
        assert!(rank == 2 || count.is_none(), "filters of convolutions are no dense layers");
    }
    assert!(counts.iter().any(Option::is_some), "{counts:?}");
}

#[test]
fn what_is_no_sum_of_gradients_is_not_recorded() {
    let (model, examples) = (perceptron(&[20, 30, 4], 3), examples(4, 20, 4));
    let sgd = |momentum, weight_decay| LocalOptimizer::Sgd {
        learning_rate: 0.1,
        momentum,
        nesterov: false,
        weight_decay,
    };
    let with = |change: &dyn Fn(&mut TrainingPlan)| {
        let mut plan = TrainingPlan { batch_size: 2, ..plan(0.1) };
        change(&mut plan);
        finish(trainer(&model, &plan, &examples, true)).products.iter().flatten().count()
    };
    assert_eq!(with(&|_| {}), 1, "the first layer pays");
    assert_eq!(with(&|plan| plan.optimizer = sgd(0.9, 0.0)), 0);
    assert_eq!(with(&|plan| plan.optimizer = sgd(0.0, 1e-4)), 0);
    assert_eq!(with(&|plan| plan.proximal_term = 0.1), 0);
    assert_eq!(with(&|plan| plan.gradient_clipping = Some(GradientClipping::Value(0.1))), 0);
    assert_eq!(with(&|plan| plan.gradient_clipping = Some(GradientClipping::PerExampleNorm(1.0))), 0);
    assert_eq!(with(&|plan| plan.frozen = vec!["layer_1.weight".into()]), 0);
    let mut corrected = trainer(&model, &plan(0.1), &examples, true);
    corrected.set_gradient_correction(vec![0.01; model.parameter_count()]).expect("one for each");
    assert!(finish(corrected).products.iter().all(Option::is_none));
}

#[test]
fn a_training_is_recorded_from_its_first_step_or_not_at_all() {
    let (model, examples) = (perceptron(&[20, 30, 4], 3), examples(4, 20, 4));
    let plan = TrainingPlan { batch_size: 1, ..plan(0.1) };
    let recorded = |outcome: &TrainingOutcome| outcome.products.iter().flatten().count();
    let mut first = trainer(&model, &plan, &examples, true);
    first.advance(2).expect("it does not diverge");
    assert_eq!(recorded(&first.outcome()), 1, "an early end has its own products");
    let checkpoint = first.checkpoint();
    let resumed = Trainer::resume(&model, &model.initial_weights(), plan.clone(), &examples, &checkpoint);
    let mut resumed = resumed.expect("it is its own checkpoint");
    resumed.record_outer_products(&[true; 4]);
    assert_eq!(recorded(&finish(resumed)), 0, "two of its steps are not known");
    // A restart forgets earlier products and continues recording.
    first.restart(&model.initial_weights(), &examples, 5).expect("they fit");
    let again = finish(first);
    let fresh = finish(trainer(&model, &plan, &examples, true));
    assert_eq!(again.products, fresh.products);
    assert_sums(&model, &plan, &again);
}
