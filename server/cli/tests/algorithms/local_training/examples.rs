//! The choice and the change of examples, and constraints of values, through the coordinator.

use serde_json::json;

use super::{RATE, STEPS, Scene, assert_trained, network::Digits, network::SHAPES};
use crate::algorithms::local_training::network::cross_entropy;

/// Takes a step on these examples.
fn step(examples: &Digits, weights: &mut [f64]) {
    let gradient = examples.gradient(weights, &cross_entropy);
    weights.iter_mut().zip(gradient).for_each(|(weight, slope)| *weight -= RATE * slope);
}

/// Returns the `count` examples with the smallest losses.
fn easiest(examples: &Digits, weights: &[f64], count: usize) -> Vec<usize> {
    let losses = examples.losses(weights);
    let mut rows: Vec<usize> = (0..examples.len()).collect();
    rows.sort_by(|one, other| losses[*one].total_cmp(&losses[*other]));
    rows.truncate(count);
    rows
}

/// Each step draws as many examples as there are in the share, so the seed has no effect.
#[tokio::test]
async fn a_curriculum_begins_with_examples_that_are_easy_for_the_version() {
    let scene = Scene::new();
    let plain = scene.descended(&cross_entropy);
    let count = 10;
    let expected = scene.averaged(|client, weights| {
        let easy = client.subset(&easiest(client, weights, count), false);
        (0..STEPS).for_each(|_| step(&easy, weights));
    });
    let curriculum = json!({ "first_share": 0.01, "steps": 4_000_000_000u32 });
    assert_trained(json!({ "curriculum": curriculum, "batch_size": count }), &expected, &plain).await;
}

/// Han et al. 2018, algorithm 1, lines 4 and 8, with one model.
#[tokio::test]
async fn small_losses_are_selected_as_in_co_teaching() {
    let scene = Scene::new();
    let plain = scene.descended(&cross_entropy);
    let expected = scene.averaged(|client, weights| {
        for done in 0..STEPS {
            // R(T) = 1 − τ·min(T / Tₖ, 1) with τ = 0.4 and Tₖ = 2: all, 80 % and 60 %.
            let dropped = 0.4 * [0.0, 0.5, 1.0][done] * client.len() as f64;
            let kept = client.len() - (dropped + 1e-9).floor() as usize;
            step(&client.subset(&easiest(client, weights, kept), false), weights);
        }
    });
    let selection = json!({ "forget_rate": 0.4, "steps": 2 });
    assert_trained(json!({ "small_loss_selection": selection.clone() }), &expected, &plain).await;
    // The selection is among all batches of a step.
    let in_parts = json!({ "small_loss_selection": selection, "batch_size": 10, "accumulation_steps": 1000 });
    assert_trained(in_parts, &expected, &plain).await;
}

/// Squares and stretches that hide everything, wherever they are. The model is trained on zeros, and measured on the digits.
#[tokio::test]
async fn masks_reach_every_step() {
    let scene = Scene::new();
    let plain = scene.descended(&cross_entropy);
    let expected = scene.averaged(|client, weights| {
        let blank = client.subset(&(0..client.len()).collect::<Vec<_>>(), true);
        (0..STEPS).for_each(|_| step(&blank, weights));
    });
    let cutout = json!({ "cutout": 16, "shape": [1, 8, 8] });
    let stretches = json!({ "stretch_masks": vec![json!({ "count": 64, "length_max": 64 }); 4] });
    for augmentation in [cutout, stretches] {
        assert_trained(json!({ "augmentation": augmentation }), &expected, &plain).await;
    }
}

/// ISTA (Beck and Teboulle 2009, equations 1.4 and 1.5) on the matrices, and a projection of the first layer.
#[tokio::test]
async fn proximal_and_projected_steps_are_the_papers() {
    let scene = Scene::new();
    let plain = scene.descended(&cross_entropy);
    let (strength, min, max) = (0.02, -0.06, 0.1);
    let constrained = |is_shrunk: bool, is_projected: bool| {
        scene.averaged(|client, weights| {
            for _ in 0..STEPS {
                step(client, weights);
                let mut at = 0;
                for (index, shape) in SHAPES.iter().enumerate() {
                    let end = at + shape.iter().product::<usize>();
                    for weight in &mut weights[at..end] {
                        if is_shrunk && shape.len() == 2 {
                            *weight = weight.signum() * (weight.abs() - RATE * strength).max(0.0);
                        }
                        if is_projected && index < 2 {
                            *weight = weight.clamp(min, max);
                        }
                    }
                    at = end;
                }
            }
        })
    };
    let l1 = json!({ "strength": strength, "tensors": ["*.weight"] });
    let range = json!({ "min": min, "max": max, "tensors": ["layer_1.*"] });
    assert_trained(json!({ "l1": l1.clone() }), &constrained(true, false), &plain).await;
    assert_trained(json!({ "value_range": range.clone() }), &constrained(false, true), &plain).await;
    assert_trained(json!({ "l1": l1, "value_range": range }), &constrained(true, true), &plain).await;
}
