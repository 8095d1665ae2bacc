use super::*;

const MINIMAL: &str =
    r#"{"loss":"softmax_cross_entropy","optimizer":{"sgd":{"learning_rate":0.5}},"epochs":1,"batch_size":8}"#;
const FULL: &str = r#"{
    "loss":{"huber":{"delta":0.5}},
    "output":"scores",
    "optimizer":{"adamw":{"learning_rate":0.5}},
    "learning_rate_schedule":{"cosine":{"final_factor":0.125,"steps":10}},
    "warmup_steps":3,
    "gradient_clipping":{"per_example_norm":1.5},
    "epochs":1,"batch_size":8,
    "time_limit_seconds":2.5,
    "accumulation_steps":4,
    "frozen":["encoder.*"],
    "statistics":"keep_local",
    "precision":"single",
    "memory_bytes_max":1000000
}"#;

#[test]
fn what_is_left_out_is_off() {
    let plan: TrainingPlan = serde_json::from_str(MINIMAL).unwrap();
    let expected = TrainingPlan {
        batch_size: 8,
        ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.5))
    };
    assert_eq!(plan, expected);
    assert_eq!(plan.validate(), Ok(()));
    let json = serde_json::to_string(&plan).unwrap();
    for off in ["output", "warmup", "frozen", "personal", "time_limit", "accumulation", "privacy"] {
        assert!(!json.contains(off), "what is off is not written: {json}");
    }
    assert_eq!(serde_json::from_str::<TrainingPlan>(&json).unwrap(), plan);
}

#[test]
fn everything_can_be_on() {
    let plan: TrainingPlan = serde_json::from_str(FULL).unwrap();
    assert_eq!(plan.validate(), Ok(()));
    assert_eq!(plan.gradient_clipping, Some(GradientClipping::PerExampleNorm(1.5)));
    assert_eq!(plan.statistics, RunningStatistics::KeepLocal);
    assert_eq!((plan.time_limit_seconds, plan.accumulation_steps), (Some(2.5), 4));
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<TrainingPlan>(&json).unwrap(), plan);
}

#[test]
fn unknown_fields_are_refused() {
    for (from, to) in [("epochs", "epoch"), ("learning_rate", "rate"), ("sgd", "sgdd")] {
        assert!(serde_json::from_str::<TrainingPlan>(&MINIMAL.replace(from, to)).is_err(), "{to}");
    }
    let extended = MINIMAL.replace("0.5", "0.5,\"beta1\":0.5");
    assert!(serde_json::from_str::<TrainingPlan>(&extended).is_err());
    for (from, to) in [("delta", "gamma"), ("final_factor", "factor"), ("per_example_norm", "per_norm")] {
        assert!(serde_json::from_str::<TrainingPlan>(&FULL.replace(from, to)).is_err(), "{to}");
    }
}

#[test]
fn every_fault_has_its_path() {
    let mut plan: TrainingPlan = serde_json::from_str(FULL).unwrap();
    let nothing = f32::NAN;
    plan.loss = Loss::Huber { delta: 0.0 };
    plan.output = Some("x".repeat(257));
    plan.optimizer = LocalOptimizer::AdamW {
        learning_rate: -1.0,
        beta1: 1.0,
        beta2: nothing,
        epsilon: 0.0,
        weight_decay: f32::INFINITY,
    };
    plan.learning_rate_schedule = LearningRateSchedule::Cosine { final_factor: -0.5, steps: 0 };
    plan.gradient_clipping = Some(GradientClipping::Value(0.0));
    plan.frozen = vec![NamePattern::from("")];
    plan.memory_bytes_max = Some(0);
    plan.time_limit_seconds = Some(0.0);
    plan.accumulation_steps = 0;
    let fields: Vec<&str> = plan.faults().iter().map(|fault| fault.field).collect();
    let expected = [
        "time_limit_seconds",
        "accumulation_steps",
        "loss.huber.delta",
        "output",
        "optimizer.adamw.learning_rate",
        "optimizer.adamw.beta1",
        "optimizer.adamw.beta2",
        "optimizer.adamw.epsilon",
        "optimizer.adamw.weight_decay",
        "learning_rate_schedule.cosine.final_factor",
        "learning_rate_schedule.cosine.steps",
        "gradient_clipping.value",
        "frozen",
        "memory_bytes_max",
    ];
    assert_eq!(fields, expected);
}

#[test]
fn mixed_precision_has_neither_clipping_of_single_examples_nor_accumulation() {
    let mut plan: TrainingPlan = serde_json::from_str(&FULL.replace("single", "mixed")).unwrap();
    let fields: Vec<&str> = plan.faults().iter().map(|fault| fault.field).collect();
    assert_eq!(fields, ["accumulation_steps", "gradient_clipping.per_example_norm"]);
    plan.gradient_clipping = Some(GradientClipping::Norm(1.0));
    plan.accumulation_steps = 1;
    assert_eq!(plan.validate(), Ok(()));
}

#[test]
fn class_weights_are_for_cross_entropies() {
    let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.5));
    let count = |class_weights: Vec<f32>, loss| {
        let faults = TrainingPlan { class_weights, loss, ..plan.clone() }.faults();
        assert!(faults.iter().all(|fault| fault.field == "class_weights"), "{faults:?}");
        faults.len()
    };
    assert_eq!(count(vec![0.0, 2.0], plan.loss), 0);
    assert_eq!(count(vec![1.0; 4096], Loss::GeneralizedCrossEntropy { q: 0.5 }), 0);
    for (weights, loss) in [
        (vec![1.0, 1.0], Loss::Hinge),
        (vec![1.0, 1.0], Loss::KlDivergence),
        (vec![1.0], plan.loss),
        (vec![1.0; 4097], plan.loss),
        (vec![1.0, -1.0], plan.loss),
        (vec![1.0, f32::NAN], plan.loss),
        (vec![0.0, 0.0], plan.loss),
    ] {
        assert_eq!(count(weights.clone(), loss), 1, "{weights:?} {loss:?}");
    }
}

#[test]
fn a_second_gradient_goes_with_neither_mixed_precision_nor_clipping_of_single_examples() {
    let plan = TrainingPlan {
        sharpness_aware: Some(SharpnessAware { radius: 0.05 }),
        ..TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5))
    };
    assert_eq!(plan.validate(), Ok(()));
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<TrainingPlan>(&json).unwrap(), plan);
    let with_norm = TrainingPlan { gradient_clipping: Some(GradientClipping::Norm(1.0)), ..plan.clone() };
    assert_eq!(TrainingPlan { accumulation_steps: 4, ..with_norm }.validate(), Ok(()));
    let bad = [
        TrainingPlan { precision: Precision::Mixed, ..plan.clone() },
        TrainingPlan { gradient_clipping: Some(GradientClipping::PerExampleNorm(1.0)), ..plan.clone() },
        TrainingPlan { sharpness_aware: Some(SharpnessAware { radius: 0.0 }), ..plan.clone() },
        TrainingPlan { sharpness_aware: Some(SharpnessAware { radius: f32::NAN }), ..plan },
    ];
    for plan in bad {
        let fields: Vec<&str> = plan.faults().iter().map(|fault| fault.field).collect();
        assert_eq!(fields, ["sharpness_aware.radius"], "{plan:?}");
    }
}

#[test]
fn optimizers_of_whole_tensors_do_not_go_with_mixed_precision() {
    for name in ["muon", "adafactor", "lion"] {
        let json = format!(r#"{{"{name}":{{"learning_rate":0.5}}}}"#);
        let plan = TrainingPlan::new(Loss::Hinge, serde_json::from_str(&json).unwrap());
        assert_eq!(plan.validate(), Ok(()));
        let fields = TrainingPlan { precision: Precision::Mixed, ..plan }.faults();
        let fields: Vec<&str> = fields.iter().map(|fault| fault.field).collect();
        assert_eq!(fields, if name == "lion" { &[][..] } else { &["optimizer"] }, "{name}");
    }
}

#[test]
fn the_limits_of_accumulation_and_time_are_allowed_and_what_is_beyond_is_not() {
    let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5));
    for (accumulation_steps, is_allowed) in [(1, true), (1_000_000, true), (1_000_001, false)] {
        let plan = TrainingPlan { accumulation_steps, ..plan.clone() };
        assert_eq!(plan.validate().is_ok(), is_allowed, "{accumulation_steps}");
    }
    for (seconds, is_allowed) in [(1e-3, true), (f32::MAX, true), (-1.0, false), (f32::INFINITY, false)] {
        let plan = TrainingPlan { time_limit_seconds: Some(seconds), ..plan.clone() };
        assert_eq!(plan.validate().is_ok(), is_allowed, "{seconds}");
    }
}

#[test]
fn labels_are_smoothed_only_for_softmax_cross_entropy() {
    let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.5));
    let fields = |label_smoothing, loss| -> Vec<&str> {
        let plan = TrainingPlan { label_smoothing, loss, ..plan.clone() };
        plan.faults().iter().map(|fault| fault.field).collect()
    };
    assert_eq!(fields(0.1, Loss::SoftmaxCrossEntropy), [""; 0]);
    for (smoothing, loss) in
        [(0.1, Loss::KlDivergence), (1.0, plan.loss), (-0.1, plan.loss), (f32::NAN, plan.loss)]
    {
        assert_eq!(fields(smoothing, loss), ["label_smoothing"], "{smoothing} {loss:?}");
    }
}

#[test]
fn explicit_learning_rates_stand_alone_and_a_warmup_begins_somewhere_below_its_end() {
    let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5));
    let fields = |change: fn(&mut TrainingPlan)| -> Vec<&str> {
        let mut plan = plan.clone();
        change(&mut plan);
        plan.faults().iter().map(|fault| fault.field).collect()
    };
    assert!(fields(|plan| plan.learning_rate_factors = vec![0.0, 1.0, 2.5]).is_empty());
    assert_eq!(fields(|plan| plan.learning_rate_factors = vec![1.0, -0.5]), ["learning_rate_factors"]);
    assert_eq!(fields(|plan| plan.learning_rate_factors = vec![1.0; 4097]), ["learning_rate_factors"]);
    let both = |plan: &mut TrainingPlan| (plan.learning_rate_factors, plan.warmup_steps) = (vec![1.0], 2);
    assert_eq!(fields(both), ["learning_rate_factors"]);
    assert!(fields(|plan| (plan.warmup_from, plan.warmup_steps) = (Some(0.0), 2)).is_empty());
    assert_eq!(fields(|plan| (plan.warmup_from, plan.warmup_steps) = (Some(1.5), 2)), ["warmup_from"]);
    assert_eq!(fields(|plan| plan.warmup_from = Some(0.5)), ["warmup_from"]);
}
