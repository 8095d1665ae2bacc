use serde_json::{Value, json};

use super::TrainingPlan;
use crate::plan::{Curriculum, LocalOptimizer, Loss, SmallLossSelection};

fn fields(keys: Value) -> Vec<&'static str> {
    let mut plan =
        serde_json::to_value(TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.5))).unwrap();
    for (key, value) in keys.as_object().unwrap() {
        plan[key] = value.clone();
    }
    let plan: TrainingPlan = serde_json::from_value(plan).unwrap_or_else(|error| panic!("{keys}: {error}"));
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<TrainingPlan>(&json).unwrap(), plan);
    plan.faults().iter().map(|fault| fault.field).collect()
}

#[test]
fn numbers_of_augmentation_have_ranges() {
    let with = |augmentation: Value| fields(json!({ "augmentation": augmentation }));
    let all = json!({
        "noise": 0.1, "cutout": 2, "mixup": 0.01, "stretch_masks": [{ "length_max": 3 }, { "axis": 1, "count": 64, "length_max": 1 }],
    });
    assert_eq!(with(all.clone()), [""; 0]);
    assert_eq!(with(json!({})), [""; 0]);
    assert_eq!(with(json!({ "noise": -1.0 })), ["augmentation.noise"]);
    assert_eq!(with(json!({ "cutout": 0 })), ["augmentation.cutout"]);
    assert_eq!(with(json!({ "shape": [1, 28, 28] })), [""; 0]);
    assert_eq!(with(json!({ "shape": vec![0; 9] })), ["augmentation.shape"; 10]);
    for mixup in [0.0, 101.0] {
        assert_eq!(with(json!({ "mixup": mixup })), ["augmentation.mixup"]);
    }
    let mask = |count: u32, length: u32| json!({ "count": count, "length_max": length });
    assert_eq!(with(json!({ "stretch_masks": vec![mask(1, 1); 5] })), ["augmentation.stretch_masks"]);
    let wrong = json!({ "stretch_masks": [mask(0, 1), mask(65, 1), mask(1, 0)] });
    let count = "augmentation.stretch_masks.count";
    assert_eq!(with(wrong), [count, count, "augmentation.stretch_masks.length_max"]);
    let example_wise =
        json!({ "augmentation": all, "loss": "hinge", "gradient_clipping": { "per_example_norm": 1.0 } });
    assert_eq!(fields(example_wise), ["augmentation.mixup"; 2]);
}

#[test]
fn constraints_have_ranges_and_tensors() {
    let l1 = |strength: f64, tensors: &[&str]| json!({ "l1": { "strength": strength, "tensors": tensors } });
    assert_eq!(fields(l1(0.1, &["*"])), [""; 0]);
    assert_eq!(fields(l1(0.0, &[])), ["l1.strength", "l1.tensors"]);
    assert_eq!(fields(l1(0.1, &[""])), ["l1.tensors"]);
    let mut adam = l1(0.1, &["*"]);
    adam["optimizer"] = json!({ "adam": { "learning_rate": 0.1 } });
    adam["precision"] = json!("mixed");
    assert_eq!(fields(adam.clone()), ["l1.strength"; 2]);
    let range =
        |min: Value, max: Value| json!({ "value_range": { "min": min, "max": max, "tensors": ["*"] } });
    for (min, max) in [(json!(0.0), json!(null)), (json!(null), json!(0.0)), (json!(1.0), json!(1.0))] {
        let mut keys = range(min, max);
        keys["optimizer"] = adam["optimizer"].clone();
        assert_eq!(fields(keys), [""; 0]);
    }
    for (min, max) in [(json!(null), json!(null)), (json!(1.0), json!(0.5))] {
        assert_eq!(fields(range(min, max)), ["value_range.min"]);
    }
    let mut mixed = range(json!(0.0), json!(1.0));
    mixed["precision"] = json!("mixed");
    assert_eq!(fields(mixed), ["value_range"]);
}

#[test]
fn shares_of_examples_have_ranges() {
    let curriculum =
        |share: f64, steps: u32| json!({ "curriculum": { "first_share": share, "steps": steps } });
    assert_eq!(fields(curriculum(1.0, 1)), [""; 0]);
    assert_eq!(fields(curriculum(0.0, 0)), ["curriculum.first_share", "curriculum.steps"]);
    let selection = |rate: f64| json!({ "small_loss_selection": { "forget_rate": rate } });
    assert_eq!(fields(selection(0.5)), [""; 0]);
    assert_eq!(fields(selection(1.0)), ["small_loss_selection.forget_rate"]);
    let mut both = selection(0.5);
    both["curriculum"] = curriculum(0.5, 5)["curriculum"].clone();
    both["gradient_clipping"] = json!({ "per_example_norm": 1.0 });
    assert_eq!(fields(both), ["curriculum.first_share", "small_loss_selection.forget_rate"]);
}

#[test]
fn a_contrast_has_ranges_and_is_the_only_thing_that_is_kept() {
    let contrast = |keys: Value| {
        let mut all = json!({ "model_contrast": { "features": "hidden" } });
        for (key, value) in keys.as_object().unwrap() {
            all[key] = value.clone();
        }
        fields(all)
    };
    for fitting in [
        json!({ "gradient_clipping": { "norm": 1.0 } }),
        json!({ "small_loss_selection": { "forget_rate": 0.2 } }),
        json!({ "optimizer": { "sophia": { "learning_rate": 0.01 } } }),
    ] {
        assert_eq!(contrast(fitting.clone()), [""; 0], "{fitting}");
    }
    let wrong = json!({ "features": "", "weight": 0.0, "temperature": 0.001 });
    let numbers = ["model_contrast.features", "model_contrast.weight", "model_contrast.temperature"];
    assert_eq!(contrast(json!({ "model_contrast": wrong })), numbers);
    for refused in [
        json!({ "personal": ["head.*"] }),
        json!({ "elastic_averaging": { "alpha": 0.5 } }),
        json!({ "gradient_clipping": { "per_example_norm": 1.0 } }),
        json!({ "clusters": { "count": 2 } }),
        json!({ "widths": { "ratios": [1.0, 0.5] } }),
        json!({ "precision": "mixed" }),
        json!({ "optimizer": { "newton": {} } }),
    ] {
        assert_eq!(contrast(refused.clone()), ["model_contrast.weight"], "{refused}");
    }
}

#[test]
fn a_pool_grows_linearly_and_what_is_kept_shrinks() {
    let curriculum = Curriculum { first_share: 0.3, steps: 7 };
    let pools: Vec<usize> = (0..9).map(|step| curriculum.pool(step, 10)).collect();
    assert_eq!(pools, [3, 4, 5, 6, 7, 8, 9, 10, 10]);
    assert_eq!([curriculum.pool(0, 1), curriculum.pool(u64::MAX, 1)], [1, 1]);
    let selection = SmallLossSelection { forget_rate: 0.2, steps: 2 };
    assert_eq!([0, 1, 2, 3].map(|step| selection.kept(step, 10)), [10, 9, 8, 8]);
    let at_once = SmallLossSelection { forget_rate: 0.99, steps: 0 };
    assert_eq!([1, 2, 100].map(|examples| at_once.kept(0, examples)), [1, 1, 1]);
}
