use folkmoot_engine::{ImportLimits, Metrics, Model, onnx::build::mlp};
use folkmoot_protocol::{ElasticAveraging, LocalOptimizer, ModelContrast};
use folkmoot_work::samples;

use super::*;

fn plan(personal: &[&str], drift_correction: Option<DriftCorrection>) -> Plan {
    let mut plan = Plan { drift_correction, ..samples::plan() };
    plan.training.personal = personal.iter().map(|pattern| (*pattern).into()).collect();
    plan
}

fn part(plan: &Plan) -> TrainedPart {
    let model = Model::from_onnx(&mlp(&[2, 3, 2], 1), &ImportLimits::default()).unwrap();
    TrainedPart::of(&model, &plan.training).unwrap()
}

fn head() -> (TrainedPart, OwnTensors) {
    let part = part(&plan(&["layer_2.*"], None));
    (part, OwnTensors { personal: (0..8u8).map(f32::from).collect(), ..OwnTensors::default() })
}

/// Returns the outcome of a training of four steps.
fn outcome(delta: Vec<f32>) -> TrainingOutcome {
    let metrics = Metrics { step_count: 4, ..Metrics::default() };
    TrainingOutcome { delta, weights: vec![0.5; 17], ..TrainingOutcome::of_metrics(metrics) }
}

#[test]
fn what_was_stored_comes_back_and_nothing_else_changes() {
    let (part, own) = head();
    let again = OwnTensors::decode(&part, &own.encode(&part).unwrap());
    assert_eq!(again, own);
    let mut whole = vec![-1.0; 17];
    with_personal(&part, &again, &mut whole);
    assert_eq!(whole[..9], [-1.0; 9]);
    assert_eq!(whole[9..], own.personal);
    let both = OwnTensors { control: vec![2.5; 9], ..own };
    assert_eq!(OwnTensors::decode(&part, &both.encode(&part).unwrap()), both);
    for control in [Vec::new(), vec![2.5; 9]] {
        let model = OwnTensors { model: vec![1.5; 9], control, ..OwnTensors::default() };
        assert_eq!(OwnTensors::decode(&part, &model.encode(&part).unwrap()), model);
        with_own(&part, &model, &mut whole);
        assert_eq!((&whole[..9], &whole[9..]), (&[1.5; 9][..], &again.personal[..]));
    }
}

#[test]
fn a_mixture_is_of_the_clients_own_model_and_the_shared_one() {
    let part = part(&plan(&[], None));
    let own = OwnTensors { model: vec![3.0; 17], share: Some(0.25), ..OwnTensors::default() };
    let stored = own.encode(&part).unwrap();
    assert_eq!(OwnTensors::decode(&part, &stored), own);
    let mut whole = vec![1.0; 17];
    with_own(&part, &own, &mut whole);
    assert_eq!(whole, [1.5; 17]);
    with_model(&part, &own, &mut whole);
    assert_eq!(whole, [3.0; 17]);
    let share = |share: f32| [&stored[..stored.len() - 4], &share.to_le_bytes()].concat();
    for damaged in [share(1.5), share(f32::NAN), stored[..stored.len() - 4].to_vec()] {
        assert!(OwnTensors::decode(&part, &damaged).is_empty());
    }
    let outcome =
        TrainingOutcome { own_weights: vec![3.0; 17], own_share: Some(0.25), ..outcome(vec![1.0; 17]) };
    assert_eq!(OwnTensors::after(&part, &plan(&[], None), None, &outcome), Ok(own));
}

#[test]
fn what_is_damaged_or_of_another_model_is_ignored() {
    let (head, own) = head();
    let body = part(&plan(&["layer_1.*"], None));
    let model = OwnTensors { model: vec![2.5; 9], ..OwnTensors::default() };
    for own in [own.clone(), OwnTensors { control: vec![2.5; 9], ..own }, model] {
        let stored = own.encode(&head).unwrap();
        let not_finite = [&stored[..stored.len() - 4], &f32::NAN.to_le_bytes()].concat();
        let damaged = [b"", &stored[1..], &stored[..stored.len() - 1], &stored[..9], &not_finite];
        for (part, bytes) in damaged.into_iter().map(|bytes| (&head, bytes)).chain([(&body, &stored[..])]) {
            assert!(OwnTensors::decode(part, bytes).is_empty(), "{} bytes", bytes.len());
        }
    }
    let mut whole = vec![7.0; 17];
    with_personal(&head, &OwnTensors::default(), &mut whole);
    assert_eq!(whole, [7.0; 17]);
}

#[test]
fn a_replica_and_a_cluster_come_back() {
    let mut plan = plan(&[], None);
    plan.training.elastic_averaging = Some(ElasticAveraging { alpha: 0.5 });
    let part = part(&plan);
    let own = OwnTensors::after(&part, &plan, None, &outcome(vec![1.0; 17])).unwrap();
    assert_eq!(own.replica, [0.0; 17], "half of the change is taken from the weights");
    assert_eq!(own.replica_from(&part, &[9.0; 17]), Some(vec![0.0; 17]));
    plan.training.elastic_averaging = None;
    plan.training.model_contrast =
        Some(Box::new(ModelContrast { features: "hidden".into(), weight: 1.0, temperature: 0.5 }));
    let end = OwnTensors::after(&part, &plan, None, &outcome(vec![1.0; 17])).unwrap();
    assert_eq!(end.replica, [0.5; 17], "the end of the training is kept as it is");
    let cluster = OwnTensors { cluster: Some(3), ..OwnTensors::default() };
    for own in [own, end, cluster] {
        let stored = own.encode(&part).unwrap();
        assert_eq!(OwnTensors::decode(&part, &stored), own);
        assert!(OwnTensors::decode(&part, &stored[..stored.len() - 1]).is_empty());
    }
    assert_eq!(OwnTensors::default().replica_from(&part, &[9.0; 17]), None);
}

#[test]
fn without_own_tensors_nothing_is_stored() {
    let plan = plan(&[], None);
    let own = OwnTensors::after(&part(&plan), &plan, None, &outcome(vec![1.0; 17])).unwrap();
    assert_eq!((own.encode(&part(&plan)), own), (None, OwnTensors::default()));
}

/// With plain SGD, a training of K steps changes the weights by −r·Σ(gradient + c − cᵢ). So the new cᵢ of SCAFFOLD must be the
/// mean gradient.
#[test]
fn scaffold_keeps_the_mean_gradient() {
    let plan = plan(&["layer_2.*"], Some(DriftCorrection::Scaffold));
    let LocalOptimizer::Sgd { learning_rate, .. } = plan.training.optimizer else { panic!("plain SGD") };
    let part = part(&plan);
    let first = OwnTensors::default();
    assert_eq!(first.correction(DriftCorrection::Scaffold, None), None);
    let mean_gradient = 3.0;
    let change = |correction: f32| vec![-learning_rate * 4.0 * (mean_gradient + correction); 9];
    let own = OwnTensors::after(&part, &plan, None, &outcome(change(0.0))).unwrap();
    assert!(own.control.iter().all(|value| (value - 3.0).abs() < 1e-5), "{:?}", own.control);
    let correction = own.correction(DriftCorrection::Scaffold, Some(vec![0.5; 9])).unwrap();
    assert!((correction[0] + 2.5).abs() < 1e-5, "{correction:?}");
    let next = OwnTensors::after(&part, &plan, Some(&correction), &outcome(change(-2.5))).unwrap();
    assert!(next.control.iter().all(|value| (value - 3.0).abs() < 1e-5), "{:?}", next.control);
    assert_eq!(next.personal, [0.5; 8]);
    assert_eq!(next.correction(DriftCorrection::Scaffold, None), None, "the coordinator begins again");
}

/// gᵢ ← gᵢ − alpha·Δ, of which the correction is −gᵢ.
#[test]
fn fed_dyn_sums_the_changes() {
    let drift = DriftCorrection::FedDyn { alpha: 0.5 };
    let plan = plan(&[], Some(drift));
    let part = part(&plan);
    assert_eq!(OwnTensors::default().correction(drift, None), None);
    let own = OwnTensors::after(&part, &plan, None, &outcome(vec![2.0; 17])).unwrap();
    assert_eq!(own.control, [-1.0; 17]);
    let correction = own.correction(drift, None).unwrap();
    assert_eq!(correction, [1.0; 17]);
    let next = OwnTensors::after(&part, &plan, Some(&correction), &outcome(vec![-1.0; 17])).unwrap();
    assert_eq!(next.control, [-0.5; 17]);
}

/// The constant is c − cᵢ − gᵢ, and each of the two that are kept changes by its own scale.
#[test]
fn fed_dc_keeps_a_variate_and_a_drift() {
    let drift = DriftCorrection::FedDc { alpha: 0.5 };
    let mut plan = plan(&["layer_2.*"], Some(drift));
    plan.training.optimizer = LocalOptimizer::sgd(0.125);
    let part = part(&plan);
    let own = OwnTensors::after(&part, &plan, None, &outcome(vec![2.0; 9])).unwrap();
    // Four steps of the rate 1/8: cᵢ is −2·Δ, and gᵢ is −Δ/2.
    assert_eq!(own.control, [[-4.0; 9], [-1.0; 9]].concat());
    assert_eq!(OwnTensors::decode(&part, &own.encode(&part).unwrap()), own);
    let shared = [[0.5; 9], [7.0; 9]].concat();
    let parts = own.correction(drift, Some(shared.clone())).unwrap();
    assert_eq!(parts, [[4.5; 9], [1.0; 9]].concat());
    assert_eq!(constant(&parts, 9), [5.5; 9]);
    let next = OwnTensors::after(&part, &plan, Some(&parts), &outcome(vec![-1.0; 9])).unwrap();
    assert_eq!(next.control, [[-2.5; 9], [-0.5; 9]].concat());
    let first = OwnTensors::default().correction(drift, Some(shared)).unwrap();
    assert_eq!(first, [[0.5; 9], [0.0; 9]].concat());
}

/// The step is learning rate · (gradient + correction), and the learning rate contains alpha.
#[test]
fn fed_cm_mixes_the_gradient_with_the_shared_direction_and_keeps_nothing() {
    let drift = DriftCorrection::FedCm { alpha: 0.25 };
    let plan = plan(&[], Some(drift));
    assert_eq!(OwnTensors::default().correction(drift, None), None);
    assert_eq!(OwnTensors::default().correction(drift, Some(vec![0.5; 17])), Some(vec![1.5; 17]));
    let own = OwnTensors::after(&part(&plan), &plan, Some(&[1.5; 17]), &outcome(vec![2.0; 17])).unwrap();
    assert!(own.is_empty());
}
