//! Trains the digits example centrally.

use crate::digits_example::{digits, model, plan};
use folkmoot_engine::{Loss, Trainer, evaluate, evaluate_in_detail};

#[test]
fn central_training_reads_digits() {
    let (training, held_out) = digits();
    let model = model();
    let mut trainer = Trainer::new(&model, &model.initial_weights(), plan(15), &training, 1).unwrap();
    while !trainer.step().unwrap().finished {}
    let outcome = trainer.finish();
    let metrics = evaluate(&model, &outcome.weights, &held_out, Loss::SoftmaxCrossEntropy).unwrap();
    assert_eq!(metrics.example_count, held_out.len() as u64);
    assert!(metrics.accuracy().unwrap() > 0.95, "accuracy {:?}", metrics.accuracy());
    let detail = evaluate_in_detail(&model, &outcome.weights, &held_out, Loss::SoftmaxCrossEntropy).unwrap();
    assert_eq!(detail.metrics, metrics);
    let sums = detail.classification.unwrap();
    assert_eq!(sums.ranks.accuracy(), metrics.accuracy());
    assert_eq!(sums.classes.micro_f1(), metrics.accuracy());
    assert!(sums.ranks.top_k(3) > Some(0.99) && sums.classes.macro_f1() > Some(0.95));
    assert_eq!(outcome.metrics.example_count, 15 * training.len() as u64);
}

#[test]
fn the_schema_is_the_order_of_the_file() {
    let model = model();
    let names: Vec<_> = model.parameters().iter().map(|spec| (spec.name.as_str(), &spec.shape[..])).collect();
    let expected: [(&str, &[usize]); 4] = [
        ("layer_1.weight", &[64, 64]),
        ("layer_1.bias", &[64]),
        ("layer_2.weight", &[10, 64]),
        ("layer_2.bias", &[10]),
    ];
    assert_eq!(names, expected);
    assert_eq!(model.parameter_count(), 64 * 64 + 64 + 640 + 10);
    assert_eq!((model.input_shape(), model.output_shape()), (&[64][..], &[10][..]));
}
