//! Block momentum, which is a setting of `fed_avg_m`.

use super::*;

/// The block momentum η and the block learning rate ζ.
const ETA: f64 = 0.75;
const ZETA: f64 = 0.5;

/// Chen and Huo 2016, "Scalable training of deep learning machines by incremental block training with intra-block parallel optimization
/// and blockwise model-update filtering", write for a block t, with the mean W̄ of the models that its clients have trained:
///
/// G = W̄(t) − V(t−1), Δ(t) = η·Δ(t−1) + ζ·G, W(t) = W(t−1) + Δ(t), and V(t) = W(t) + η·Δ(t) for Nesterov block momentum. Clients begin
/// the next block with V. The versions V are those of `fed_avg_m` with β = η, the server's rate ζ, and `nesterov`.
#[test]
fn block_momentum_with_nesterov_is_fed_avg_m() {
    for case in cases() {
        let length = case.vectors[0].len();
        let (mut model, mut step, mut start) = (vec![0.0; length], vec![0.0; length], vec![0.0; length]);
        let (mut newest, mut state) = (Bytes::from(vec![0; size_of::<f32>() * length]), None);
        for number in 1..=6u64 {
            // The updates differ from block to block.
            let scale = 1.0 / number as f32;
            let updates: Vec<Vec<f32>> = case
                .vectors
                .iter()
                .map(|vector| vector.iter().map(|value| value * scale).collect())
                .collect();
            for index in 0..length {
                let trained = |update: &Vec<f32>| start[index] + f64::from(update[index]);
                let mean = updates.iter().map(trained).sum::<f64>() / updates.len() as f64;
                step[index] = ETA * step[index] + ZETA * (mean - start[index]);
                model[index] += step[index];
            }
            start = model.iter().zip(&step).map(|(model, step)| model + ETA * step).collect();
            let finalizer = json!({ "kind": "fed_avg_m", "momentum": ETA, "server_learning_rate": ZETA, "nesterov": true });
            let task = TaskDescription {
                finalizer: serde_json::from_value(finalizer).unwrap(),
                // A mean without a limit on its values.
                ..description(json!({ "kind": "trimmed_mean", "trim_share": 0.0 }))
            };
            let made = next_version(task, &updates, newest, state, number);
            for (found, expected) in weights(&made).iter().zip(&start) {
                let distance = (f64::from(*found) - expected).abs();
                assert!(distance < 1e-4, "{}, block {number}: {found} is not {expected}", case.name);
            }
            (newest, state) = (made.weights.into(), Some(made.finalizer_state.into()));
        }
    }
}
