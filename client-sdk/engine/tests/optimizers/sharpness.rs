//! Sharpness-aware minimisation: its two gradients, the rules that act on each of them, and its memory.

use folkmoot_engine::{
    Examples, GradientClipping, ImportLimits, Inspection, Model, ParameterKind, SharpnessAware, Trainer,
    TrainingOutcome, TrainingPlan,
};

use crate::digits_example::{digits, model, plan};

const RADIUS: f32 = 0.25;
const SEED: u64 = 3;
const ROWS: usize = 24;

fn some_digits() -> Examples {
    let (training, _) = digits();
    training.subset(&(0..ROWS).collect::<Vec<_>>()).expect("the indices are those of rows")
}

/// Returns a plan of full batches.
fn aware() -> TrainingPlan {
    let sharpness_aware = Some(SharpnessAware { radius: RADIUS });
    TrainingPlan { sharpness_aware, batch_size: ROWS as u32, ..plan(3) }
}

fn finished(mut trainer: Trainer) -> TrainingOutcome {
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish()
}

fn trained(model: &Model, plan: TrainingPlan) -> TrainingOutcome {
    let trainer = Trainer::new(model, &model.initial_weights(), plan, &some_digits(), SEED);
    finished(trainer.expect("plan and examples fit"))
}

/// Returns the largest difference between two vectors.
fn distance(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max)
}

/// Returns the gradient of the mean loss at these weights: the negative change in a step of rate 1.
fn gradient(model: &Model, weights: &[f32]) -> Vec<f32> {
    let plan =
        TrainingPlan { batch_size: ROWS as u32, epochs: 1, ..TrainingPlan::new(plan(1).loss, sgd(1.0)) };
    let trainer = Trainer::new(model, weights, plan, &some_digits(), SEED);
    finished(trainer.expect("plan and examples fit")).delta.iter().map(|change| -change).collect()
}

fn sgd(learning_rate: f32) -> folkmoot_engine::LocalOptimizer {
    folkmoot_engine::LocalOptimizer::sgd(learning_rate)
}

fn norm(values: &[f32]) -> f32 {
    values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32
}

/// The equations of Foret et al. 2021, with two trainings of a plain step in place of the gradients. The proximal term and the
/// correction act at the weights of the step, and clipping acts on the second gradient.
#[test]
fn a_step_is_the_gradient_at_the_distance_of_the_radius() {
    let model = model();
    let start = model.initial_weights();
    let first = gradient(&model, &start);
    let size = norm(&first);
    let climbed: Vec<f32> =
        start.iter().zip(&first).map(|(weight, slope)| weight + RADIUS / size * slope).collect();
    let second = gradient(&model, &climbed);
    assert!(distance(&first, &second) > 1e-3, "the radius is large enough to see");
    let bound = norm(&second) / 2.0;
    let correction: Vec<f32> = (0..start.len()).map(|index| (index % 5) as f32 / 100.0).collect();
    let aware = TrainingPlan { optimizer: sgd(0.5), epochs: 1, ..aware() };
    let clipped = TrainingPlan { gradient_clipping: Some(GradientClipping::Norm(bound)), ..aware.clone() };
    for (plan, factor, corrections) in [(aware, 1.0, None), (clipped, 0.5, Some(&correction))] {
        let trainer = Trainer::new(&model, &start, plan, &some_digits(), SEED);
        let mut trainer = trainer.expect("plan and examples fit");
        if let Some(correction) = corrections {
            trainer.set_gradient_correction(correction.clone()).expect("there is one for each weight");
        }
        let found = finished(trainer);
        let expected: Vec<f32> = (0..start.len())
            .map(|index| -0.5 * (factor * second[index] + corrections.map_or(0.0, |all| all[index])))
            .collect();
        assert!(distance(&found.delta, &expected) < 1e-6, "{}", distance(&found.delta, &expected));
    }
}

#[test]
fn batches_of_a_step_climb_together() {
    let model = model();
    let whole = trained(&model, aware());
    let parts = trained(&model, TrainingPlan { batch_size: 8, accumulation_steps: 3, ..aware() });
    assert!(distance(&whole.delta, &parts.delta) < 1e-5, "{}", distance(&whole.delta, &parts.delta));
    assert_eq!(whole.metrics.step_count, parts.metrics.step_count);
    let alone = trained(&model, TrainingPlan { batch_size: 8, ..aware() });
    assert!(distance(&whole.delta, &alone.delta) > 1e-3);
}

/// The second gradient normalises with the batch's own statistics too, and leaves no trace in the running ones.
#[test]
fn running_statistics_are_those_of_the_first_gradient() {
    let path = format!("{}/../../examples/models/residual_cnn_batch_norm.onnx", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).expect("the example is in the repository");
    let model = Model::from_onnx(&bytes, &ImportLimits::default()).expect("the example is a valid model");
    let one_step = |plan: TrainingPlan| trained(&model, TrainingPlan { epochs: 1, ..plan }).weights;
    let plain = one_step(TrainingPlan { sharpness_aware: None, ..aware() });
    let (start, found) = (model.initial_weights(), one_step(aware()));
    let mut at = 0;
    for spec in model.parameters() {
        let range = at..at + spec.shape.iter().product::<usize>();
        at = range.end;
        let is_moved = found[range.clone()] != start[range.clone()];
        let is_same = found[range.clone()] == plain[range];
        assert!(is_moved && is_same == (spec.kind == ParameterKind::Statistic), "{}", spec.name);
    }
}

#[test]
fn it_resumes_and_restarts_bit_exactly() {
    let model = model();
    let (start, examples) = (model.initial_weights(), some_digits());
    let plan = TrainingPlan { batch_size: 7, ..aware() };
    let expected = trained(&model, plan.clone());
    let mut trainer = Trainer::new(&model, &start, plan.clone(), &examples, SEED).unwrap();
    while !trainer.step().unwrap().finished {
        let checkpoint = trainer.checkpoint();
        trainer = Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).unwrap();
    }
    assert_eq!(trainer.outcome(), expected);
    trainer.restart(&start, &examples, SEED).unwrap();
    assert_eq!(finished(trainer), expected);
}

#[test]
fn it_announces_its_copy_of_the_weights() {
    let model = model();
    let plain = TrainingPlan { sharpness_aware: None, ..aware() };
    let [announced, without] = [aware(), plain].map(|plan| Inspection::new(&model, &plan).unwrap());
    let copy = 4 * model.parameter_count();
    assert_eq!(announced.memory.total(), without.memory.total() + copy);
    assert_eq!(announced.step.flops, 2 * without.step.flops);
    let trainer = |plan| Trainer::new(&model, &model.initial_weights(), plan, &some_digits(), SEED);
    let mut found = trainer(aware()).unwrap();
    let held = found.memory_bytes();
    found.step().unwrap();
    assert_eq!(found.memory_bytes(), held, "a step takes nothing more");
    assert!(trainer(TrainingPlan { memory_bytes_max: Some(held as u64), ..aware() }).is_ok());
    assert!(trainer(TrainingPlan { memory_bytes_max: Some(held as u64 - 1), ..aware() }).is_err());
}
