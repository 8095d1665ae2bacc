//! Model-contrastive training through the coordinator, against its equation by hand.

use serde_json::json;

use super::network::cross_entropy;
use super::{RATE, ROUNDS, STEPS, Scene, assert_trained};

const WEIGHT: f64 = 2.0;
const TEMPERATURE: f64 = 0.5;

/// Returns cos(z, other), and its derivative by z.
fn cosine(z: &[f64], other: &[f64]) -> (f64, Vec<f64>) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let lengths = [dot(z, z).sqrt(), dot(other, other).sqrt()];
    let cosine = dot(z, other) / (lengths[0] * lengths[1]);
    let slope =
        |(z, other): (&f64, &f64)| other / (lengths[0] * lengths[1]) - cosine * z / (lengths[0] * lengths[0]);
    (cosine, z.iter().zip(other).map(slope).collect())
}

/// Returns the version after the rounds. In each, a client minimises the cross-entropy plus `WEIGHT` times
/// −log(e^(s/τ) / (e^(s/τ) + e^(p/τ))), where s is the cosine with the features in the version, and p with those in its last local model
/// (Li, He and Song 2021, equation 3). Without a last local model, it is the cross-entropy alone.
fn moon(scene: &Scene) -> Vec<f64> {
    let mut version = scene.start.clone();
    let mut last: [Option<Vec<f64>>; 2] = [None, None];
    for _ in 0..ROUNDS {
        for (client, last) in scene.clients.iter().zip(&mut last) {
            let of_version = client.features(&version);
            let of_last = last.as_ref().map(|last| client.features(last));
            let mut local = version.clone();
            for _ in 0..STEPS {
                let gradient = client.gradient_with(&local, &cross_entropy, &|place, z| {
                    let Some(of_last) = &of_last else { return vec![0.0; z.len()] };
                    let (near, near_slope) = cosine(z, &of_version[place]);
                    let (far, far_slope) = cosine(z, &of_last[place]);
                    let [near, far] = [near, far].map(|cosine| (cosine / TEMPERATURE).exp());
                    let factor = WEIGHT / TEMPERATURE * far / (near + far);
                    near_slope.iter().zip(&far_slope).map(|(near, far)| factor * (far - near)).collect()
                });
                local.iter_mut().zip(gradient).for_each(|(weight, slope)| *weight -= RATE * slope);
            }
            *last = Some(local);
        }
        let ends = last.iter().flatten();
        version =
            (0..version.len()).map(|index| ends.clone().map(|end| end[index]).sum::<f64>() / 2.0).collect();
    }
    version
}

#[tokio::test]
async fn model_contrast_is_the_papers_through_the_coordinator() {
    let scene = Scene::new();
    let (expected, plain) = (moon(&scene), scene.descended(&cross_entropy));
    let contrast = json!({ "features": "activated", "weight": WEIGHT, "temperature": TEMPERATURE });
    assert_trained(json!({ "model_contrast": contrast }), &expected, &plain).await;
    // With batches of a few examples whose gradients are added up, the step is the same.
    let in_parts = json!({ "model_contrast": contrast, "batch_size": 10, "accumulation_steps": 1000 });
    assert_trained(in_parts, &expected, &plain).await;
}
