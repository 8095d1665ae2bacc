//! Example privacy: steps sample their examples and add noise. `train/trainer/private.rs` tests that an example changes
//! a sum by at most the clipping norm.

use std::sync::{Arc, Mutex};

use crate::digits_example::{digits, model, plan};
use folkmoot_engine::{
    ExamplePrivacy, Examples, GradientClipping, ImportLimits, Labels, LocalOptimizer, Loss, Metrics, Model,
    SecretChance, TrainError, Trainer, TrainingOutcome, TrainingPlan, onnx,
};
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

/// A seeded generator whose noise has the size of its scale and a random sign. It gives no privacy. It records the
/// scales.
#[derive(Clone)]
struct TwoPointChance {
    rng: ChaCha20Rng,
    scales: Arc<Mutex<Vec<u64>>>,
}

impl TwoPointChance {
    fn new(seed: u64) -> Self {
        Self { rng: ChaCha20Rng::seed_from_u64(seed), scales: Arc::default() }
    }
}

impl SecretChance for TwoPointChance {
    fn word(&mut self) -> u64 {
        self.rng.next_u64()
    }

    fn add_noise(&mut self, sums: &mut [i64], scale: u64) {
        self.scales.lock().expect("no thread panicked").push(scale);
        for sum in sums {
            *sum += if self.rng.next_u32() & 1 == 0 { scale as i64 } else { -(scale as i64) };
        }
    }
}

/// A generator that always returns the same word, so that all examples are drawn or none, and noise of one sign or 0.
struct Fixed {
    word: u64,
    noise: i64,
}

impl SecretChance for Fixed {
    fn word(&mut self) -> u64 {
        self.word
    }

    fn add_noise(&mut self, sums: &mut [i64], scale: u64) {
        sums.iter_mut().for_each(|sum| *sum += self.noise * scale as i64);
    }
}

fn private(plan: TrainingPlan, norm: f32, noise_multiplier: f32) -> TrainingPlan {
    TrainingPlan {
        gradient_clipping: Some(GradientClipping::PerExampleNorm(norm)),
        example_privacy: Some(ExamplePrivacy { noise_multiplier }),
        ..plan
    }
}

fn finish(mut trainer: Trainer, chance: impl SecretChance + 'static) -> TrainingOutcome {
    trainer.set_secret_chance(Box::new(chance));
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish()
}

fn trainer(model: &Model, plan: &TrainingPlan, examples: &Examples, seed: u64) -> Trainer {
    Trainer::new(model, &model.initial_weights(), plan.clone(), examples, seed).expect("they fit")
}

/// Returns the model `output = input * weights`, with one weight per output, and examples whose input is 0: every
/// gradient is 0.
fn without_gradients(weights: usize, examples: usize) -> (Model, Examples, TrainingPlan) {
    let model = Model::from_onnx(&onnx::build::single_tensor(weights), &ImportLimits::default());
    let model = model.expect("built models import");
    let labels = Labels::Targets(vec![0.0; weights * examples], weights);
    let examples = Examples::new(vec![0.0; examples], vec![1], labels).expect("the lengths fit");
    (model, examples, TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(1.0)))
}

#[test]
fn with_a_huge_norm_little_noise_and_all_examples_it_is_gradient_descent() {
    let (model, (examples, _)) = (model(), digits());
    let plan = TrainingPlan { batch_size: u32::MAX, ..plan(5) };
    let mut expected = trainer(&model, &plan, &examples, 1);
    while !expected.step().unwrap().finished {}
    let expected = expected.finish();
    let private = private(plan, 1e3, 1e-9);
    let outcome = finish(trainer(&model, &private, &examples, 1), TwoPointChance::new(1));
    let largest = expected.delta.iter().zip(&outcome.delta).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest < 1e-6, "they differ by {largest}");
    assert!(expected.delta.iter().any(|change| change.abs() > 0.01));
}

#[test]
fn something_is_learned_through_the_noise() {
    let (model, (examples, held_out)) = (model(), digits());
    let sgd = TrainingPlan {
        batch_size: 128,
        ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(1.0))
    };
    let private = private(TrainingPlan { epochs: 20, ..sgd }, 1.0, 0.5);
    let outcome = finish(trainer(&model, &private, &examples, 1), TwoPointChance::new(2));
    let measured = folkmoot_engine::evaluate(&model, &outcome.weights, &held_out, Loss::SoftmaxCrossEntropy);
    let accuracy = measured.unwrap().accuracy().unwrap();
    assert!(accuracy > 0.8, "{accuracy}");
}

#[test]
fn an_example_moves_the_weights_by_the_norm_over_the_batch_size() {
    let (model, (examples, _)) = (model(), digits());
    let examples = examples.subset(&(0..100).collect::<Vec<_>>()).unwrap();
    let sgd = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(1.0));
    let private = private(TrainingPlan { batch_size: 25, steps_max: Some(1), ..sgd }, 0.01, 1e-6);
    // With word 0, every example is drawn: four times the expected number, with the same divisor. With word 99, no
    // example is drawn.
    for (word, noise, least, most) in [(0, 0, 0.005, 0.04), (99, 0, 0.0, 0.0)] {
        let outcome = finish(trainer(&model, &private, &examples, 1), Fixed { word, noise });
        let norm = outcome.delta.iter().map(|change| f64::from(*change).powi(2)).sum::<f64>().sqrt();
        assert!((least..=most + 1e-6).contains(&norm), "{norm} with the word {word}");
    }
    let alone = examples.subset(&[3]).unwrap();
    let outcome = finish(trainer(&model, &private, &alone, 1), Fixed { word: 0, noise: 0 });
    let norm = outcome.delta.iter().map(|change| f64::from(*change).powi(2)).sum::<f64>().sqrt();
    assert!((norm - 0.01).abs() < 1e-6, "of one example, which is clipped, it is the norm: {norm}");
}

#[test]
fn the_noise_has_the_scale_of_norm_and_multiplier() {
    let (model, examples, plan) = without_gradients(50, 40);
    let plan = TrainingPlan { batch_size: 10, epochs: 100, ..private(plan, 0.5, 3.0) };
    let chance = TwoPointChance::new(3);
    let scales = Arc::clone(&chance.scales);
    let outcome = finish(trainer(&model, &plan, &examples, 1), chance);
    let scales = scales.lock().unwrap();
    assert_eq!(scales.len(), 400, "one for each of 100 · 40 / 10 steps");
    assert!(scales.iter().all(|scale| *scale == scales[0] && *scale > 1 << 27 && *scale <= 1 << 28));
    // A random walk of 400 steps of size 3 · 0.5 / 10.
    let variance = outcome.delta.iter().map(|change| f64::from(*change).powi(2)).sum::<f64>() / 50.0;
    let expected = 400.0 * 0.15f64.powi(2);
    assert!(
        (variance - expected).abs() < 6.0 * expected * (2.0f64 / 50.0).sqrt(),
        "{variance}, not {expected}"
    );
}

#[test]
fn steps_without_examples_are_noise_and_count() {
    let (model, examples, plan) = without_gradients(4, 40);
    let plan = TrainingPlan { batch_size: 10, ..private(plan, 0.5, 2.0) };
    // 39 is not below the batch size, so no example is drawn.
    let outcome = finish(trainer(&model, &plan, &examples, 1), Fixed { word: 39, noise: 1 });
    // Each of the 4 steps subtracts noise multiplier · norm / batch size = 2 · 0.5 / 10 from every weight.
    assert!(outcome.delta.iter().all(|change| (change + 0.4).abs() < 1e-6), "{:?}", outcome.delta);
    assert_eq!(outcome.metrics, Metrics { step_count: 4, ..Metrics::default() });
}

#[test]
fn what_is_measured_stays_with_the_training() {
    let (model, (examples, _)) = (model(), digits());
    let private = private(plan(1), 1.0, 1.0);
    let mut trainer = trainer(&model, &private, &examples, 1);
    trainer.set_secret_chance(Box::new(TwoPointChance::new(4)));
    let progress = trainer.advance(10).unwrap();
    assert!(progress.loss > 0.0 && trainer.metrics().example_count > 0);
    let told = Metrics { step_count: 10, ..Metrics::default() };
    assert_eq!(trainer.outcome().metrics, told);
    assert_eq!(trainer.finish().metrics, told);
}

#[test]
fn chance_decides_and_not_the_seed() {
    let (model, (examples, _)) = (model(), digits());
    let private = private(plan(1), 1.0, 1.0);
    let train =
        |seed, chance| finish(trainer(&model, &private, &examples, seed), TwoPointChance::new(chance));
    assert_eq!(train(1, 5), train(2, 5));
    assert_ne!(train(1, 5).delta, train(1, 6).delta);
}

#[test]
fn a_resumed_training_draws_anew() {
    let (model, (examples, _)) = (model(), digits());
    let (private, start) = (private(plan(1), 1.0, 1.0), model.initial_weights());
    let mut first = trainer(&model, &private, &examples, 1);
    first.set_secret_chance(Box::new(TwoPointChance::new(7)));
    first.advance(3).unwrap();
    let checkpoint = first.checkpoint();
    first.step().unwrap();
    let resume = || Trainer::resume(&model, &start, private.clone(), &examples, &checkpoint).unwrap();
    assert!(matches!(resume().step(), Err(TrainError::NoSecretChance)), "a checkpoint holds no chance");
    let [second, third] = [8, 9].map(|seed| {
        let mut trainer = resume();
        assert_eq!(trainer.progress().step, 3);
        trainer.set_secret_chance(Box::new(TwoPointChance::new(seed)));
        trainer.step().unwrap();
        trainer.weights().to_vec()
    });
    assert_ne!(second, third);
    assert_ne!(first.weights(), second);
}

#[test]
fn a_restarted_training_is_a_new_one_with_other_examples() {
    let (model, (examples, _)) = (model(), digits());
    let (private, start) = (private(plan(1), 1.0, 1.0), model.initial_weights());
    let few = examples.subset(&(0..20).collect::<Vec<_>>()).unwrap();
    let mut restarted = trainer(&model, &private, &examples, 1);
    restarted.set_secret_chance(Box::new(TwoPointChance::new(10)));
    restarted.advance(2).unwrap();
    restarted.restart(&start, &few, 1).unwrap();
    restarted.set_secret_chance(Box::new(TwoPointChance::new(11)));
    while !restarted.step().unwrap().finished {}
    assert_eq!(restarted.finish(), finish(trainer(&model, &private, &few, 1), TwoPointChance::new(11)));
}

#[test]
fn without_chance_or_on_named_examples_no_step_is_taken() {
    let (model, (examples, _)) = (model(), digits());
    let mut trainer = trainer(&model, &private(plan(1), 1.0, 1.0), &examples, 1);
    let error = trainer.step().unwrap_err();
    assert!(error.to_string().contains("set_secret_chance"), "{error}");
    trainer.set_secret_chance(Box::new(TwoPointChance::new(12)));
    assert!(matches!(trainer.step_on(&[0, 1]), Err(TrainError::DrawnBySteps)));
    assert_eq!(trainer.weights(), model.initial_weights());
    trainer.step().unwrap();
}

#[test]
fn an_example_that_breaks_the_loss_is_not_told_of() {
    let (model, _, plan) = without_gradients(1, 1);
    let labels = Labels::Targets(vec![1.0, 1.0], 1);
    let examples = Examples::new(vec![1.0, f32::MAX], vec![1], labels).unwrap();
    let plan = TrainingPlan { batch_size: 2, steps_max: Some(3), epochs: 9, ..plan };
    let mut plain = Trainer::new(&model, &[1.0], plan.clone(), &examples, 1).unwrap();
    assert!(matches!(plain.advance(3), Err(TrainError::Diverged { .. })));
    let mut trainer = Trainer::new(&model, &[1.0], private(plan, 1.0, 1.0), &examples, 1).unwrap();
    trainer.set_secret_chance(Box::new(TwoPointChance::new(13)));
    assert!(trainer.advance(3).unwrap().loss.is_finite());
}

#[test]
fn a_step_holds_nothing_beyond_the_training() {
    let (model, (examples, _)) = (model(), digits());
    let mut trainer = trainer(&model, &private(plan(2), 1.0, 1.0), &examples, 1);
    trainer.set_secret_chance(Box::new(TwoPointChance::new(14)));
    trainer.step().unwrap();
    let held = trainer.memory();
    while !trainer.step().unwrap().finished {}
    assert_eq!(trainer.memory(), held);
}
