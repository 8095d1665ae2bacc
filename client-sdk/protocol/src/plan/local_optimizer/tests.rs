use super::*;
use crate::plan::fault::Faults;
use crate::{GradientClipping, Loss, PersonalTraining, SharpnessAware, TrainingPlan};

fn read(json: &str) -> LocalOptimizer {
    serde_json::from_str(json).unwrap()
}

#[test]
fn what_is_left_out_is_pytorchs_default() {
    let (learning_rate, weight_decay) = (0.5, 0.0);
    let (beta1, beta2, epsilon) = (0.9, 0.999, 1e-8);
    assert_eq!(read(r#"{"sgd":{"learning_rate":0.5}}"#), LocalOptimizer::sgd(0.5));
    let adam = LocalOptimizer::Adam { learning_rate, beta1, beta2, epsilon, weight_decay };
    assert_eq!(read(r#"{"adam":{"learning_rate":0.5}}"#), adam);
    let adamw = LocalOptimizer::AdamW { learning_rate, beta1, beta2, epsilon, weight_decay: 0.01 };
    assert_eq!(read(r#"{"adamw":{"learning_rate":0.5}}"#), adamw);
    let adagrad = LocalOptimizer::Adagrad { learning_rate, epsilon: 1e-10, weight_decay };
    assert_eq!(read(r#"{"adagrad":{"learning_rate":0.5}}"#), adagrad);
    let rmsprop =
        LocalOptimizer::RmsProp { learning_rate, decay: 0.99, epsilon, momentum: 0.0, weight_decay };
    assert_eq!(read(r#"{"rmsprop":{"learning_rate":0.5}}"#), rmsprop);
    let lion = LocalOptimizer::Lion { learning_rate, beta1, beta2: 0.99, weight_decay };
    assert_eq!(read(r#"{"lion":{"learning_rate":0.5}}"#), lion, "the paper's default");
    let muon = LocalOptimizer::Muon { learning_rate, momentum: 0.95, beta1, beta2, epsilon, weight_decay };
    assert_eq!(read(r#"{"muon":{"learning_rate":0.5}}"#), muon);
    let adafactor = LocalOptimizer::Adafactor {
        learning_rate,
        decay_exponent: 0.8,
        update_max: 1.0,
        scale_min: 1e-3,
        weight_decay,
    };
    assert_eq!(read(r#"{"adafactor":{"learning_rate":0.5}}"#), adafactor);
    let newton = LocalOptimizer::Newton { learning_rate, damping: 1e-3, cg_steps: 50, tolerance: 1e-3 };
    assert_eq!(read(r#"{"newton":{"learning_rate":0.5}}"#), newton);
    assert_eq!(read(r#"{"newton":{}}"#).learning_rate(), 1.0);
    for optimizer in [adam, adamw, adagrad, rmsprop, lion, muon, adafactor, newton] {
        assert_eq!(optimizer.learning_rate(), 0.5);
        assert_eq!(read(&serde_json::to_string(&optimizer).unwrap()), optimizer);
    }
}

#[test]
fn nesterov_is_written_only_when_it_is_on() {
    let json = serde_json::to_string(&LocalOptimizer::sgd(0.5)).unwrap();
    assert_eq!(json, r#"{"sgd":{"learning_rate":0.5,"momentum":0.0,"weight_decay":0.0}}"#);
    assert!(read(&json.replace("0.5", "0.5,\"nesterov\":true")) != read(&json));
}

#[test]
fn nesterov_needs_momentum() {
    let fields = |momentum| -> Vec<&str> {
        let mut faults = Faults::default();
        LocalOptimizer::Sgd { learning_rate: 0.5, momentum, nesterov: true, weight_decay: 0.0 }
            .list_faults(&mut faults);
        faults.0.iter().map(|fault| fault.field).collect()
    };
    assert_eq!(fields(0.5), [""; 0]);
    assert_eq!(fields(0.0), ["optimizer.sgd.momentum"]);
}

#[test]
fn newton_needs_one_smooth_loss() {
    let faults = |change: &dyn Fn(&mut TrainingPlan)| -> Vec<&str> {
        let mut plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, read(r#"{"newton":{}}"#));
        change(&mut plan);
        plan.faults().into_iter().map(|fault| fault.field).collect()
    };
    assert_eq!(faults(&|_| {}), [""; 0]);
    let of = |loss: Loss| faults(&move |plan| plan.loss = loss);
    assert_eq!([of(Loss::MeanSquaredError), of(Loss::KlDivergence)], [const { Vec::<&str>::new() }; 2]);
    for loss in [Loss::Hinge, Loss::MeanAbsoluteError, Loss::Cosine, Loss::GeneralizedCrossEntropy { q: 0.5 }]
    {
        assert_eq!(of(loss), ["optimizer.newton"], "{loss:?}");
    }
    assert_eq!(
        faults(&|plan| plan.gradient_clipping = Some(GradientClipping::Norm(1.0))),
        ["optimizer.newton"]
    );
    assert_eq!(faults(&|plan| plan.proximal_term = 0.5), ["optimizer.newton"]);
    assert_eq!(
        faults(&|plan| plan.sharpness_aware = Some(SharpnessAware { radius: 0.5 })),
        ["optimizer.newton"]
    );
    let ditto = PersonalTraining::Ditto { lambda: 0.1, epochs: 1 };
    assert_eq!(faults(&|plan| plan.personal_training = Some(ditto)), ["optimizer.newton"]);
    let range = |json: &'static str| faults(&move |plan| plan.optimizer = read(json));
    assert_eq!(range(r#"{"newton":{"learning_rate":0.0}}"#), ["optimizer.newton.learning_rate"]);
    assert_eq!(range(r#"{"newton":{"damping":-0.1}}"#), ["optimizer.newton.damping"]);
    assert_eq!(range(r#"{"newton":{"cg_steps":0}}"#), ["optimizer.newton.cg_steps"]);
    assert_eq!(range(r#"{"newton":{"cg_steps":1001}}"#), ["optimizer.newton.cg_steps"]);
    assert_eq!(range(r#"{"newton":{"tolerance":1.0}}"#), ["optimizer.newton.tolerance"]);
}
