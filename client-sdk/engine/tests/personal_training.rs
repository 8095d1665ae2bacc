//! The personal training, before the training of the shared weights.

use crate::digits_example::{digits, model, plan};
use folkmoot_engine::{
    Examples, ImportLimits, Labels, LocalOptimizer, Loss, Model, PersonalTraining, TrainedPart, Trainer,
    TrainingPlan, onnx,
};
use folkmoot_protocol::{Augmentation, Curriculum};

fn fed_rep(epochs: u32) -> TrainingPlan {
    let personal = vec!["layer_2.*".into()];
    TrainingPlan { personal, personal_training: Some(PersonalTraining::FedRep { epochs }), ..plan(1) }
}

fn finish(mut trainer: Trainer) -> Trainer {
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer
}

#[test]
fn each_phase_of_fed_rep_trains_what_the_other_one_keeps_fixed() {
    let (model, (examples, _)) = (model(), digits());
    let (plan, start) = (fed_rep(2), model.initial_weights());
    let part = TrainedPart::of(&model, &plan).expect("the pattern matches");
    let of = |weights: &[f32]| {
        (part.pick(weights).expect("it is whole"), part.pick_personal(weights).expect("it is whole"))
    };
    let first = Trainer::new_personal(&model, &start, None, plan.clone(), &examples, 7).expect("it fits");
    assert_eq!(
        first.progress().steps_total,
        2 * Trainer::steps_of(&plan, examples.len()) / u64::from(plan.epochs)
    );
    let between = finish(first).weights().to_vec();
    let ((shared, own), (shared_before, own_before)) = (of(&between), of(&start));
    assert_eq!(shared, shared_before, "what travels is fixed");
    assert_ne!(own, own_before);
    let second = Trainer::new(&model, &between, plan.clone(), &examples, 7).expect("it fits");
    let outcome = finish(second).finish();
    let (shared_after, own_after) = of(&outcome.weights);
    assert_eq!(own_after, own, "what is personal is fixed");
    assert_ne!(shared_after, shared);
    assert_eq!(outcome.delta.len(), part.parameter_count(), "an update has what travels");
    // If everything else is frozen, only a head is trained.
    let frozen = TrainingPlan {
        frozen: vec!["layer_1.*".into()],
        epochs: 2,
        personal: Vec::new(),
        personal_training: None,
        ..plan
    };
    let alone = Trainer::new(&model, &start, frozen, &examples, 7).expect("it fits");
    assert_eq!(finish(alone).weights(), between);
}

#[test]
fn a_personal_training_resumes_to_the_same_bits() {
    let (model, (examples, _)) = (model(), digits());
    let start = model.initial_weights();
    let own: Vec<f32> = start.iter().map(|weight| weight + 0.01).collect();
    let ditto = Some(PersonalTraining::Ditto { lambda: 0.5, epochs: 2 });
    for (plan, own) in
        [(fed_rep(2), None), (TrainingPlan { personal_training: ditto, ..plan(1) }, Some(own.as_slice()))]
    {
        let new = || Trainer::new_personal(&model, &start, own, plan.clone(), &examples, 7).expect("it fits");
        let whole = finish(new()).weights().to_vec();
        let mut stopped = new();
        stopped.advance(3).expect("it does not diverge");
        let checkpoint = stopped.checkpoint();
        let resumed = Trainer::resume_personal(&model, &start, plan.clone(), &examples, &checkpoint);
        assert_eq!(finish(resumed.expect("the checkpoint is of this training")).weights(), whole);
        let mut again = new();
        again.advance(1).expect("it does not diverge");
        again.restart_personal(&start, own, &examples, 7).expect("it fits");
        assert_eq!(finish(again).weights(), whole);
        assert!(Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).is_err());
    }
}

fn companions() -> [PersonalTraining; 2] {
    [
        PersonalTraining::PFedMe { lambda: 2.0, learning_rate: 0.25, steps: 3 },
        PersonalTraining::Apfl { alpha: 0.25, adaptive: true },
    ]
}

#[test]
fn two_models_in_the_same_steps_resume_to_the_same_bits() {
    let (model, (examples, _)) = (model(), digits());
    let start = model.initial_weights();
    let own: Vec<f32> = start.iter().map(|weight| weight + 0.01).collect();
    for kind in companions() {
        let optimizer = match kind {
            PersonalTraining::Apfl { .. } => LocalOptimizer::sgd(0.1),
            _ => plan(1).optimizer,
        };
        let augmentation =
            Some(Box::new(Augmentation { noise: 0.1, mixup: None, ..Augmentation::default() }));
        let curriculum = Some(Curriculum { first_share: 0.5, steps: 3 });
        let plan =
            TrainingPlan { personal_training: Some(kind), optimizer, augmentation, curriculum, ..plan(1) };
        let new = || Trainer::new(&model, &start, plan.clone(), &examples, 7).expect("it fits");
        let begun = || {
            let mut trainer = new();
            trainer.begin_own(Some(&own), Some(0.5)).expect("as many");
            trainer
        };
        let whole = finish(begun()).finish();
        assert_eq!(whole.own_weights.len(), start.len());
        let mut stopped = begun();
        stopped.advance(4).expect("it does not diverge");
        let resumed = Trainer::resume(&model, &start, plan.clone(), &examples, &stopped.checkpoint());
        assert_eq!(finish(resumed.expect("the checkpoint is of this training")).finish(), whole, "{kind:?}");
        stopped.restart(&start, &examples, 7).expect("it fits");
        let first = finish(new()).finish();
        let is_mixture = first.own_share.is_some();
        assert_eq!(finish(stopped).finish(), first, "a restart forgets the client");
        assert_eq!(
            first.own_weights != whole.own_weights,
            is_mixture,
            "pFedMe's own model starts with the version"
        );
        let batches =
            Trainer::steps_of(&TrainingPlan { personal_training: None, ..plan.clone() }, examples.len());
        assert_eq!(whole.metrics.step_count, batches * u64::from(kind.steps_per_batch()));
        let mut trainer = new();
        assert!(trainer.begin_own(Some(&own[1..]), None).is_err());
        let limit = trainer.memory_bytes() as u64 - 1;
        let tight = TrainingPlan { memory_bytes_max: Some(limit), ..plan };
        assert!(Trainer::new(&model, &start, tight, &examples, 7).is_err(), "the limit is for both models");
    }
}

/// With the model x·v and the targets 2·x, the gradient of the features 1 and 2 is 5·(v − 2).
#[test]
fn a_training_that_ends_early_solves_the_last_batch_less_exactly() {
    let model = Model::from_onnx(&onnx::build::single_tensor(1), &ImportLimits::default());
    let model = model.expect("built models import");
    let examples = Examples::new(vec![1.0, 2.0], vec![1], Labels::Targets(vec![2.0, 4.0], 1));
    let examples = examples.expect("the lengths fit");
    let plan = TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.125));
    let kind = PersonalTraining::PFedMe { lambda: 2.0, learning_rate: 0.25, steps: 3 };
    let plan = TrainingPlan { batch_size: 2, epochs: 2, personal_training: Some(kind), ..plan };
    for ended in [1, 3, 5, 6] {
        let mut trainer = Trainer::new(&model, &[1.0], plan.clone(), &examples, 0).expect("it fits");
        trainer.advance(ended).expect("it does not diverge");
        let (mut w, mut own) = (1.0f32, 1.0f32);
        for step in 1..=ended {
            own -= 0.125 * (5.0 * (own - 2.0) + 2.0 * (own - w));
            if step % 3 == 0 || step == ended {
                w -= 0.25 * 2.0 * (w - own);
            }
        }
        let outcome = trainer.outcome();
        assert!((outcome.weights[0] - w).abs() < 1e-6, "{ended}: {} and {w}", outcome.weights[0]);
        assert!((outcome.delta[0] - (w - 1.0)).abs() < 1e-6 && (outcome.own_weights[0] - own).abs() < 1e-6);
        assert_eq!(outcome, trainer.finish(), "asking changes nothing");
    }
}

/// With the model x·v and the targets 2·x, a step on the features 1 and 2 with the rate η is
/// v ← v − η·(5·(v − 2) + λ·(v − w)), as in algorithm 1 of Li et al. 2021.
#[test]
fn a_model_of_ones_own_is_drawn_to_the_shared_one() {
    let model = Model::from_onnx(&onnx::build::single_tensor(1), &ImportLimits::default());
    let model = model.expect("built models import");
    let examples = Examples::new(vec![1.0, 2.0], vec![1], Labels::Targets(vec![2.0, 4.0], 1));
    let examples = examples.expect("the lengths fit");
    let (rate, shared) = (0.125, 1.0);
    let plan = TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(rate));
    for (lambda, own) in [(0.0, Some(3.0)), (2.0, Some(3.0)), (2.0, None)] {
        let personal_training = Some(PersonalTraining::Ditto { lambda, epochs: 2 });
        let plan = TrainingPlan { batch_size: 2, personal_training, ..plan.clone() };
        let own_weights = own.map(|own| [own]);
        let own_weights = own_weights.as_ref().map(<[f32; 1]>::as_slice);
        let trainer = Trainer::new_personal(&model, &[shared], own_weights, plan, &examples, 0);
        let mut trainer = finish(trainer.expect("it fits"));
        let mut v = own.unwrap_or(shared);
        for _ in 0..2 {
            v -= rate * (5.0 * (v - 2.0) + lambda * (v - shared));
        }
        assert!((trainer.weights()[0] - v).abs() < 1e-6, "{lambda}: {} and {v}", trainer.weights()[0]);
    }
}

/// Returns which parameters of the model with batch normalisation change, by name, in the two phases of FedRep.
fn moved_of(personal: &[&str]) -> [Vec<String>; 2] {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models/residual_cnn_batch_norm.onnx");
    let bytes = std::fs::read(path).expect("the example is in the repository");
    let model = Model::from_onnx(&bytes, &ImportLimits::default()).expect("the example is a valid model");
    let (examples, start) = (digits().0, model.initial_weights());
    let personal_training = Some(PersonalTraining::FedRep { epochs: 1 });
    let personal = personal.iter().map(|pattern| (*pattern).into()).collect();
    let plan = TrainingPlan { personal, personal_training, steps_max: Some(2), ..plan(1) };
    let moved = |trainer: Trainer| {
        let weights = finish(trainer).weights().to_vec();
        let changed = |(spec, range): (&onnx::ParameterSpec, std::ops::Range<usize>)| {
            (weights[range.clone()] != start[range]).then(|| spec.name.clone())
        };
        let mut end = 0;
        let ranges = model.parameters().iter().map(|spec| {
            end += spec.element_count();
            (spec, end - spec.element_count()..end)
        });
        ranges.filter_map(changed).collect()
    };
    let first = Trainer::new_personal(&model, &start, None, plan.clone(), &examples, 7).expect("it fits");
    let second = Trainer::new(&model, &start, plan, &examples, 7).expect("it fits");
    [moved(first), moved(second)]
}

#[test]
fn running_statistics_move_in_the_phase_of_their_owner() {
    let stem =
        |names: &[&str]| names.iter().map(|name| format!("stem.normalization.{name}")).collect::<Vec<_>>();
    let (affine, statistics) = (stem(&["scale", "bias"]), stem(&["running_mean", "running_variance"]));
    let in_stem = |names: &[String]| -> Vec<String> {
        names.iter().filter(|name| name.starts_with("stem.normalization")).cloned().collect()
    };
    let both = [affine.clone(), statistics.clone()].concat();
    // The statistics of a personal layer are shared, or personal as well.
    for (personal, before, after) in [(affine.clone(), affine, statistics), (stem(&["*"]), both, Vec::new())]
    {
        let patterns: Vec<&str> = personal.iter().map(String::as_str).collect();
        let [first, second] = moved_of(&patterns);
        assert_eq!(first, before, "{patterns:?}");
        assert_eq!(in_stem(&second), after, "{patterns:?}");
        assert!(second.iter().any(|name| name.starts_with("block")), "{second:?}");
    }
}
