use folkmoot_onnx::{ImportLimits, build::mlp};
use folkmoot_protocol::{Clusters, LocalOptimizer, Loss};

use super::{clusters::deviation, *};

/// The model has the tensors layer_1.weight [3, 2], layer_1.bias [3], layer_2.weight [2, 3] and layer_2.bias [2].
fn travelling(tensors: &[&str], frozen: &[&str]) -> Result<Travelling, FitError> {
    let model = Model::from_onnx(&mlp(&[2, 3, 2], 1), &ImportLimits::default()).unwrap();
    let patterns = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
    let clusters = Clusters { count: 3, tensors: patterns(tensors), start_spread: 0.5 };
    let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
    Travelling::of(
        &model,
        &TrainingPlan { clusters: Some(Box::new(clusters)), frozen: patterns(frozen), ..plan },
    )
}

fn counted(count: u8) -> Vec<f32> {
    (1..=count).map(f32::from).collect()
}

#[test]
fn an_update_is_at_the_place_of_its_cluster_and_comes_back_from_there() {
    for (tensors, frozen, total) in
        [(&[][..], &[][..], 17), (&["layer_2.*"], &[], 17), (&[], &["layer_1.*"], 8)]
    {
        let one = travelling(tensors, frozen).unwrap();
        let delta = counted(total);
        for cluster in 0..3 {
            let update = one.update(delta.clone(), cluster);
            assert_eq!(update.len(), one.value_count());
            assert_eq!(one.schema().parameter_count(), one.value_count() as u64);
            assert_eq!(update.iter().filter(|value| **value != 0.0).count(), 1 + usize::from(total));
            assert_eq!(update[cluster], 1.0);
            let chosen = one.fill(update.clone(), Some(cluster)).unwrap();
            assert_eq!(one.part().pick(&chosen).unwrap(), delta);
            assert_eq!(one.fill(update, None).unwrap(), chosen, "it has the largest share");
        }
    }
    let head = travelling(&["layer_2.*"], &[]).unwrap();
    assert_eq!(head.value_count(), 3 + 9 + 3 * 8);
    assert_eq!(head.update(counted(17), 2)[3 + 9 + 2 * 8..], counted(17)[9..]);
}

#[test]
fn clusters_start_apart_and_the_first_like_the_file() {
    let one = travelling(&["layer_2.*"], &[]).unwrap();
    let whole = one.part().fill((0..17u8).map(|value| f32::from(value) / 8.0).collect()).unwrap();
    let values = one.starting(&whole, 7).unwrap();
    assert_eq!(values[..3], [1.0 / 3.0; 3]);
    assert_eq!(one.fill(values.clone(), Some(0)).unwrap(), whole);
    assert_eq!(one.fill(values.clone(), None).unwrap(), whole, "of equal shares, the first counts");
    let others = [1, 2].map(|cluster| one.fill(values.clone(), Some(cluster)).unwrap());
    for other in &others {
        assert_eq!(other[..9], whole[..9], "what is common is the same");
        assert!(other[9..].iter().zip(&whole[9..]).all(|(other, file)| other != file));
    }
    assert_ne!(others[0], others[1]);
    assert_eq!(one.starting(&whole, 7).unwrap(), values);
    assert_ne!(one.starting(&whole, 8).unwrap(), values);
}

#[test]
fn the_noise_has_the_deviation_of_the_tensor_times_the_spread() {
    let model = Model::from_onnx(&mlp(&[100, 200], 1), &ImportLimits::default()).unwrap();
    let clusters = Clusters { count: 2, tensors: vec!["*.weight".into()], start_spread: 2.0 };
    let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
    let one = Travelling::of(&model, &TrainingPlan { clusters: Some(Box::new(clusters)), ..plan }).unwrap();
    let file = model.initial_weights();
    let other = one.fill(one.starting(&file, 1).unwrap(), Some(1)).unwrap();
    let noise: Vec<f32> = other.iter().zip(&file).map(|(other, file)| other - file).collect();
    let ratio = deviation(&noise[..20_000]) / deviation(&file[..20_000]);
    assert!((ratio - 2.0).abs() < 0.05, "{ratio}");
}

#[test]
fn a_schema_of_other_tensors_is_told_apart() {
    let (bodies, heads) =
        (travelling(&["layer_1.*"], &[]).unwrap(), travelling(&["layer_2.*"], &[]).unwrap());
    assert_eq!(bodies.difference_from(&bodies.schema()), None);
    let difference = bodies.difference_from(&heads.schema()).unwrap();
    let expected = "tensor 1 is layer_2.weight [2, 3] here and layer_1.weight [3, 2] there";
    assert_eq!(difference, expected);
    let mut shorter = bodies.schema();
    shorter.tensors.pop();
    assert_eq!(bodies.difference_from(&shorter).unwrap(), "there are 9 tensors here and 8 there");
}

#[test]
fn what_cannot_be_is_refused() {
    let list = |result: Result<Travelling, FitError>| result.err().map(|error| error.to_string());
    assert!(list(travelling(&["head.*"], &[])).is_some_and(|text| text.contains("clusters.tensors")));
    assert!(list(travelling(&["layer_1.*"], &["layer_1.*"])).is_some_and(|text| text.contains("differ")));
    let model = Model::from_onnx(&mlp(&[2, 2], 1), &ImportLimits::default()).unwrap();
    let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
    for count in [0, 1, 17, u32::MAX] {
        let clusters = Some(Box::new(Clusters { count, tensors: Vec::new(), start_spread: 1.0 }));
        let refused = Travelling::of(&model, &TrainingPlan { clusters, ..plan.clone() });
        assert!(list(refused).is_some_and(|text| text.contains("2 to 16")), "{count}");
    }
    let one = travelling(&[], &[]).unwrap();
    let wrong = FitError::WeightCount { expected: 54, found: 17 };
    assert_eq!(one.fill(vec![0.0; 17], None), Err(wrong));
    let error = one.fill(vec![0.0; 54], Some(3)).unwrap_err();
    assert_eq!(error.to_string(), "there is no cluster 4; the clusters are 1 to 3");
}
